//! Whose an instance is.
//!
//! The mark is in the instance's details, written by the very call that makes it. Tags, which are
//! what lists are filtered by, follow at once but in a call of their own; instances that upstream
//! made have nothing else.

use std::collections::BTreeMap;

use joiner_cloud::{mark::Mark, order::ClaimId};
use joiner_core::label;

use crate::{NODE_CLASS_GROUP, client::objects::VirtualMachine};

/// Detail and tag: the claim's name.
pub const CLAIM: &str = "karpenter.sh/nodeclaim";
/// Detail: the claim's identity.
pub const CLAIM_UID: &str = "karpenter.k8s.cloudstack/nodeclaim-uid";
/// Detail: the cluster's name.
pub const CLUSTER: &str = "karpenter.k8s.cloudstack/cluster";
/// Detail: the cluster's identity.
pub const CLUSTER_UID: &str = "karpenter.k8s.cloudstack/cluster-uid";
/// Tag: the instance that the tags were written for. A copy of the instance carries the same tag and
/// has another id.
pub const INSTANCE: &str = "karpenter.k8s.cloudstack/instance-id";
/// Every detail that is ours. They are few and short: some hypervisors show each in their own
/// definition of the instance.
pub(crate) const DETAILS: [&str; 4] = [CLAIM, CLAIM_UID, CLUSTER, CLUSTER_UID];

/// Tag: the class.
const CLASS_TAG: &str = "karpenter.k8s.cloudstack/nodeclass";
/// Tag: who made the instance.
const MANAGED_BY: &str = "karpenter.sh/managed-by";
const KARPENTER: &str = "karpenter";
/// How the tag begins that names the cluster, and its value.
const CLUSTER_TAG_PREFIX: &str = "kubernetes.io/cluster/";
const OWNED: &str = "owned";

/// The tag that lists of a cluster's instances are filtered by.
pub fn cluster_tag(cluster: &str) -> (String, String) {
    (format!("{CLUSTER_TAG_PREFIX}{cluster}"), OWNED.to_owned())
}

/// Whether a tag says whose an instance is, so that only the controller writes it.
pub(crate) fn is_own_tag(key: &str) -> bool {
    matches!(
        key,
        MANAGED_BY | CLAIM | CLASS_TAG | INSTANCE | CLAIM_UID | CLUSTER_UID | label::NODE_POOL
    ) || key.starts_with(CLUSTER_TAG_PREFIX)
}

/// Whether a tag of a user says what the controller writes in any case.
pub(crate) fn is_written_anyway(key: &str, value: &str) -> bool {
    key == MANAGED_BY && value == KARPENTER
}

/// The details that say it, and those of the user.
pub fn details(
    mark: &Mark,
    of_user: Option<&BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut details = of_user.cloned().unwrap_or_default();
    for (key, value) in [
        (CLAIM, &mark.claim.name),
        (CLAIM_UID, &mark.claim.uid),
        (CLUSTER, &mark.cluster),
        (CLUSTER_UID, &mark.cluster_uid),
    ] {
        if !value.is_empty() {
            details.insert(key.to_owned(), value.clone());
        }
    }
    details
}

/// The tags that say it, and those of the user. A tag of the user never changes whose an instance
/// is.
pub fn tags(mark: &Mark, of_user: Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let of_user = of_user.into_iter().flatten();
    let mut tags: BTreeMap<String, String> = of_user
        .filter(|(key, value)| !is_own_tag(key) && !value.is_empty())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (key, value) in [
        (MANAGED_BY, KARPENTER),
        (CLAIM, &mark.claim.name),
        (CLASS_TAG, &mark.class),
        (label::NODE_POOL, &mark.pool),
        (INSTANCE, &mark.instance_uuid),
    ] {
        // CloudStack takes no empty value, and with it none of the others.
        if !value.is_empty() {
            tags.insert(key.to_owned(), value.to_owned());
        }
    }
    let (key, value) = cluster_tag(&mark.cluster);
    tags.insert(key, value);
    tags
}

/// The mark of an instance: from its details, or from the tags that upstream wrote. None where
/// neither names the cluster. The claim's identity is empty for instances that upstream made.
pub fn read(instance: &VirtualMachine, cluster: &str) -> Option<Mark> {
    let tags = instance.tags();
    let tag = |key: &str| tags.get(key).map(|value| (*value).to_owned()).unwrap_or_default();
    let detail = |key: &str| instance.details.get(key).cloned().unwrap_or_default();
    let (cluster_key, owned) = cluster_tag(cluster);
    let by_details = detail(CLUSTER);
    let is_ours = if by_details.is_empty() {
        tag(&cluster_key) == owned && !tag(CLAIM).is_empty()
    } else {
        by_details == cluster
    };
    if !is_ours {
        return None;
    }
    let written = |key: &str| [detail(key), tag(key)].into_iter().find(|text| !text.is_empty());
    Some(Mark {
        cluster: cluster.to_owned(),
        cluster_uid: written(CLUSTER_UID).unwrap_or_default(),
        claim: ClaimId { name: written(CLAIM)?, uid: written(CLAIM_UID).unwrap_or_default() },
        pool: tag(label::NODE_POOL),
        class: tag(CLASS_TAG),
        instance_uuid: tag(INSTANCE),
        made_here: !detail(CLUSTER).is_empty(),
        ..Mark::default()
    })
}

/// The tags by which an instance that upstream made is known from now on: they say the identities of
/// its claim and its cluster, which its details do not.
pub fn adopting_tags(mark: &Mark) -> BTreeMap<String, String> {
    let mut tags = tags(mark, None);
    for (key, value) in [(CLAIM_UID, &mark.claim.uid), (CLUSTER_UID, &mark.cluster_uid)] {
        if !value.is_empty() {
            tags.insert(key.to_owned(), value.clone());
        }
    }
    tags
}

/// Whether a mark is of a claim. A mark of upstream has only the claim's name.
pub fn is_of(mark: &Mark, claim: &ClaimId) -> bool {
    if mark.claim.uid.is_empty() {
        mark.claim.name == claim.name
    } else {
        mark.claim.uid == claim.uid
    }
}

/// The tags that an instance lacks. CloudStack adds all of a request or none, and refuses one that is
/// there already.
pub fn missing_tags(
    instance: &VirtualMachine,
    wanted: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let present = instance.tags();
    let is_missing = |key: &str| !present.contains_key(key);
    let missing = wanted.iter().filter(|(key, _)| is_missing(key));
    missing.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The label by which nodes are known as instances of a class.
pub fn class_label() -> String {
    label::node_class(NODE_CLASS_GROUP, crate::NODE_CLASS_KIND)
}

#[cfg(test)]
mod tests {
    use joiner_cloud::mark::Cluster;
    use serde_json::json;

    use super::*;

    fn mark() -> Mark {
        Mark {
            cluster: "prod".into(),
            cluster_uid: "uid-of-prod".into(),
            claim: ClaimId { name: "default-1".into(), uid: "uid-1".into() },
            pool: "default".into(),
            class: "default".into(),
            ..Mark::default()
        }
    }

    fn instance(
        tags: &BTreeMap<String, String>,
        details: &BTreeMap<String, String>,
    ) -> VirtualMachine {
        let tags: Vec<_> =
            tags.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        serde_json::from_value(json!({"id": "v1", "tags": tags, "details": details})).unwrap()
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let made = instance(&tags(&mark(), None), &details(&mark(), None));
        assert_eq!(read(&made, "prod"), Some(Mark { made_here: true, ..mark() }));
    }

    /// Defect 32 of upstream: an instance whose tags were not written is nobody's.
    #[test]
    fn an_instance_without_tags_is_known_by_its_details() {
        let made = instance(&BTreeMap::new(), &details(&mark(), None));
        let found = read(&made, "prod").unwrap();
        assert!(is_of(&found, &mark().claim));
        assert_eq!(missing_tags(&made, &tags(&mark(), None)), tags(&mark(), None));
    }

    #[test]
    fn an_instance_of_upstream_is_known_by_its_tags() {
        let made = instance(&tags(&mark(), None), &BTreeMap::new());
        let found = read(&made, "prod").unwrap();
        assert!(is_of(&found, &ClaimId { name: "default-1".into(), uid: "any".into() }));
        assert!(found.names(Cluster { name: "prod", uid: Some("uid-of-prod") }));
    }

    /// Defect 39 of upstream: two clusters of an account see each other's instances.
    #[test]
    fn instances_of_another_cluster_are_not_ours() {
        let made = instance(&tags(&mark(), None), &details(&mark(), None));
        assert_eq!(read(&made, "prod-2"), None);
        assert!(!mark().names(Cluster { name: "prod", uid: Some("uid-of-staging") }));
        // Details win: a tag of ours on an instance of another cluster changes nothing.
        let foreign = Mark { cluster: "other".into(), ..mark() };
        let made = instance(&tags(&mark(), None), &details(&foreign, None));
        assert_eq!(read(&made, "prod"), None);
    }

    /// Defect 7 of upstream: tags of the user win over those that say whose an instance is.
    #[test]
    fn tags_of_the_user_never_change_whose_an_instance_is() {
        let of_user: BTreeMap<String, String> = [
            ("karpenter.sh/managed-by", "me"),
            ("kubernetes.io/cluster/prod", "shared"),
            ("kubernetes.io/cluster/other", "owned"),
            ("karpenter.sh/nodeclaim", "x"),
            ("team", "platform"),
            ("empty", ""),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        let written = tags(&mark(), Some(&of_user));
        let mut expected = tags(&mark(), None);
        expected.insert("team".into(), "platform".into());
        assert_eq!(written, expected);
    }

    /// Defect 8 of upstream: one empty value loses all tags.
    #[test]
    fn no_tag_has_an_empty_value() {
        let written = tags(&Mark { pool: String::new(), ..mark() }, None);
        assert!(written.values().all(|value| !value.is_empty()), "{written:?}");
    }

    #[test]
    fn only_tags_that_are_missing_are_added() {
        let mut present = tags(&mark(), None);
        present.remove(CLASS_TAG);
        let made = instance(&present, &BTreeMap::new());
        let missing: Vec<String> = missing_tags(&made, &tags(&mark(), None)).into_keys().collect();
        assert_eq!(missing, [CLASS_TAG]);
    }
}
