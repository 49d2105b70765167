//! The vSphere tags of an instance: for reports, for the cloud controller, and for administrators.

pub(crate) mod objections;

use std::collections::BTreeMap;

use joiner_cloud::{
    mark::Mark,
    spec::{Problem, Reason},
};
use joiner_core::label;

use crate::{INSTANCE_CPU, INSTANCE_MEMORY, INSTANCE_SIZE, NODE_CLASS_KIND};

/// Two tags are set for the one zone of an instance.
const CONFLICTING_ZONE_TAGS: Reason = Reason::new("ConflictingZoneTags");

/// The category whose tag names the cluster; instances of the provider that this one replaces are
/// known by it.
pub(crate) const CLUSTER: &str = "karpenter.sh/clustername";

/// A tag that an instance is to carry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedTag {
    /// The category.
    pub(crate) category: String,
    /// The tag.
    pub(crate) tag: String,
    /// Whether an instance carries one tag of this category at most, where the category has to be
    /// made.
    pub(crate) single: bool,
    /// Whether the cloud controller needs it when the guest boots.
    pub(crate) before_boot: bool,
}

/// The categories that the cloud controller reads an instance's zone and region from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyCategories {
    /// Of the zone.
    pub zone: String,
    /// Of the region.
    pub region: String,
}

impl Default for TopologyCategories {
    fn default() -> Self {
        Self { zone: "k8s-zone".to_owned(), region: "k8s-region".to_owned() }
    }
}

/// The tags of an instance: what its mark says, and what its class adds or says otherwise.
pub(crate) fn of_instance(
    mark: &Mark,
    of_class: Option<&BTreeMap<String, String>>,
    topology: &TopologyCategories,
) -> Vec<WantedTag> {
    let own = |key: &str| mark.labels.get(key).cloned().unwrap_or_default();
    let mut tags: BTreeMap<String, String> = [
        (CLUSTER.to_owned(), mark.cluster.clone()),
        (label::node_class(crate::NODE_CLASS_GROUP, NODE_CLASS_KIND), mark.class.clone()),
        (label::NODE_POOL.to_owned(), mark.pool.clone()),
        (INSTANCE_SIZE.to_owned(), mark.instance_type.clone()),
        (INSTANCE_CPU.to_owned(), own(INSTANCE_CPU)),
        (INSTANCE_MEMORY.to_owned(), own(INSTANCE_MEMORY)),
    ]
    .into();
    for (category, tag) in of_class.into_iter().flatten() {
        tags.insert(written_category(category, topology).to_owned(), tag.clone());
    }
    let is_topology = |category: &str| category == topology.zone || category == topology.region;
    tags.into_iter()
        .filter(|(category, tag)| !category.is_empty() && !tag.is_empty())
        .map(|(category, tag)| {
            let before_boot = is_topology(&category);
            WantedTag { category, tag, single: before_boot, before_boot }
        })
        .collect()
}

/// The tags that all instances of a class carry.
pub(crate) fn of_class(
    cluster: &str,
    class: &str,
    own: Option<&BTreeMap<String, String>>,
    topology: &TopologyCategories,
) -> Vec<WantedTag> {
    let mark = Mark { cluster: cluster.to_owned(), class: class.to_owned(), ..Mark::default() };
    of_instance(&mark, own, topology)
}

/// Whether a category is one that a class itself asks for.
pub(crate) fn is_asked_for(
    category: &str,
    by_class: Option<&BTreeMap<String, String>>,
    topology: &TopologyCategories,
) -> bool {
    by_class
        .into_iter()
        .flatten()
        .any(|(key, tag)| !tag.is_empty() && written_category(key, topology) == category)
}

/// The category that a key of `spec.tags` is written to.
fn written_category<'k>(key: &'k str, topology: &'k TopologyCategories) -> &'k str {
    match key {
        label::ZONE => &topology.zone,
        label::REGION => &topology.region,
        other => other,
    }
}

/// Keys of `spec.tags` that mean one category and say different things.
pub(crate) fn conflicts(tags: Option<&BTreeMap<String, String>>) -> Vec<Problem> {
    let topology = TopologyCategories::default();
    let Some(tags) = tags else { return Vec::new() };
    [label::ZONE, label::REGION]
        .into_iter()
        .filter_map(|key| {
            let category = written_category(key, &topology);
            let (one, other) = (tags.get(key)?, tags.get(category)?);
            (one != other).then(|| {
                Problem::new(
                    CONFLICTING_ZONE_TAGS,
                    format!("spec.tags[{key:?}]"),
                    format!(
                        "is {one:?}, and spec.tags[{category:?}], which means the same, is \
                         {other:?}; an instance has one: make them equal or remove one"
                    ),
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(tags: &[(&str, &str)]) -> BTreeMap<String, String> {
        tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn mark() -> Mark {
        Mark {
            cluster: "prod".to_owned(),
            pool: "general".to_owned(),
            class: "default".to_owned(),
            instance_type: "small".to_owned(),
            labels: map(&[(INSTANCE_CPU, "4"), (INSTANCE_MEMORY, "16384")]),
            ..Mark::default()
        }
    }

    fn texts(tags: &[WantedTag]) -> Vec<String> {
        tags.iter().map(|tag| format!("{}={}", tag.category, tag.tag)).collect()
    }

    #[test]
    fn an_instance_carries_the_tags_of_the_predecessor() {
        let tags = of_instance(&mark(), None, &TopologyCategories::default());
        assert_eq!(
            texts(&tags),
            [
                "karpenter.sh/clustername=prod",
                "karpenter.sh/nodepool=general",
                "karpenter.vsphere.com/instance-cpu=4",
                "karpenter.vsphere.com/instance-memory=16384",
                "karpenter.vsphere.com/instance-size=small",
                "karpenter.vsphere.com/vspherenodeclass=default",
            ]
        );
        assert!(tags.iter().all(|tag| !tag.single && !tag.before_boot));
    }

    #[test]
    fn both_keys_of_a_zone_are_one_tag_that_has_to_be_there_first() {
        let of_class =
            map(&[("topology.kubernetes.io/zone", "az1"), ("k8s-zone", "az1"), ("owner", "me")]);
        let tags = of_instance(&mark(), Some(&of_class), &TopologyCategories::default());
        let zones: Vec<&WantedTag> = tags.iter().filter(|tag| tag.tag == "az1").collect();
        assert_eq!(zones.len(), 1);
        assert!(zones[0].category == "k8s-zone" && zones[0].single && zones[0].before_boot);
        assert!(texts(&tags).contains(&"owner=me".to_owned()));
    }

    #[test]
    fn the_class_wins_and_what_is_empty_is_left_out() {
        let of_class = map(&[("karpenter.sh/nodepool", "mine"), ("empty", "")]);
        let tags = texts(&of_instance(&mark(), Some(&of_class), &TopologyCategories::default()));
        assert!(tags.contains(&"karpenter.sh/nodepool=mine".to_owned()));
        assert!(!tags.iter().any(|tag| tag.starts_with("empty")));
    }

    #[test]
    fn two_zones_for_one_instance_are_told() {
        let told = |tags: &[(&str, &str)]| -> Vec<String> {
            conflicts(Some(&map(tags))).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            told(&[("topology.kubernetes.io/zone", "az1"), ("k8s-zone", "az2")]),
            ["ConflictingZoneTags: spec.tags[\"topology.kubernetes.io/zone\"]: is \"az1\", and \
              spec.tags[\"k8s-zone\"], which means the same, is \"az2\"; an instance has one: make \
              them equal or remove one"]
        );
        assert_eq!(told(&[("topology.kubernetes.io/zone", "az1")]), Vec::<String>::new());
        assert_eq!(told(&[("topology.kubernetes.io/region", "a"), ("k8s-region", "b")]).len(), 1);
    }
}
