//! Why an instance differs from its class.

use joiner_core::label::Labels;
use joiner_vim::MoRef;

use crate::{HASH, HASH_VERSION, HASH_VERSION_KEY, instances::Hardware};

/// An instance without our schema may come from the predecessor. It gave up to this much more memory
/// than requested, in percent.
const PREDECESSORS_EXCESS: u64 = 5;

/// The state and the place of an instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Actual<'m> {
    /// The class's hash when the instance was made.
    pub(crate) annotations: Option<&'m Labels>,
    /// The template it was cloned from; empty where it is unknown.
    pub(crate) image: &'m str,
    /// Whether this program made it.
    pub(crate) made_here: bool,
    pub(crate) cpus: Option<u32>,
    pub(crate) memory_mib: Option<u64>,
    /// Whether its mark names a zone.
    pub(crate) has_zone: bool,
    /// The cluster that it runs in; none where it is unknown.
    pub(crate) cluster: Option<MoRef>,
    /// The datastores that it has files in.
    pub(crate) datastores: Vec<MoRef>,
    /// The networks that it is connected to.
    pub(crate) networks: Vec<MoRef>,
}

/// The desired state of the class.
#[derive(Debug, Clone)]
pub(crate) struct Desired<'c> {
    /// Its fingerprint.
    pub(crate) hash: &'c str,
    /// The template that it resolves to.
    pub(crate) image: &'c str,
    /// The hardware of the instance's type; none when the class no longer has the type.
    pub(crate) hardware: Option<Hardware>,
    /// Where instances of this zone go; none when the class no longer has the zone.
    pub(crate) place: Option<DesiredPlace>,
}

/// Where instances of a zone go.
#[derive(Debug, Clone)]
pub(crate) struct DesiredPlace {
    pub(crate) cluster: MoRef,
    /// Every matching datastore, and the other datastores in their datastore clusters.
    pub(crate) datastores: Vec<MoRef>,
    /// The network of each adapter.
    pub(crate) networks: Vec<MoRef>,
}

/// Why an instance differs from its class, in one word; none where it is equal. Unknown values never
/// count as different.
pub(crate) fn drift(actual: &Actual<'_>, desired: &Desired<'_>) -> Option<&'static str> {
    let annotation = |key: &str| actual.annotations.and_then(|own| own.get(key));
    let same_way = annotation(HASH_VERSION_KEY).is_some_and(|version| version == HASH_VERSION);
    if same_way && annotation(HASH).is_some_and(|hash| hash != desired.hash) {
        return Some("NodeClassDrift");
    }
    if !actual.image.is_empty() && !desired.image.is_empty() && actual.image != desired.image {
        return Some("ImageDrift");
    }
    if let Some(place) = &desired.place {
        // A move inside its cluster leaves the instance in place.
        if actual.cluster.as_ref().is_some_and(|cluster| *cluster != place.cluster) {
            return Some("ComputeDrift");
        }
        let elsewhere = |own: &MoRef| !place.datastores.contains(own);
        if !actual.datastores.is_empty() && actual.datastores.iter().all(elsewhere) {
            return Some("DatastoreDrift");
        }
        let is_in = |own: &MoRef| actual.networks.contains(own);
        if !actual.networks.is_empty() && !place.networks.iter().all(is_in) {
            return Some("NetworkDrift");
        }
    } else if actual.has_zone {
        return Some("ComputeDrift");
    }
    let hardware = desired.hardware?;
    let cpus_differ = actual.cpus.is_some_and(|cpus| cpus != hardware.cpus);
    (cpus_differ || memory_differs(actual, hardware.memory_mib)).then_some("InstanceTypeDrift")
}

fn memory_differs(actual: &Actual<'_>, wanted: u64) -> bool {
    let excess = if actual.made_here { 0 } else { wanted * PREDECESSORS_EXCESS / 100 };
    actual.memory_mib.is_some_and(|own| !(wanted..=wanted + excess).contains(&own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(id: &str) -> MoRef {
        MoRef::new("ManagedObject", id)
    }

    fn annotations(hash: &str, version: &str) -> Labels {
        [(HASH, hash), (HASH_VERSION_KEY, version)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    fn as_wanted() -> Actual<'static> {
        Actual {
            annotations: None,
            image: "template-1",
            made_here: true,
            cpus: Some(4),
            memory_mib: Some(16384),
            has_zone: true,
            cluster: Some(reference("c1")),
            datastores: vec![reference("ds1")],
            networks: vec![reference("net1")],
        }
    }

    fn check(change: impl FnOnce(&mut Actual<'_>), expected: Option<&str>) {
        let mut actual = as_wanted();
        change(&mut actual);
        assert_eq!(drift(&actual, &desired()), expected);
    }

    fn desired() -> Desired<'static> {
        let hardware = Hardware { cpus: 4, memory_mib: 16384, disk_gib: 0, cores_per_socket: None };
        let place = DesiredPlace {
            cluster: reference("c1"),
            datastores: vec![reference("ds1"), reference("ds2")],
            networks: vec![reference("net1")],
        };
        Desired { hash: "7", image: "template-1", hardware: Some(hardware), place: Some(place) }
    }

    #[test]
    fn an_instance_as_it_was_wanted_stays() {
        check(|_| {}, None);
    }

    #[test]
    fn another_fingerprint_of_the_class_is_drift() {
        let (same, other) = (annotations("7", "v2"), annotations("8", "v2"));
        let mut actual = as_wanted();
        actual.annotations = Some(&same);
        assert_eq!(drift(&actual, &desired()), None);
        actual.annotations = Some(&other);
        assert_eq!(drift(&actual, &desired()), Some("NodeClassDrift"));
    }

    #[test]
    fn a_fingerprint_of_the_predecessor_says_nothing() {
        let of_predecessor = annotations("8", "v1");
        let mut actual = as_wanted();
        actual.annotations = Some(&of_predecessor);
        assert_eq!(drift(&actual, &desired()), None);
    }

    #[test]
    fn another_template_is_drift_and_an_unknown_one_is_not() {
        check(|actual| actual.image = "template-0", Some("ImageDrift"));
        check(|actual| actual.image = "", None);
    }

    #[test]
    fn another_cluster_is_drift_and_another_host_is_not() {
        check(|actual| actual.cluster = Some(reference("c2")), Some("ComputeDrift"));
        check(|actual| actual.cluster = None, None);
    }

    #[test]
    fn a_zone_that_the_class_has_no_more_is_drift() {
        let desired = Desired { place: None, ..desired() };
        assert_eq!(drift(&as_wanted(), &desired), Some("ComputeDrift"));
        let of_predecessor = Actual { has_zone: false, ..as_wanted() };
        assert_eq!(drift(&of_predecessor, &desired), None);
    }

    #[test]
    fn another_datastore_of_the_class_is_no_drift() {
        check(|actual| actual.datastores = vec![reference("ds2")], None);
        check(|actual| actual.datastores = vec![reference("ds9")], Some("DatastoreDrift"));
        check(|actual| actual.datastores.push(reference("of-a-volume")), None);
    }

    #[test]
    fn another_network_is_drift() {
        check(|actual| actual.networks = vec![reference("net9")], Some("NetworkDrift"));
        check(|actual| actual.networks.push(reference("net9")), None);
    }

    #[test]
    fn an_instance_has_to_be_in_the_network_of_every_adapter() {
        let mut desired = desired();
        let place = desired.place.as_mut().unwrap();
        place.networks.push(reference("net2"));
        assert_eq!(drift(&as_wanted(), &desired), Some("NetworkDrift"));
        let both = Actual { networks: vec![reference("net1"), reference("net2")], ..as_wanted() };
        assert_eq!(drift(&both, &desired), None);
    }

    #[test]
    fn other_hardware_is_drift_but_for_the_predecessors_generous_memory() {
        check(|actual| actual.cpus = Some(8), Some("InstanceTypeDrift"));
        check(|actual| actual.memory_mib = Some(17180), Some("InstanceTypeDrift"));
        check(
            |actual| {
                actual.memory_mib = Some(17180);
                actual.made_here = false;
            },
            None,
        );
        check(
            |actual| {
                actual.memory_mib = Some(8192);
                actual.made_here = false;
            },
            Some("InstanceTypeDrift"),
        );
    }

    #[test]
    fn a_type_that_the_class_has_no_more_is_no_drift() {
        let desired = Desired { hardware: None, ..desired() };
        assert_eq!(drift(&as_wanted(), &desired), None);
    }
}
