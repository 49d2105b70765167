//! KWOK's instances: nodes that exist in the API only.
//!
//! [`instance_types`] is the list that Karpenter's KWOK provider is built with. [`catalog_file`]
//! reads lists of instance types from files, also in KWOK's own form.
//!
//! [`Kwok`] makes the instances: its cloud is the API server itself, so this is the one provider that
//! talks to Kubernetes.

#![cfg_attr(
    test,
    expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so"),
    expect(clippy::needless_pass_by_value, reason = "expectations are made for one call")
)]

pub mod catalog_file;
mod kwok_form;
mod provider;
pub mod settings;
mod types;

use std::sync::Arc;

use joiner_core::{
    instance_type::{Catalog, InstanceType, Offering},
    label::{self, WellKnown},
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};

use crate::kwok_form::KwokType;
pub use crate::{
    provider::{Kwok, NODE_CLASS},
    types::KwokTypes,
};

/// API group of KWOK's `NodeClass`.
pub const NODE_CLASS_GROUP: &str = "karpenter.kwok.sh";
/// Kind of KWOK's `NodeClass`.
pub const NODE_CLASS_KIND: &str = "KWOKNodeClass";

/// Label: the size in the type's name, or its CPUs.
pub const INSTANCE_SIZE: &str = "karpenter.kwok.sh/instance-size";
/// Label: the family in the type's name.
pub const INSTANCE_FAMILY: &str = "karpenter.kwok.sh/instance-family";
/// Label: CPUs.
pub const INSTANCE_CPU: &str = "karpenter.kwok.sh/instance-cpu";
/// Label: memory, as a quantity such as `2Gi`.
pub const INSTANCE_MEMORY: &str = "karpenter.kwok.sh/instance-memory";

/// The labels that KWOK fills in besides Karpenter's own.
pub const WELL_KNOWN_LABELS: [&str; 4] =
    [INSTANCE_SIZE, INSTANCE_FAMILY, INSTANCE_CPU, INSTANCE_MEMORY];

/// CPUs of the built-in types.
const CPUS: [i64; 12] = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256];
/// Families of the built-in types, by GiB of memory for each CPU.
const FAMILIES: [(&str, i64); 3] = [("c", 2), ("s", 4), ("m", 8)];
/// Zones of the built-in types.
const ZONES: [&str; 4] = ["test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"];
/// The price of a spot instance as a share of the on-demand price.
const SPOT_SHARE: f64 = 0.7;
/// Pods a built-in type takes for each CPU, up to [`PODS_MAX`].
const PODS_PER_CPU: i64 = 16;
/// Pods a built-in type takes at most.
const PODS_MAX: i64 = 1024;

const GIB: i64 = 1 << 30;

/// The 144 types that Karpenter's KWOK provider is built with, in its order.
pub fn instance_types() -> Vec<InstanceType> {
    let mut types = Vec::new();
    for cpus in CPUS {
        for (family, gib_per_cpu) in FAMILIES {
            for os in ["linux", "windows"] {
                for arch in ["amd64", "arm64"] {
                    types.push(built_in(family, cpus, cpus * gib_per_cpu, arch, os));
                }
            }
        }
    }
    types
}

/// The built-in types for each of `pools`.
pub fn catalog<P: AsRef<str>>(pools: impl IntoIterator<Item = P>) -> Catalog {
    let types: Arc<[Arc<InstanceType>]> = instance_types().into_iter().map(Arc::new).collect();
    Catalog {
        by_pool: pools
            .into_iter()
            .map(|pool| (pool.as_ref().to_owned(), Arc::clone(&types)))
            .collect(),
        well_known: WellKnown::with(WELL_KNOWN_LABELS.map(str::to_owned))
            .restricting([NODE_CLASS_GROUP.to_owned()]),
        ..Catalog::default()
    }
}

/// Types whose prices in Karpenter's list are less rounded than those of their likes, and so a last
/// digit lower. It decides which of them is the cheapest.
const LESS_ROUNDED: [&str; 2] = ["c-48x-arm64-windows", "c-192x-arm64-linux"];

fn built_in(family: &str, cpus: i64, gib: i64, arch: &str, os: &str) -> InstanceType {
    let name = format!("{family}-{cpus}x-{arch}-{os}");
    let for_memory = 0.001 * (gib * GIB) as f64 / 1e9;
    let price = if LESS_ROUNDED.contains(&name.as_str()) {
        f64::mul_add(0.025, cpus as f64, for_memory)
    } else {
        0.025 * cpus as f64 + for_memory
    };
    let offering = |zone: &str, capacity_type: &str, price| {
        let mut requirements = Requirements::new();
        requirements.add(label::CAPACITY_TYPE, Requirement::one_of([capacity_type]));
        requirements.add(label::ZONE, Requirement::one_of([zone]));
        Offering { requirements, price, ..Offering::default() }
    };
    let offerings = ZONES
        .iter()
        .flat_map(|zone| {
            [
                offering(zone, label::CAPACITY_TYPE_SPOT, price * SPOT_SHARE),
                offering(zone, label::CAPACITY_TYPE_ON_DEMAND, price),
            ]
        })
        .collect();
    KwokType {
        name,
        architecture: arch.to_owned(),
        operating_systems: vec![os.to_owned()],
        resources: Resources::from_iter([
            (CPU, Quantity::whole(cpus)),
            (MEMORY, Quantity::bytes(gib * GIB)),
            (PODS, Quantity::whole((PODS_PER_CPU * cpus).min(PODS_MAX))),
            (EPHEMERAL_STORAGE, Quantity::bytes(20 * GIB)),
        ]),
        zones: ZONES.map(str::to_owned).to_vec(),
        capacity_types: vec![
            label::CAPACITY_TYPE_SPOT.to_owned(),
            label::CAPACITY_TYPE_ON_DEMAND.to_owned(),
        ],
        offerings,
    }
    .into_instance_type()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_144_types_in_the_generators_order() {
        let types = instance_types();
        assert_eq!(types.len(), 144);
        let names: Vec<&str> =
            types.iter().take(6).map(|instance_type| instance_type.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "c-1x-amd64-linux",
                "c-1x-arm64-linux",
                "c-1x-amd64-windows",
                "c-1x-arm64-windows",
                "s-1x-amd64-linux",
                "s-1x-arm64-linux"
            ]
        );
        assert_eq!(types.last().unwrap().name, "m-256x-arm64-windows");
    }

    #[test]
    fn a_type_has_karpenters_prices_labels_and_room() {
        let types = instance_types();
        let find =
            |name: &str| types.iter().find(|instance_type| instance_type.name == name).unwrap();
        let smallest = find("c-1x-amd64-linux");
        let prices: Vec<f64> = smallest.offerings.iter().map(|offering| offering.price).collect();
        assert_eq!(prices[..2], [0.019_003_238_553_599_998, 0.027_147_483_648]);
        assert_eq!(prices.len(), 8);
        assert_eq!(
            smallest.offerings[0].requirements.to_string(),
            "karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [test-zone-a]"
        );
        let labels = smallest.requirements.to_string().replace(", ", "\n");
        expect_test::expect![[r#"
            karpenter.kwok.sh/instance-cpu In [1]
            karpenter.kwok.sh/instance-family In [c]
            karpenter.kwok.sh/instance-memory In [2Gi]
            karpenter.kwok.sh/instance-size In [1]
            karpenter.sh/capacity-type In [on-demand spot]
            kubernetes.io/arch In [amd64]
            kubernetes.io/os In [linux]
            node.kubernetes.io/instance-type In [c-1x-amd64-linux]
            topology.kubernetes.io/zone In [test-zone-a test-zone-b test-zone-c test-zone-d]"#]]
        .assert_eq(&labels);
        assert_eq!(
            smallest.allocatable(&smallest.offerings[0]).to_string(),
            "cpu 900m, ephemeral-storage 20Gi, memory 2038Mi, pods 16"
        );

        let on_demand = |name: &str| find(name).offerings[1].price.to_string();
        assert_eq!(on_demand("c-48x-arm64-linux"), "1.3030792151040003");
        assert_eq!(on_demand("c-48x-arm64-windows"), "1.303079215104");
        assert_eq!(on_demand("c-192x-arm64-linux"), "5.212316860416");

        let largest = find("m-256x-arm64-windows");
        assert_eq!(on_demand("m-256x-arm64-windows"), "8.599023255552");
        assert_eq!(
            largest.capacity.to_string(),
            "cpu 256, ephemeral-storage 20Gi, memory 2Ti, pods 1024"
        );
    }

    #[test]
    fn every_pool_shares_the_types_and_kwoks_labels_are_well_known() {
        let catalog = catalog(["a", "b"]);
        assert!(Arc::ptr_eq(&catalog.by_pool["a"], &catalog.by_pool["b"]));
        assert!(catalog.well_known.contains(INSTANCE_FAMILY));
        assert!(!catalog.well_known.is_restricted("karpenter.kwok.sh/instance-cpu"));
        assert!(catalog.well_known.is_restricted("karpenter.kwok.sh/another"));
    }
}
