//! Instance types: the sizes that a provider offers, with their offerings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    evenness::ZoneRoom,
    label::{self, WellKnown},
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{HUGE_PAGES_PREFIX, MEMORY, Resources},
};

/// An instance type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstanceType {
    /// The value of the instance type label.
    pub name: String,
    /// The labels such an instance can have.
    pub requirements: Requirements,
    /// The total capacity.
    pub capacity: Resources,
    /// The capacity that is reserved for the system.
    pub overhead: Overhead,
    /// Its zones, capacity types and prices.
    pub offerings: Vec<Offering>,
    /// How many volumes of each CSI driver can be attached. A missing driver has no limit.
    pub volume_limits: BTreeMap<String, u32>,
    /// Whether a `NodeOverlay` changed a price.
    pub price_overlaid: bool,
    /// Whether a `NodeOverlay` changed the capacity.
    pub capacity_overlaid: bool,
}

/// The capacity that is reserved for the system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overhead {
    /// For the kubelet and the container runtime.
    pub kube_reserved: Resources,
    /// For the operating system.
    pub system_reserved: Resources,
    /// The kubelet's eviction threshold.
    pub eviction_threshold: Resources,
}

impl Overhead {
    /// The sum of all parts.
    pub fn total(&self) -> Resources {
        self.kube_reserved.plus(&self.system_reserved).plus(&self.eviction_threshold)
    }
}

/// One combination of zone, capacity type and price.
#[derive(Debug, Clone, PartialEq)]
pub struct Offering {
    /// Zone, capacity type, and other labels that distinguish offerings.
    pub requirements: Requirements,
    /// Per hour, in any unit. Only comparisons matter.
    pub price: f64,
    /// Whether it is available now.
    pub available: bool,
    /// How many instances of this reservation are left.
    pub reservation_capacity: u32,
    /// Replaces the type's capacity, resource by resource.
    pub capacity: Resources,
    /// Replaces the sum of the type's overhead, resource by resource.
    pub overhead: Resources,
}

impl Default for Offering {
    fn default() -> Self {
        Self {
            requirements: Requirements::new(),
            price: 0.0,
            available: true,
            reservation_capacity: 0,
            capacity: Resources::new(),
            overhead: Resources::new(),
        }
    }
}

impl Offering {
    /// Whether this is reserved capacity.
    pub fn is_reserved(&self) -> bool {
        self.requirements.get(label::CAPACITY_TYPE).and_then(|required| required.single())
            == Some(label::CAPACITY_TYPE_RESERVED)
    }

    /// Whether a claim with `requirements` could be launched with this offering.
    pub fn serves(&self, requirements: &Requirements, well_known: &WellKnown) -> bool {
        requirements.is_compatible(&self.requirements, Some(well_known))
    }
}

impl InstanceType {
    /// The capacity for pods of an instance launched with `offering`.
    ///
    /// COMPAT: upstream documents that an offering's amounts replace the type's, but adds them. Here they replace
    /// them.
    pub fn allocatable(&self, offering: &Offering) -> Resources {
        let capacity = self.capacity.overlaid(&offering.capacity);
        let overhead = self.overhead.total().overlaid(&offering.overhead);
        allocatable(&capacity, &overhead)
    }

    /// The total capacity of an instance launched with `offering`.
    pub fn offered_capacity(&self, offering: &Offering) -> Resources {
        self.capacity.overlaid(&offering.capacity)
    }

    /// Available offerings that satisfy `requirements`.
    pub fn compatible_offerings<'t>(
        &'t self,
        requirements: &'t Requirements,
        well_known: &'t WellKnown,
    ) -> impl Iterator<Item = &'t Offering> {
        self.offerings
            .iter()
            .filter(|offering| offering.available && offering.serves(requirements, well_known))
    }

    /// The price of the cheapest available offering that satisfies `requirements`.
    pub fn cheapest(&self, requirements: &Requirements, well_known: &WellKnown) -> Option<f64> {
        self.compatible_offerings(requirements, well_known)
            .map(|offering| offering.price)
            .min_by(f64::total_cmp)
    }
}

/// Capacity minus overhead. Huge pages are subtracted from memory.
pub fn allocatable(capacity: &Resources, overhead: &Resources) -> Resources {
    let mut allocatable = capacity.minus(overhead);
    for (name, pages) in capacity.iter() {
        if name.starts_with(HUGE_PAGES_PREFIX) {
            let memory = allocatable.get(MEMORY) - pages;
            allocatable.set(MEMORY, memory.max(Quantity::ZERO));
        }
    }
    allocatable
}

/// How many of `types`, taken in order, satisfy every `minValues` of `requirements`. If all of them together do
/// not, the error has the number of values of each label with too few.
///
/// Each type counts with all its values, including those that `requirements` exclude. As in Karpenter, an empty
/// list satisfies everything, so callers that need a type must check for one.
///
/// COMPAT: upstream counts the values that a type excludes as if it had them.
pub fn satisfies_min_values<'t>(
    types: impl IntoIterator<Item = &'t InstanceType>,
    requirements: &Requirements,
) -> Result<usize, BTreeMap<String, u32>> {
    let mut unmet: BTreeMap<&str, (u32, BTreeSet<&str>)> = requirements
        .iter()
        .filter_map(|(key, requirement)| Some((key, (requirement.min_values()?, BTreeSet::new()))))
        .collect();
    let mut taken = 0;
    for instance_type in types {
        if unmet.is_empty() {
            break;
        }
        taken += 1;
        unmet.retain(|key, (min_values, seen)| {
            let listed =
                instance_type.requirements.get(key).filter(|values| !values.is_complement());
            seen.extend(listed.into_iter().flat_map(Requirement::values).map(String::as_str));
            seen.len() < *min_values as usize
        });
    }
    if unmet.is_empty() || taken == 0 {
        return Ok(taken);
    }
    Err(unmet.into_iter().map(|(key, (_, seen))| (key.to_owned(), seen.len() as u32)).collect())
}

/// The instance types of every pool, and the labels that providers set.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The types of each pool. A missing pool has none.
    pub by_pool: BTreeMap<String, Arc<[Arc<InstanceType>]>>,
    /// The free capacity of each pool's zones, if its cloud reports it. It only decides between zones that are
    /// otherwise equal.
    pub room: BTreeMap<String, ZoneRoom>,
    /// The labels that providers set.
    pub well_known: WellKnown,
    /// The label that identifies reservations.
    pub reservation_id_label: Option<String>,
}

impl Catalog {
    /// The types of a pool.
    pub fn types(&self, pool: &str) -> &[Arc<InstanceType>] {
        self.by_pool.get(pool).map_or(&[], |types| types)
    }

    /// Merges the catalogs of several providers.
    ///
    /// A label that one provider sets then becomes well-known for every pool, so any claim may leave it open. So
    /// the types of the other providers exclude it. Otherwise a pod that requires the label could get an instance
    /// without it.
    pub fn merged(parts: &[Self]) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.well_known = all.well_known.and(&part.well_known);
            if all.reservation_id_label.is_none() {
                all.reservation_id_label.clone_from(&part.reservation_id_label);
            }
        }
        for part in parts {
            let foreign: Vec<&str> =
                all.well_known.iter().filter(|key| !part.well_known.contains(key)).collect();
            // Pools with shared types share them afterwards too.
            let mut without_foreign = BTreeMap::new();
            for (pool, types) in &part.by_pool {
                let types = without_foreign
                    .entry(types.as_ptr())
                    .or_insert_with(|| without(types, &foreign));
                all.by_pool.insert(pool.clone(), Arc::clone(types));
            }
            all.room.extend(part.room.clone());
        }
        all
    }
}

/// The same types, which exclude the labels `keys` unless they define them.
fn without(types: &Arc<[Arc<InstanceType>]>, keys: &[&str]) -> Arc<[Arc<InstanceType>]> {
    if keys.is_empty() {
        return Arc::clone(types);
    }
    let deny = |instance_type: &Arc<InstanceType>| {
        let mut instance_type = InstanceType::clone(instance_type);
        for key in keys {
            if instance_type.requirements.get(key).is_none() {
                instance_type.requirements.set(key, Requirement::DOES_NOT_EXIST);
            }
        }
        Arc::new(instance_type)
    };
    types.iter().map(deny).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Operator, RequirementSpec};

    fn resources(list: &[(&str, &str)]) -> Resources {
        list.iter().map(|&(name, quantity)| (name, quantity.parse().unwrap())).collect()
    }

    fn specs(list: &[(&str, Operator, &[&str])]) -> Requirements {
        let specs = list.iter().map(|&(key, operator, values)| {
            RequirementSpec::new(key, operator, values.iter().copied())
        });
        Requirements::from_specs(&specs.collect::<Vec<_>>())
    }

    fn with_overhead(capacity: &[(&str, &str)], overhead: &[(&str, &str)]) -> InstanceType {
        InstanceType {
            capacity: resources(capacity),
            overhead: Overhead { kube_reserved: resources(overhead), ..Overhead::default() },
            ..InstanceType::default()
        }
    }

    #[test]
    fn allocatable_is_capacity_less_all_overhead() {
        let instance = InstanceType {
            capacity: resources(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "110")]),
            overhead: Overhead {
                kube_reserved: resources(&[("cpu", "100m"), ("memory", "1Gi")]),
                system_reserved: resources(&[("cpu", "100m"), ("ephemeral-storage", "1Gi")]),
                eviction_threshold: resources(&[("memory", "100Mi")]),
            },
            ..InstanceType::default()
        };
        assert_eq!(
            instance.allocatable(&Offering::default()).to_string(),
            "cpu 3800m, memory 7068Mi, pods 110"
        );
        assert_eq!(instance.offered_capacity(&Offering::default()), instance.capacity);
    }

    #[test]
    fn overhead_may_exceed_capacity() {
        let instance = with_overhead(&[("cpu", "1"), ("memory", "1Gi")], &[("memory", "2Gi")]);
        let room = instance.allocatable(&Offering::default());
        assert_eq!(room.to_string(), "cpu 1, memory -1Gi");
        assert!(!resources(&[("cpu", "1")]).fits(&room));
    }

    #[test]
    fn huge_pages_come_out_of_memory() {
        for (capacity, overhead, expected) in [
            (
                &[("hugepages-1Gi", "2Gi"), ("hugepages-2Mi", "512Mi"), ("memory", "8Gi")][..],
                &[("memory", "1Gi")][..],
                "hugepages-1Gi 2Gi, hugepages-2Mi 512Mi, memory 4608Mi",
            ),
            (&[("hugepages-2Mi", "0"), ("memory", "8Gi")], &[], "hugepages-2Mi 0, memory 8Gi"),
            // Never below zero.
            (
                &[("hugepages-1Gi", "8Gi"), ("memory", "8Gi")],
                &[("memory", "1Gi")],
                "hugepages-1Gi 8Gi, memory 0",
            ),
            (
                &[("hugepages-2Mi", "0"), ("memory", "1Gi")],
                &[("memory", "2Gi")],
                "hugepages-2Mi 0, memory 0",
            ),
        ] {
            let instance = with_overhead(capacity, overhead);
            assert_eq!(instance.allocatable(&Offering::default()).to_string(), expected);
        }
    }

    #[test]
    fn an_offering_replaces_amounts_resource_by_resource() {
        let instance = with_overhead(
            &[("cpu", "4"), ("memory", "16Gi")],
            &[("cpu", "100m"), ("memory", "1Gi")],
        );
        let offering = Offering {
            capacity: resources(&[("memory", "12Gi"), ("example.com/slots", "12")]),
            overhead: resources(&[("memory", "3Gi"), ("example.com/slots", "2")]),
            ..Offering::default()
        };
        assert_eq!(
            instance.offered_capacity(&offering).to_string(),
            "cpu 4, example.com/slots 12, memory 12Gi"
        );
        // COMPAT: Karpenter adds, and would say memory 24Gi.
        assert_eq!(
            instance.allocatable(&offering).to_string(),
            "cpu 3900m, example.com/slots 10, memory 9Gi"
        );
        let huge =
            Offering { capacity: resources(&[("hugepages-1Gi", "4Gi")]), ..Offering::default() };
        assert_eq!(
            instance.allocatable(&huge).to_string(),
            "cpu 3900m, hugepages-1Gi 4Gi, memory 11Gi"
        );
    }

    #[test]
    fn the_cheapest_offering_is_available_and_serves() {
        let offering = |zone: &str, price, available| Offering {
            requirements: specs(&[
                (label::ZONE, Operator::In, &[zone]),
                (label::CAPACITY_TYPE, Operator::In, &["on-demand"]),
            ]),
            price,
            available,
            ..Offering::default()
        };
        let instance = InstanceType {
            offerings: vec![
                offering("a", 3.0, true),
                offering("b", 2.0, true),
                offering("c", 1.0, false),
            ],
            ..InstanceType::default()
        };
        let well_known = WellKnown::default();
        let cheapest = |zones: &[&str]| {
            instance.cheapest(&specs(&[(label::ZONE, Operator::In, zones)]), &well_known)
        };
        assert_eq!(instance.cheapest(&Requirements::new(), &well_known), Some(2.0));
        assert_eq!(cheapest(&["a"]), Some(3.0));
        assert_eq!(cheapest(&["a", "b", "c"]), Some(2.0));
        assert_eq!(cheapest(&["c"]), None);
        assert_eq!(cheapest(&["d"]), None);
    }

    #[test]
    fn an_offering_may_insist_only_on_labels_that_are_known() {
        let reserved = Offering {
            requirements: specs(&[
                (label::CAPACITY_TYPE, Operator::In, &["reserved"]),
                ("example.com/reservation", Operator::In, &["r1"]),
            ]),
            ..Offering::default()
        };
        assert!(reserved.is_reserved());
        assert!(!Offering::default().is_reserved());
        let open = WellKnown::with(["example.com/reservation".to_owned()]);
        assert!(reserved.serves(&Requirements::new(), &open));
        assert!(!reserved.serves(&Requirements::new(), &WellKnown::default()));
        let on_demand = specs(&[(label::CAPACITY_TYPE, Operator::In, &["on-demand"])]);
        assert!(!reserved.serves(&on_demand, &open));
    }

    fn shape(name: &str, family: (Operator, &[&str])) -> InstanceType {
        InstanceType {
            name: name.to_owned(),
            requirements: specs(&[
                (label::INSTANCE_TYPE, Operator::In, &[name]),
                ("family", family.0, family.1),
            ]),
            ..InstanceType::default()
        }
    }

    fn at_least(minimums: &[(&str, u32)]) -> Requirements {
        let mut all = Requirements::new();
        for &(key, min_values) in minimums {
            all.add(key, Requirement::EXISTS.with_min_values(Some(min_values)));
        }
        all
    }

    #[test]
    fn min_values_take_the_shortest_prefix() {
        let types = [
            shape("c4.large", (Operator::In, &["c4"])),
            shape("c4.xlarge", (Operator::In, &["c4"])),
            shape("c5.large", (Operator::In, &["c5"])),
            shape("m4.large", (Operator::In, &["m4"])),
        ];
        for (minimums, expected) in [
            (&[][..], Ok(0)),
            (&[("family", 0)], Ok(1)),
            (&[("family", 1)], Ok(1)),
            (&[("family", 2)], Ok(3)),
            (&[(label::INSTANCE_TYPE, 2)], Ok(2)),
            (&[(label::INSTANCE_TYPE, 2), ("family", 3)], Ok(4)),
            (&[(label::INSTANCE_TYPE, 4), ("family", 1)], Ok(4)),
            (&[("family", 4)], Err(vec![("family", 3)])),
            (&[(label::INSTANCE_TYPE, 4), ("family", 9)], Err(vec![("family", 3)])),
            (
                &[(label::INSTANCE_TYPE, 5), ("family", 9)],
                Err(vec![("family", 3), (label::INSTANCE_TYPE, 4)]),
            ),
            (&[("unheard-of", 1)], Err(vec![("unheard-of", 0)])),
        ] {
            let expected = expected.map_err(|achieved| {
                achieved.into_iter().map(|(key, count)| (key.to_owned(), count)).collect()
            });
            assert_eq!(satisfies_min_values(&types, &at_least(minimums)), expected, "{minimums:?}");
        }
    }

    #[test]
    fn min_values_of_no_types_are_met() {
        assert_eq!(satisfies_min_values([], &at_least(&[("family", 2)])), Ok(0));
    }

    #[test]
    fn compat_excluded_values_do_not_count_for_min_values() {
        // Karpenter counts c4 and c5 here, and is content.
        let types = [shape("any", (Operator::NotIn, &["c4", "c5"]))];
        assert_eq!(
            satisfies_min_values(&types, &at_least(&[("family", 2)])),
            Err(BTreeMap::from([("family".to_owned(), 0)]))
        );
    }

    #[test]
    fn min_values_count_all_values_of_a_type() {
        let types = [shape("any", (Operator::In, &["c4", "c5", "m4"]))];
        let mut pinned = at_least(&[("family", 3)]);
        pinned.add("family", Requirement::one_of(["c4"]));
        assert_eq!(satisfies_min_values(&types, &pinned), Ok(1));
    }

    #[test]
    fn what_one_provider_fills_in_the_types_of_another_do_not_have() {
        let part = |pools: &[&str], name: &str, key: &str| {
            let types: Arc<[_]> = Arc::from([Arc::new(InstanceType {
                name: name.to_owned(),
                requirements: specs(&[(key, Operator::In, &["x"])]),
                ..InstanceType::default()
            })]);
            let by_pool = pools.iter().map(|&pool| (pool.to_owned(), Arc::clone(&types))).collect();
            let well_known = WellKnown::with([key.to_owned()]).restricting([format!("{name}.io")]);
            let reservation_id_label = Some(format!("{name}.io/id"));
            Catalog { by_pool, well_known, reservation_id_label, ..Catalog::default() }
        };
        let [a, b] = [part(&["p", "q"], "a", "a.io/size"), part(&["r"], "b", "b.io/size")];

        let alone = Catalog::merged(std::slice::from_ref(&a));
        assert!(Arc::ptr_eq(&alone.by_pool["p"], &a.by_pool["p"]));
        assert_eq!(alone.well_known, a.well_known);

        let both = Catalog::merged(&[a, b]);
        let labels = |pool: &str| both.types(pool)[0].requirements.to_string();
        assert_eq!(labels("p"), "a.io/size In [x], b.io/size DoesNotExist");
        assert_eq!(labels("r"), "a.io/size DoesNotExist, b.io/size In [x]");
        assert!(Arc::ptr_eq(&both.by_pool["p"], &both.by_pool["q"]));
        assert!(both.well_known.contains("b.io/size") && both.well_known.is_restricted("a.io/z"));
        assert_eq!(both.reservation_id_label.as_deref(), Some("a.io/id"));
    }
}
