//! The mark: which claim an instance belongs to.
//!
//! Every instance carries a [`Mark`], written in the call that makes the instance and hidden from its
//! guest. An instance without a mark belongs to others and stays untouched.
//!
//! A mark is a list of [fields](Mark::fields) with text values. The cloud decides where the values
//! are kept: settings of a virtual machine, tags, a description.

use joiner_core::label::Labels;

use crate::order::ClaimId;

/// The version of the form of a mark.
const SCHEMA: &str = "1";
/// The value of [`field::JOIN_DATA`] once the join data is gone.
const EMPTIED: &str = "emptied";

/// The names of a mark's fields.
pub mod field {
    /// Name of the cluster.
    pub const CLUSTER: &str = "cluster";
    /// Identity of the cluster.
    pub const CLUSTER_UID: &str = "cluster-uid";
    /// Name of the claim.
    pub const CLAIM: &str = "nodeclaim";
    /// Identity of the claim.
    pub const CLAIM_UID: &str = "nodeclaim-uid";
    /// Name of the pool.
    pub const POOL: &str = "nodepool";
    /// Name of the class.
    pub const CLASS: &str = "nodeclass";
    /// The class's hash.
    pub const CLASS_HASH: &str = "nodeclass-hash";
    /// Name of the instance type.
    pub const INSTANCE_TYPE: &str = "instance-type";
    /// The zone.
    pub const ZONE: &str = "zone";
    /// The region.
    pub const REGION: &str = "region";
    /// The image.
    pub const IMAGE: &str = "image";
    /// The labels, in JSON.
    pub const LABELS: &str = "labels";
    /// Whether the join data is gone.
    pub const JOIN_DATA: &str = "join-data";
    /// The cloud's id of the instance.
    pub const INSTANCE_UUID: &str = "instance-uuid";
    /// The version of the form of the mark.
    pub const SCHEMA: &str = "schema";

    /// Every field.
    pub const ALL: [&str; 15] = [
        CLUSTER,
        CLUSTER_UID,
        CLAIM,
        CLAIM_UID,
        POOL,
        CLASS,
        CLASS_HASH,
        INSTANCE_TYPE,
        ZONE,
        REGION,
        IMAGE,
        LABELS,
        JOIN_DATA,
        INSTANCE_UUID,
        SCHEMA,
    ];
}

/// A cluster, as marks tell clusters apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster<'c> {
    /// Its name. Two clusters may have the same name.
    pub name: &'c str,
    /// The UID of its namespace `kube-system`; none where only the name is known.
    pub uid: Option<&'c str>,
}

/// Which claim an instance belongs to, and what it was made as.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The cluster.
    pub cluster: String,
    /// The cluster's identity; empty in marks of versions that did not write it.
    pub cluster_uid: String,
    /// The claim.
    pub claim: ClaimId,
    /// The pool; empty for a claim without a pool.
    pub pool: String,
    /// The class.
    pub class: String,
    /// The class's hash when the instance was made.
    pub class_hash: String,
    /// The instance type.
    pub instance_type: String,
    /// The zone; empty where the cloud has no zones.
    pub zone: String,
    /// The region; empty where the cloud has no regions.
    pub region: String,
    /// The image that it was made from, by the cloud's id.
    pub image: String,
    /// The cloud's id of the instance, where it differs from the claim's UID: an adopted instance, or
    /// an instance whose UID was taken.
    pub instance_uuid: String,
    /// The labels that follow from type and place.
    pub labels: Labels,
    /// Whether this program made the instance; other instances were adopted.
    pub made_here: bool,
    /// Whether the cloud no longer keeps the guest's join data. Written in the call that empties it.
    pub join_data_emptied: bool,
}

impl Mark {
    /// Every field with its value, in the order of [`field::ALL`]. A field without a value is empty.
    ///
    /// A cloud that copies an image with its settings writes the empty values too. Such an image may
    /// carry the mark of a former instance.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let value = |name: &str| -> String {
            match name {
                field::CLUSTER => self.cluster.clone(),
                field::CLUSTER_UID => self.cluster_uid.clone(),
                field::CLAIM => self.claim.name.clone(),
                field::CLAIM_UID => self.claim.uid.clone(),
                field::POOL => self.pool.clone(),
                field::CLASS => self.class.clone(),
                field::CLASS_HASH => self.class_hash.clone(),
                field::INSTANCE_TYPE => self.instance_type.clone(),
                field::ZONE => self.zone.clone(),
                field::REGION => self.region.clone(),
                field::IMAGE => self.image.clone(),
                field::LABELS => serde_json::to_string(&self.labels).expect("labels are strings"),
                field::INSTANCE_UUID => self.instance_uuid.clone(),
                field::JOIN_DATA if self.join_data_emptied => EMPTIED.to_owned(),
                field::SCHEMA if self.made_here => SCHEMA.to_owned(),
                _ => String::new(),
            }
        };
        field::ALL.into_iter().map(|name| (name, value(name))).collect()
    }

    /// Reads a mark from the values of its fields; none where no cluster is named.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name: &str| value(name).unwrap_or_default();
        let cluster = value(field::CLUSTER);
        if cluster.is_empty() {
            return None;
        }
        Some(Self {
            cluster,
            cluster_uid: value(field::CLUSTER_UID),
            claim: ClaimId { name: value(field::CLAIM), uid: value(field::CLAIM_UID) },
            pool: value(field::POOL),
            class: value(field::CLASS),
            class_hash: value(field::CLASS_HASH),
            instance_type: value(field::INSTANCE_TYPE),
            zone: value(field::ZONE),
            region: value(field::REGION),
            image: value(field::IMAGE),
            instance_uuid: value(field::INSTANCE_UUID),
            labels: serde_json::from_str(&value(field::LABELS)).unwrap_or_default(),
            made_here: !value(field::SCHEMA).is_empty(),
            join_data_emptied: value(field::JOIN_DATA) == EMPTIED,
        })
    }

    /// Whether it names a cluster. A mark without an identity may name any cluster of the name.
    pub fn names(&self, cluster: Cluster<'_>) -> bool {
        self.cluster == cluster.name && self.namesake_of(cluster).is_none()
    }

    /// The identity of the other cluster that it names, if that cluster has the same name.
    pub fn namesake_of(&self, cluster: Cluster<'_>) -> Option<&str> {
        let own = Some(self.cluster_uid.as_str()).filter(|own| !own.is_empty())?;
        (self.cluster == cluster.name && cluster.uid? != own).then_some(own)
    }

    /// The claim; none where its identity is missing.
    pub fn claim(&self) -> Option<ClaimId> {
        (!self.claim.uid.is_empty()).then(|| self.claim.clone())
    }

    /// The cloud's id of the instance that the mark was written for; none where the mark does not say
    /// it. A copy of the instance carries the same mark and has another id.
    pub fn instance(&self) -> Option<&str> {
        let of_claim = if self.made_here { self.claim.uid.as_str() } else { "" };
        [self.instance_uuid.as_str(), of_claim].into_iter().find(|own| !own.is_empty())
    }
}

/// The field and value that say that the join data is gone.
pub fn join_data_emptied() -> (&'static str, &'static str) {
    (field::JOIN_DATA, EMPTIED)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn mark() -> Mark {
        Mark {
            cluster: "prod".to_owned(),
            cluster_uid: "uid-of-prod".to_owned(),
            claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
            pool: "general".to_owned(),
            class: "default".to_owned(),
            class_hash: "42".to_owned(),
            instance_type: "small".to_owned(),
            zone: "az1".to_owned(),
            labels: [("a".to_owned(), "b".to_owned())].into(),
            image: "uuid".to_owned(),
            made_here: true,
            join_data_emptied: true,
            ..Mark::default()
        }
    }

    #[test]
    fn every_field_is_written_and_read_again() {
        let written: BTreeMap<&str, String> = mark().fields().into_iter().collect();
        assert_eq!(written.len(), field::ALL.len());
        assert_eq!(Mark::read(|name| written.get(name).cloned()), Some(mark()));
        assert_eq!(written["nodeclaim-uid"], "uid-1");
        assert_eq!(written["region"], "");
    }

    #[test]
    fn an_instance_without_a_cluster_has_no_mark() {
        assert_eq!(Mark::read(|_| None), None);
        let foreign = |name: &str| (name == field::CLAIM_UID).then(|| "uid-1".to_owned());
        assert_eq!(Mark::read(foreign), None);
    }

    #[test]
    fn a_name_is_not_enough_to_be_the_same_cluster() {
        let own = Cluster { name: "prod", uid: Some("uid-of-prod") };
        let namesake = Cluster { name: "prod", uid: Some("uid-of-staging") };
        assert!(mark().names(own) && !mark().names(namesake));
        assert_eq!(mark().namesake_of(namesake), Some("uid-of-prod"));
        assert_eq!(mark().namesake_of(own), None);
        let other = Cluster { name: "prod-eu", uid: Some("uid-of-eu") };
        assert!(!mark().names(other) && mark().namesake_of(other).is_none());
        let old = Mark { cluster_uid: String::new(), ..mark() };
        assert!(old.names(own) && old.names(namesake), "it may belong to either");
        let by_name = Cluster { name: "prod", uid: None };
        assert!(mark().names(by_name), "only the name is known");
    }
}
