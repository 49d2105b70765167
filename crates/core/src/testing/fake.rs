//! The instance types of Karpenter's own tests and benchmarks (its fake provider), so that numbers
//! can be compared.

use super::{
    GPU_VENDOR_A, GPU_VENDOR_B, instance_type::type_requirements, offering, quantity, resources,
};
use crate::{
    instance_type::{InstanceType, Offering, Overhead},
    label::{CAPACITY_TYPE_ON_DEMAND, CAPACITY_TYPE_SPOT},
    requirement::Requirement,
    resources::{CPU, MEMORY, PODS, Resources},
};

/// The default offerings of a fake type. The third zone has no spot capacity.
const OFFERED: [(&str, &str); 5] = [
    ("test-zone-1", CAPACITY_TYPE_SPOT),
    ("test-zone-2", CAPACITY_TYPE_SPOT),
    ("test-zone-1", CAPACITY_TYPE_ON_DEMAND),
    ("test-zone-2", CAPACITY_TYPE_ON_DEMAND),
    ("test-zone-3", CAPACITY_TYPE_ON_DEMAND),
];

/// The default operating systems of a fake type.
const SYSTEMS: [&str; 3] = ["darwin", "linux", "windows"];

/// A type of Karpenter's fake provider, with the defaults 4 CPUs, 4Gi and 5 pods.
pub fn fake_instance_type(name: &str, given: &Resources) -> InstanceType {
    let capacity = with_defaults(given);
    let price = fake_price(&capacity);
    let offerings =
        OFFERED.map(|(zone, capacity_type)| offering(zone, capacity_type, price)).to_vec();
    assemble(name, "amd64", &SYSTEMS, capacity, offerings)
}

/// Karpenter's `InstanceTypes(n)`: `fake-it-0` with 1 CPU, 2Gi and 10 pods, and each further one larger by that
/// much.
pub fn fake_instance_types(count: usize) -> Vec<InstanceType> {
    (1..=count)
        .map(|number| {
            let (memory, pods) = (format!("{}Gi", 2 * number), (10 * number).to_string());
            let capacity =
                resources([(CPU, number.to_string().as_str()), (MEMORY, &memory), (PODS, &pods)]);
            fake_instance_type(&format!("fake-it-{}", number - 1), &capacity)
        })
        .collect()
}

/// Karpenter's `InstanceTypesAssorted()`: 1344 types with one offering each.
pub fn fake_instance_types_assorted() -> Vec<InstanceType> {
    let mut types = Vec::new();
    for cpu in [1, 2, 4, 8, 16, 32, 64] {
        for mem in [1, 2, 4, 8, 16, 32, 64, 128] {
            for zone in ["test-zone-1", "test-zone-2", "test-zone-3"] {
                for capacity_type in [CAPACITY_TYPE_SPOT, CAPACITY_TYPE_ON_DEMAND] {
                    for (system, arch) in [
                        ("linux", "amd64"),
                        ("linux", "arm64"),
                        ("windows", "amd64"),
                        ("windows", "arm64"),
                    ] {
                        let name =
                            format!("{cpu}-cpu-{mem}-mem-{arch}-{system}-{zone}-{capacity_type}");
                        let given = resources([
                            (CPU, cpu.to_string().as_str()),
                            (MEMORY, &format!("{mem}Gi")),
                        ]);
                        let capacity = with_defaults(&given);
                        let offerings = vec![offering(zone, capacity_type, fake_price(&capacity))];
                        types.push(assemble(&name, arch, &[system], capacity, offerings));
                    }
                }
            }
        }
    }
    types
}

/// The default types of Karpenter's fake provider.
pub fn fake_default_instance_types() -> Vec<InstanceType> {
    let arm = with_defaults(&resources([(CPU, "16"), (MEMORY, "128Gi")]));
    let price = fake_price(&arm);
    let offerings =
        OFFERED.map(|(zone, capacity_type)| offering(zone, capacity_type, price)).to_vec();
    vec![
        fake_instance_type("default-instance-type", &Resources::new()),
        fake_instance_type("small-instance-type", &resources([(CPU, "2"), (MEMORY, "2Gi")])),
        fake_instance_type("gpu-vendor-instance-type", &resources([(GPU_VENDOR_A, "2")])),
        fake_instance_type("gpu-vendor-b-instance-type", &resources([(GPU_VENDOR_B, "2")])),
        assemble(
            "arm-instance-type",
            "arm64",
            &["darwin", "ios", "linux", "windows"],
            arm,
            offerings,
        ),
        fake_instance_type("single-pod-instance-type", &resources([(PODS, "1")])),
    ]
}

fn with_defaults(given: &Resources) -> Resources {
    resources([(CPU, "4"), (MEMORY, "4Gi"), (PODS, "5")]).overlaid(given)
}

/// A tenth for each CPU and each decimal gigabyte, and 1 for having devices.
fn fake_price(capacity: &Resources) -> f64 {
    let devices =
        [GPU_VENDOR_A, GPU_VENDOR_B].iter().filter(|name| capacity.contains(name)).count();
    0.1 * capacity.get(CPU).as_f64() + 0.1 * capacity.get(MEMORY).as_f64() / 1e9 + devices as f64
}

fn assemble(
    name: &str,
    arch: &str,
    systems: &[&str],
    capacity: Resources,
    offerings: Vec<Offering>,
) -> InstanceType {
    let mut requirements = type_requirements(name, arch, systems, &offerings);
    let large = capacity.get(CPU) > quantity("4") && capacity.get(MEMORY) > quantity("8Gi");
    let special =
        if large { Requirement::one_of(["optional"]) } else { Requirement::DOES_NOT_EXIST };
    requirements.add("size", Requirement::one_of([if large { "large" } else { "small" }]));
    requirements.add("special", special);
    requirements
        .add("integer", Requirement::one_of([format!("{}", capacity.get(CPU).as_f64().ceil())]));
    InstanceType {
        name: name.to_owned(),
        requirements,
        capacity,
        overhead: Overhead {
            kube_reserved: resources([(CPU, "100m"), (MEMORY, "10Mi")]),
            ..Overhead::default()
        },
        offerings,
        ..InstanceType::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_of_types_has_karpenters_sizes_and_prices() {
        let types = fake_instance_types(400);
        assert_eq!(types.len(), 400);
        for (i, each) in types.iter().enumerate() {
            let size = (i + 1) as f64;
            assert_eq!(each.name, format!("fake-it-{i}"));
            assert_eq!(each.offerings.len(), 5);
            assert!((each.offerings[0].price - size * 0.314_748_364_8).abs() < 1e-9);
            let room = each.allocatable(&each.offerings[0]);
            assert_eq!(room.get(CPU), quantity(&format!("{}m", (i + 1) * 1000 - 100)));
            assert_eq!(room.get(MEMORY), quantity(&format!("{}Mi", (i + 1) * 2048 - 10)));
            assert_eq!(room.get(PODS), quantity(&((i + 1) * 10).to_string()));
        }
    }

    #[test]
    fn the_other_lists_have_karpenters_lengths() {
        assert_eq!(fake_instance_types_assorted().len(), 1344);
        assert_eq!(fake_default_instance_types().len(), 6);
    }
}
