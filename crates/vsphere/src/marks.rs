//! Whose an instance is.
//!
//! An instance carries this in its configuration, written by the very call that makes it, out of its
//! guest's sight. Without it an instance is nobody's of ours and is left alone.

use std::collections::BTreeMap;

use joiner_cloud::order::ClaimId;
use joiner_core::label::Labels;

/// How every key begins.
pub(crate) const PREFIX: &str = "joiner.";
/// The version of the form of a mark.
const SCHEMA: &str = "1";

/// The keys, without their prefix.
const CLUSTER: &str = "cluster";
const CLUSTER_UID: &str = "cluster-uid";
const CLAIM: &str = "nodeclaim";
const CLAIM_UID: &str = "nodeclaim-uid";
const POOL: &str = "nodepool";
const CLASS: &str = "nodeclass";
const INSTANCE_TYPE: &str = "instance-type";
const ZONE: &str = "zone";
const REGION: &str = "region";
const IMAGE: &str = "image";
const HASH: &str = "nodeclass-hash";
const LABELS: &str = "labels";
pub(crate) const MODULE: &str = "module";
const JOIN_DATA: &str = "join-data";
pub(crate) const INSTANCE_UUID: &str = "instance-uuid";
const VERSION: &str = "schema";

/// Every key, without its prefix.
const KEYS: [&str; 16] = [
    CLUSTER,
    CLUSTER_UID,
    CLAIM,
    CLAIM_UID,
    POOL,
    CLASS,
    INSTANCE_TYPE,
    ZONE,
    REGION,
    IMAGE,
    HASH,
    LABELS,
    MODULE,
    JOIN_DATA,
    INSTANCE_UUID,
    VERSION,
];

/// The value of the key about join data once there is none.
const EMPTIED: &str = "emptied";

/// A cluster, as marks tell clusters apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster<'c> {
    /// Its name, which another cluster may have too.
    pub(crate) name: &'c str,
    /// The UID of its namespace `kube-system`; none where only the name is known.
    pub(crate) uid: Option<&'c str>,
}

/// Whose an instance is, and what it was made as.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The cluster.
    pub(crate) cluster: String,
    /// The cluster's identity; empty in marks from before there was one.
    pub(crate) cluster_uid: String,
    /// The claim.
    pub(crate) claim: ClaimId,
    /// The pool; empty for a claim that somebody wrote by hand.
    pub(crate) pool: String,
    /// The class.
    pub(crate) class: String,
    /// The class's fingerprint when the instance was made.
    pub(crate) class_hash: String,
    /// The instance type.
    pub(crate) instance_type: String,
    /// The zone; empty where there is none.
    pub(crate) zone: String,
    /// The region; empty where there is none.
    pub(crate) region: String,
    /// The template it was cloned from, by its instance UUID.
    pub(crate) image: String,
    /// The cluster module that keeps it apart from others, written once it is known.
    pub(crate) module: String,
    /// What vCenter knows the instance by, where that is not the claim's identity: vCenter decides it
    /// for instances of the predecessor, and where somebody else has the claim's identity already.
    pub(crate) instance_uuid: String,
    /// The labels that the choice of type and place decided.
    pub(crate) labels: Labels,
    /// Whether this program made the instance; others were adopted.
    pub(crate) made_here: bool,
    /// Whether what its guest was given to join with is emptied; written by the very call that does
    /// it.
    pub(crate) join_data_emptied: bool,
}

impl Mark {
    /// The settings of the instance that say it.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut settings = self.replacing();
        settings.retain(|(_, value)| !value.is_empty());
        settings
    }

    /// The settings of a clone that say it and nothing else: a key that says nothing has an empty
    /// value, which removes it. A clone begins with the settings of its template, and a template may
    /// have been a node.
    pub(crate) fn replacing(&self) -> Vec<(String, String)> {
        let labels = serde_json::to_string(&self.labels).expect("labels are texts");
        let version = if self.made_here { SCHEMA } else { "" };
        let join_data = if self.join_data_emptied { EMPTIED } else { "" };
        [
            (CLUSTER, self.cluster.as_str()),
            (CLUSTER_UID, &self.cluster_uid),
            (CLAIM, &self.claim.name),
            (CLAIM_UID, &self.claim.uid),
            (POOL, &self.pool),
            (CLASS, &self.class),
            (HASH, &self.class_hash),
            (INSTANCE_TYPE, &self.instance_type),
            (ZONE, &self.zone),
            (REGION, &self.region),
            (IMAGE, &self.image),
            (LABELS, &labels),
            (MODULE, &self.module),
            (JOIN_DATA, join_data),
            (INSTANCE_UUID, &self.instance_uuid),
            (VERSION, version),
        ]
        .into_iter()
        .map(|(key, value)| (format!("{PREFIX}{key}"), value.to_owned()))
        .collect()
    }

    /// Reads the mark of an instance; none when it carries none of any cluster.
    pub(crate) fn read(values: &BTreeMap<String, String>) -> Option<Self> {
        let value = |key: &str| values.get(&format!("{PREFIX}{key}")).cloned().unwrap_or_default();
        let cluster = value(CLUSTER);
        if cluster.is_empty() {
            return None;
        }
        Some(Self {
            cluster,
            cluster_uid: value(CLUSTER_UID),
            claim: ClaimId { name: value(CLAIM), uid: value(CLAIM_UID) },
            pool: value(POOL),
            class: value(CLASS),
            class_hash: value(HASH),
            instance_type: value(INSTANCE_TYPE),
            zone: value(ZONE),
            region: value(REGION),
            image: value(IMAGE),
            module: value(MODULE),
            instance_uuid: value(INSTANCE_UUID),
            labels: serde_json::from_str(&value(LABELS)).unwrap_or_default(),
            made_here: !value(VERSION).is_empty(),
            join_data_emptied: value(JOIN_DATA) == EMPTIED,
        })
    }

    /// Whether it names a cluster. One without an identity may name any of this name.
    pub(crate) fn names(&self, cluster: Cluster<'_>) -> bool {
        self.cluster == cluster.name && self.namesake_of(cluster).is_none()
    }

    /// The identity of the other cluster that it names, if that has the same name.
    pub(crate) fn namesake_of(&self, cluster: Cluster<'_>) -> Option<&str> {
        let own = Some(self.cluster_uid.as_str()).filter(|own| !own.is_empty())?;
        (self.cluster == cluster.name && cluster.uid? != own).then_some(own)
    }

    /// The claim, unless its identity has become unreadable.
    pub(crate) fn claim(&self) -> Option<ClaimId> {
        (!self.claim.uid.is_empty()).then(|| self.claim.clone())
    }

    /// What vCenter knows the instance by that this was written for; none where the mark does not say
    /// it. A copy carries the same mark and is known by something else.
    pub(crate) fn instance(&self) -> Option<&str> {
        let of_claim = if self.made_here { self.claim.uid.as_str() } else { "" };
        [self.instance_uuid.as_str(), of_claim].into_iter().find(|own| !own.is_empty())
    }
}

/// The setting that says which cluster of the name it is.
pub(crate) fn cluster_uid(uid: &str) -> (String, String) {
    (format!("{PREFIX}{CLUSTER_UID}"), uid.to_owned())
}

/// The setting that says that there is no join data any more.
pub(crate) fn join_data_emptied() -> (String, &'static str) {
    (format!("{PREFIX}{JOIN_DATA}"), EMPTIED)
}

/// The properties of a virtual machine that its mark is read from: its keys alone, so that nobody
/// downloads user data.
pub(crate) fn properties() -> impl Iterator<Item = String> {
    KEYS.iter().map(|key| property(&format!("{PREFIX}{key}")))
}

/// The path of the property that is a setting's value.
pub(crate) fn property(key: &str) -> String {
    format!("config.extraConfig[\"{key}\"].value")
}

/// The setting that a property is the value of.
pub(crate) fn setting_of(property: &str) -> Option<&str> {
    property.strip_prefix("config.extraConfig[\"")?.strip_suffix("\"].value")
}

#[cfg(test)]
mod tests {
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
    fn what_is_written_is_read() {
        let written: BTreeMap<String, String> = mark().settings().into_iter().collect();
        assert_eq!(Mark::read(&written), Some(mark()));
        assert_eq!(written["joiner.nodeclaim-uid"], "uid-1");
        assert_eq!(written["joiner.schema"], "1");
        assert!(!written.contains_key("joiner.region"), "what is empty is not written");
    }

    #[test]
    fn a_clone_loses_every_key_of_its_template_that_it_does_not_write() {
        let replacing: BTreeMap<String, String> = mark().replacing().into_iter().collect();
        assert_eq!(replacing.len(), KEYS.len(), "each key is written or removed");
        assert_eq!(replacing["joiner.module"], "", "an empty value removes the key");
        assert_eq!(Mark::read(&replacing), Some(mark()));
    }

    #[test]
    fn an_instance_without_a_cluster_is_nobodys() {
        assert_eq!(Mark::read(&BTreeMap::new()), None);
        let foreign = [("joiner.nodeclaim-uid".to_owned(), "uid-1".to_owned())].into();
        assert_eq!(Mark::read(&foreign), None);
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
        assert!(old.names(own) && old.names(namesake), "it may be of either");
        assert!(mark().names(Cluster { name: "prod", uid: None }), "who knows only the name");
    }

    #[test]
    fn only_the_keys_of_marks_are_downloaded() {
        let paths: Vec<String> = properties().collect();
        assert!(paths.contains(&"config.extraConfig[\"joiner.cluster\"].value".to_owned()));
        let keys: Vec<&str> = paths.iter().filter_map(|path| setting_of(path)).collect();
        assert_eq!(keys.len(), KEYS.len());
        assert!(mark().settings().iter().all(|(key, _)| keys.contains(&key.as_str())));
    }
}
