//! Names as values of labels.
//!
//! CloudStack's names may have spaces and any other characters; values of labels may not. A name is
//! written so that it fits, and objects whose names would then be the same are told apart by their
//! id. What the name was is kept in an annotation.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::label::{self, Labels, WellKnown};

use crate::NODE_CLASS_GROUP;

/// Label: the zone's id.
pub const ZONE_ID: &str = "karpenter.k8s.cloudstack/zone-id";
/// Label: the zone's name.
pub const ZONE_NAME: &str = "karpenter.k8s.cloudstack/zone-name";
/// Label: the id of the network that the default route goes through.
pub const NETWORK_ID: &str = "karpenter.k8s.cloudstack/network-id";
/// Label: that network's name.
pub const NETWORK_NAME: &str = "karpenter.k8s.cloudstack/network-name";
/// Label: the service offering's id.
pub const SERVICE_OFFERING_ID: &str = "karpenter.k8s.cloudstack/service-offering-id";
/// Label: the service offering's name.
pub const SERVICE_OFFERING_NAME: &str = "karpenter.k8s.cloudstack/service-offering-name";
/// Label: the template's id.
pub const TEMPLATE_ID: &str = "karpenter.k8s.cloudstack/template-id";
/// Label: the template's name.
pub const TEMPLATE_NAME: &str = "karpenter.k8s.cloudstack/template-name";
/// Label: the id of the data disk's offering.
pub const DISK_OFFERING_ID: &str = "karpenter.k8s.cloudstack/disk-offering-id";
/// Label: CPUs.
pub const INSTANCE_CPU: &str = "karpenter.k8s.cloudstack/instance-cpu";
/// Label: MHz of each CPU.
pub const INSTANCE_CPU_MHZ: &str = "karpenter.k8s.cloudstack/instance-cpu-mhz";
/// Label: memory in MiB.
pub const INSTANCE_MEMORY: &str = "karpenter.k8s.cloudstack/instance-memory";
/// Label: the network's rate in Mbit/s.
pub const INSTANCE_NETWORK_RATE: &str = "karpenter.k8s.cloudstack/instance-network-rate";
/// Label: the graphics card.
pub const INSTANCE_GPU_NAME: &str = "karpenter.k8s.cloudstack/instance-gpu-name";
/// Label: how many graphics cards.
pub const INSTANCE_GPU_COUNT: &str = "karpenter.k8s.cloudstack/instance-gpu-count";
/// Label of CloudStack's CSI driver: the zone's id. Volumes are bound to it.
pub const CSI_ZONE: &str = "topology.csi.cloudstack.apache.org/zone";

/// The labels that this provider fills in besides Karpenter's own.
pub const WELL_KNOWN_LABELS: [&str; 16] = [
    ZONE_ID,
    ZONE_NAME,
    NETWORK_ID,
    NETWORK_NAME,
    SERVICE_OFFERING_ID,
    SERVICE_OFFERING_NAME,
    TEMPLATE_ID,
    TEMPLATE_NAME,
    DISK_OFFERING_ID,
    INSTANCE_CPU,
    INSTANCE_CPU_MHZ,
    INSTANCE_MEMORY,
    INSTANCE_NETWORK_RATE,
    INSTANCE_GPU_NAME,
    INSTANCE_GPU_COUNT,
    CSI_ZONE,
];

/// The longest value of a label.
pub(crate) const VALUE_MAX: usize = 63;
/// What is kept of a value that gets a part of an id.
const KEPT: usize = 56;
/// How much of an id tells values apart: as much as it takes.
const ID_DIGITS: [usize; 3] = [6, 12, 32];

/// What is told about its labels to whoever plans with them.
pub fn well_known() -> WellKnown {
    WellKnown::with(WELL_KNOWN_LABELS.map(str::to_owned)).restricting([NODE_CLASS_GROUP.to_owned()])
}

/// A name as the value of a label; empty where none of its characters can be in one.
pub fn sanitize(name: &str) -> String {
    let mut value = String::new();
    let mut is_run = false;
    for char in name.chars() {
        if char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.') {
            value.push(char);
            is_run = false;
        } else if !is_run {
            value.push('-');
            is_run = true;
        }
    }
    cut(&value, VALUE_MAX)
}

/// A value without what it must not begin or end with, and so long at most.
pub(crate) fn cut(value: &str, max: usize) -> String {
    let no_letter = |char: char| !char.is_ascii_alphanumeric();
    let value = value.trim_matches(no_letter);
    value[..value.len().min(max)].trim_end_matches(no_letter).to_owned()
}

/// The values of objects of one kind, by their ids. Where the names of several would be one value,
/// the one that is named exactly so keeps it, and the others get a part of their ids.
pub fn sanitized<'o>(
    objects: impl IntoIterator<Item = (&'o str, &'o str)>,
) -> BTreeMap<String, String> {
    let mut by_value: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for (id, name) in objects {
        by_value.entry(sanitize(name)).or_default().push((id, name));
    }
    let mut values = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let mut others = Vec::new();
    for (value, mut objects) in by_value {
        objects.sort_unstable();
        objects.dedup();
        let exact = objects.iter().filter(|(_, name)| *name == value).count();
        let keeps = |name: &str| objects.len() == 1 || (exact == 1 && name == value);
        for (id, name) in &objects {
            if keeps(name) && !value.is_empty() {
                taken.insert(value.clone());
                values.insert((*id).to_owned(), value.clone());
            } else {
                others.push((*id, value.clone()));
            }
        }
    }
    for (id, value) in others {
        let with_id = ID_DIGITS.map(|digits| with_id(&value, id, digits));
        let free = with_id.iter().find(|value| !taken.contains(*value));
        let value = free.or(with_id.last()).cloned().unwrap_or_default();
        taken.insert(value.clone());
        values.insert(id.to_owned(), value);
    }
    values
}

fn with_id(value: &str, id: &str, digits: usize) -> String {
    let digits: String =
        id.chars().filter(char::is_ascii_alphanumeric).take(digits).collect::<String>();
    let digits = digits.to_ascii_lowercase();
    let kept = cut(value, KEPT.min(VALUE_MAX - 1 - digits.len()));
    if kept.is_empty() { digits } else { format!("{kept}-{digits}") }
}

/// The annotations that keep names as CloudStack has them, by the labels that have them as values.
pub fn raw_names<'n>(names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Labels {
    names.into_iter().map(|(label, name)| (format!("{label}-raw"), name.to_owned())).collect()
}

/// An object whose name is the value of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Our value.
    pub value: String,
    /// The ids of the object; of an instance type there is one for each zone at most.
    pub ids: Vec<String>,
    /// What CloudStack calls it.
    pub name: String,
}

/// What others call zones and instance types, and what we call them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aliases {
    zones: Vec<Named>,
    types: Vec<Named>,
}

impl Aliases {
    /// The aliases of zones and instance types.
    pub fn new(zones: Vec<Named>, types: Vec<Named>) -> Self {
        Self { zones, types }
    }

    /// Our value of a label for what another program wrote there, or a user asks for. None where
    /// nothing is meant, or more than one.
    pub fn ours(&self, key: &str, found: &str) -> Option<&str> {
        let named = self.of(key);
        let ways: [fn(&Named, &str) -> bool; 4] = [is_value, is_name, is_id, is_of_controller];
        for way in ways {
            let mut values = named.iter().filter(|own| way(own, found)).map(|own| &own.value);
            if let Some(first) = values.next() {
                return values.all(|other| other == first).then_some(first.as_str());
            }
        }
        None
    }

    /// Whether a value that another program wrote means ours. CloudStack's controller calls all
    /// sizes of a customized offering by the offering's name, so each of them may be meant.
    pub fn means(&self, key: &str, found: &str, ours: &str) -> bool {
        found == ours
            || self
                .of(key)
                .iter()
                .filter(|own| own.value == ours)
                .any(|own| is_name(own, found) || is_id(own, found) || is_of_controller(own, found))
    }

    fn of(&self, key: &str) -> &[Named] {
        match label::normalize(key) {
            label::ZONE => &self.zones,
            label::INSTANCE_TYPE => &self.types,
            _ => &[],
        }
    }
}

fn is_value(own: &Named, found: &str) -> bool {
    own.value == found
}

fn is_name(own: &Named, found: &str) -> bool {
    own.name == found
}

fn is_id(own: &Named, found: &str) -> bool {
    own.ids.iter().any(|id| id.eq_ignore_ascii_case(found))
}

/// CloudStack's controller leaves out all that is no letter or digit.
fn is_of_controller(own: &Named, found: &str) -> bool {
    !found.is_empty() && own.name.chars().filter(char::is_ascii_alphanumeric).eq(found.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect 23 of upstream: such names are written as they are, and the API server refuses them.
    #[test]
    fn any_name_becomes_the_value_of_a_label() {
        for (name, value) in [
            ("m1.large", "m1.large"),
            ("Medium Instance", "Medium-Instance"),
            ("Zone 1", "Zone-1"),
            (" (large)  [2] ", "large-2"),
            ("__a", "a"),
            ("größe", "gr-e"),
            ("日本", ""),
            ("", ""),
        ] {
            assert_eq!(sanitize(name), value, "{name}");
        }
        let long = format!("{} b", "a".repeat(62));
        assert_eq!(sanitize(&long), "a".repeat(62));
        for name in ["a\nb", "…", "-", &"ä-".repeat(99), &format!("{}-b", "a".repeat(62))] {
            assert!(label::is_valid_value(&sanitize(name)), "{name}");
        }
    }

    fn values(objects: &[(&str, &str)]) -> Vec<String> {
        let values = sanitized(objects.iter().copied());
        objects.iter().map(|(id, _)| values[*id].clone()).collect()
    }

    #[test]
    fn objects_whose_values_would_be_the_same_get_a_part_of_their_ids() {
        assert_eq!(
            values(&[("1111111-1", "Medium Instance"), ("2222222-2", "Medium (Instance)")]),
            ["Medium-Instance-111111", "Medium-Instance-222222"]
        );
        assert_eq!(values(&[("1111111-1", "日本"), ("2222222-2", "中国")]), ["111111", "222222"]);
    }

    #[test]
    fn an_exact_name_is_kept_when_another_comes_that_looks_like_it() {
        assert_eq!(
            values(&[("1111111-1", "m1-large"), ("2222222-2", "m1 large")]),
            ["m1-large", "m1-large-222222"]
        );
        assert_eq!(values(&[("1111111-1", "m1"), ("2222222-2", "m1")]), ["m1-111111", "m1-222222"]);
    }

    #[test]
    fn values_are_never_the_same() {
        let objects = [
            ("aaaaaa11-0000-0000-0000-000000000001", "a b"),
            ("aaaaaa11-0000-0000-0000-000000000002", "a  b"),
            ("bbbbbb11-0000-0000-0000-000000000003", "a-b-aaaaaa"),
            ("cccccc11-0000-0000-0000-000000000004", &"a".repeat(80)),
            ("dddddd11-0000-0000-0000-000000000005", &"a".repeat(81)),
        ];
        let values = values(&objects);
        let different: BTreeSet<&String> = values.iter().collect();
        assert_eq!(different.len(), objects.len(), "{values:?}");
        assert!(values.iter().all(|value| label::is_valid_value(value)), "{values:?}");
    }

    fn named(value: &str, id: &str, name: &str) -> Named {
        Named { value: value.into(), ids: vec![id.into()], name: name.into() }
    }

    fn aliases() -> Aliases {
        Aliases::new(
            vec![named("Zone-1", "z1", "Zone 1"), named("zone-02", "z2", "zone-02")],
            vec![
                named("m1.large", "o1", "m1.large"),
                named("Medium-Instance", "o2", "Medium Instance"),
                named("custom-2c-4g", "o3", "custom"),
                named("custom-4c-8g", "o3", "custom"),
                named("m1-large", "o4", "m1-large"),
            ],
        )
    }

    #[test]
    fn what_others_call_a_type_or_a_zone_is_found() {
        let aliases = aliases();
        let ours = |key, found| aliases.ours(key, found).unwrap_or("none").to_owned();
        for (key, found, expected) in [
            (label::INSTANCE_TYPE, "Medium Instance", "Medium-Instance"),
            (label::INSTANCE_TYPE, "MediumInstance", "Medium-Instance"),
            (label::INSTANCE_TYPE, "O2", "Medium-Instance"),
            (label::INSTANCE_TYPE, "m1.large", "m1.large"),
            ("beta.kubernetes.io/instance-type", "MediumInstance", "Medium-Instance"),
            (label::ZONE, "Zone 1", "Zone-1"),
            (label::ZONE, "Zone1", "Zone-1"),
            (label::ZONE, "zone02", "zone-02"),
            // It may be either of two.
            (label::INSTANCE_TYPE, "m1large", "none"),
            (label::INSTANCE_TYPE, "custom", "none"),
            (label::INSTANCE_TYPE, "Extra Large Instance", "none"),
            (label::ZONE, "MediumInstance", "none"),
            (label::ARCH, "Zone 1", "none"),
        ] {
            assert_eq!(ours(key, found), expected, "{key} {found}");
        }
    }

    #[test]
    fn what_cloudstacks_controller_wrote_on_a_node_means_what_we_wrote() {
        let aliases = aliases();
        let means = |found, ours| aliases.means(label::INSTANCE_TYPE, found, ours);
        assert!(means("MediumInstance", "Medium-Instance"));
        assert!(means("custom", "custom-4c-8g") && means("custom", "custom-2c-4g"));
        assert!(means("m1large", "m1.large") && means("m1large", "m1-large"));
        assert!(means("gone", "gone"));
        assert!(!means("MediumInstance", "m1.large") && !means("", "m1.large"));
    }

    #[test]
    fn names_are_kept_as_they_are_in_annotations() {
        let kept = raw_names([(ZONE_NAME, "Zone 1")]);
        let expected = ("karpenter.k8s.cloudstack/zone-name-raw".to_owned(), "Zone 1".to_owned());
        assert_eq!(kept, [expected].into());
    }

    /// Defect 28 of upstream: pods cannot select on its labels.
    #[test]
    fn our_labels_may_be_selected_on_and_no_others_of_the_domain() {
        let well_known = well_known();
        for key in WELL_KNOWN_LABELS {
            assert!(!well_known.is_restricted(key), "{key}");
        }
        assert!(well_known.is_restricted("karpenter.k8s.cloudstack/anything"));
    }
}
