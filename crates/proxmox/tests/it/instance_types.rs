//! The built-in list of types, the file that replaces it, and what is offered of them.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use joiner_core::{instance_type::InstanceType, label};
use joiner_proxmox::{
    INSTANCE_FAMILY, INSTANCE_IMAGE_ID, NodeClass, RESERVATION_ID,
    instance_types::{
        Generator, Offered, Settings, Type, Zone, built_in, catalog, instance_types, numbers, read,
        to_json, without_room,
    },
};
use serde_json::json;

/// A class that can be used in these zones.
fn class(selected: &[&str], spec: &serde_json::Value) -> NodeClass {
    let object = json!({"metadata": {"name": "general"}, "spec": spec,
        "status": {"selectedZones": selected}});
    NodeClass::read(&object).expect("the schema accepts it")
}

fn zones(names: &[(&str, &str)]) -> Vec<Zone> {
    names
        .iter()
        .map(|(region, zone)| Zone { region: (*region).to_owned(), zone: (*zone).to_owned() })
        .collect()
}

/// What the class has of these types where everything fits.
fn offered(types: &[Type], class: &NodeClass, settings: &Settings) -> Vec<InstanceType> {
    let all = zones(&[("r1", "pve-1"), ("r1", "pve-2"), ("r2", "pve-1")]);
    let offered =
        Offered { zones: &all, reserved: &BTreeMap::new(), measured_memory: &BTreeMap::new() };
    instance_types(types, class, &offered, |_, _| true, settings)
}

fn find<'t>(types: &'t [InstanceType], name: &str) -> &'t InstanceType {
    types.iter().find(|own| own.name == name).expect("it is in the list")
}

/// Where a type can be had, and for how much.
fn places(own: &InstanceType) -> String {
    let places = own.offerings.iter().map(|offering| {
        let of = |key| offering.requirements.get(key).and_then(|own| own.single()).unwrap_or("-");
        let available = if offering.available { "" } else { " not available" };
        format!(
            "{}/{} {} {}{available}",
            of(label::REGION),
            of(label::ZONE),
            of(label::CAPACITY_TYPE),
            offering.price
        )
    });
    places.collect::<Vec<_>>().join("\n")
}

#[test]
fn there_are_twenty_types() {
    let types = built_in();
    let names: Vec<&str> = types.iter().map(|own| own.name.as_str()).collect();
    expect!["c1.1VCPU-2GB t1.1VCPU-3GB s1.1VCPU-4GB m1.1VCPU-8GB c1.2VCPU-4GB t1.2VCPU-6GB s1.2VCPU-8GB m1.2VCPU-16GB c1.4VCPU-8GB t1.4VCPU-12GB s1.4VCPU-16GB m1.4VCPU-32GB c1.8VCPU-16GB t1.8VCPU-24GB s1.8VCPU-32GB m1.8VCPU-64GB c1.16VCPU-32GB t1.16VCPU-48GB s1.16VCPU-64GB m1.16VCPU-128GB"].assert_eq(&names.join(" "));
}

#[test]
fn a_type_has_what_the_predecessors_has() {
    let describe = |name: &str| {
        let types = built_in();
        let own = types.iter().find(|own| own.name == name).unwrap();
        format!("{}; less {}", own.capacity, own.overhead.total())
    };
    let expected: Expect = expect![[r#"
        cpu 1, ephemeral-storage 30Gi, memory 2Gi, pods 64; less cpu 30m, memory 548Mi
        cpu 2, ephemeral-storage 30Gi, memory 6Gi, pods 110; less cpu 60m, memory 548Mi
        cpu 4, ephemeral-storage 30Gi, memory 16Gi, pods 110; less cpu 110m, memory 548Mi
        cpu 16, ephemeral-storage 30Gi, memory 128Gi, pods 110; less cpu 110m, memory 548Mi"#]];
    expected.assert_eq(
        &["c1.1VCPU-2GB", "t1.2VCPU-6GB", "s1.4VCPU-16GB", "m1.16VCPU-128GB"]
            .map(describe)
            .join("\n"),
    );
}

#[test]
fn generated_types_are_a_file_that_can_be_read() {
    let generator = Generator {
        cpus: vec![1, 2],
        memory_factors: vec![2, 16, 5],
        storage_gib: 0,
        keeps_kubelet: false,
        keeps_system: true,
        keeps_eviction: false,
    };
    let types = generator.types();
    let json = to_json(&types[..2]);
    expect![[r#"
        [
          {
            "name": "c1.1VCPU-2GB",
            "capacity": {
              "cpu": "1",
              "memory": "2Gi",
              "pods": "64"
            },
            "capacitytype": "on-demand",
            "overhead": {
              "KubeReserved": null,
              "SystemReserved": {
                "cpu": "10m",
                "memory": "64Mi"
              },
              "EvictionThreshold": null
            }
          },
          {
            "name": "x1.1VCPU-16GB",
            "capacity": {
              "cpu": "1",
              "memory": "16Gi",
              "pods": "110"
            },
            "capacitytype": "on-demand",
            "overhead": {
              "KubeReserved": null,
              "SystemReserved": {
                "cpu": "10m",
                "memory": "64Mi"
              },
              "EvictionThreshold": null
            }
          }
        ]"#]]
    .assert_eq(&json);
    assert_eq!(read(&json).unwrap(), types[..2]);
    assert_eq!(read(&to_json(&built_in())).unwrap(), built_in());
    let names: Vec<&str> = types.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "c1.1VCPU-2GB",
            "x1.1VCPU-16GB",
            "e1.1VCPU-5GB",
            "c1.2VCPU-4GB",
            "x1.2VCPU-32GB",
            "e1.2VCPU-10GB"
        ]
    );
    let bare = Generator { keeps_system: false, ..generator };
    assert!(!to_json(&bare.types()).contains("overhead"));
}

const FILE: &str = r#"[
  {"name": "c1.2VCPU-4GB", "capacity": {"cpu": "2", "memory": "4Gi", "pods": "64", "ephemeral-storage": "30Gi"}, "capacitytype": "on-demand",
   "overhead": {"KubeReserved": {"cpu": "50m", "memory": "384Mi"}, "SystemReserved": {"cpu": "10m", "memory": "64Mi"}, "EvictionThreshold": {"memory": "100Mi"}}},
  {"name": "s1.4VCPU-16GB", "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"}, "capacitytype": "spot", "overhead": null},
  {"name": "m1.8VCPU-64GB", "Capacity": {"cpu": 8, "memory": "64Gi", "hugepages-1Gi": "2Gi"}, "CapacityType": "reserved",
   "reservation": {"id": "rack-1", "count": 2}, "offerings": [{"Price": 5}]}
]"#;

#[test]
fn a_file_replaces_the_list() {
    let types = read(FILE).unwrap();
    let class = class(&["r1/pve-1/100", "r1/pve-2/100", "r2/pve-1/100"], &json!({}));
    let offered = offered(&types, &class, &Settings::default());
    let lines: Vec<String> =
        offered.iter().map(|own| format!("{}\n{}", own.name, places(own))).collect();
    expect![[r#"
        c1.2VCPU-4GB
        r1/pve-1 on-demand 0.054294967296
        r1/pve-2 on-demand 0.054294967296
        r2/pve-1 on-demand 0.054294967296
        s1.4VCPU-16GB
        r1/pve-1 spot 0.058589934592
        r1/pve-2 spot 0.058589934592
        r2/pve-1 spot 0.058589934592
        m1.8VCPU-64GB
        r1/pve-1 reserved 0.268719476736
        r1/pve-2 reserved 0.268719476736
        r2/pve-1 reserved 0.268719476736"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_reservation_is_used_up() {
    let types = read(FILE).unwrap();
    let class = class(&["r1/pve-1/100"], &json!({}));
    let zones = zones(&[("r1", "pve-1")]);
    let left = |used: u32| {
        let reserved = [("rack-1".to_owned(), used)].into();
        let offered =
            Offered { zones: &zones, reserved: &reserved, measured_memory: &BTreeMap::new() };
        let made = instance_types(&types, &class, &offered, |_, _| true, &Settings::default());
        let offering = &find(&made, "m1.8VCPU-64GB").offerings[0];
        let id = offering.requirements.get(RESERVATION_ID).and_then(|own| own.single()).unwrap();
        (id.to_owned(), offering.reservation_capacity, offering.available)
    };
    assert_eq!(left(0), ("rack-1".to_owned(), 2, true));
    assert_eq!(left(2), ("rack-1".to_owned(), 0, false));
    assert_eq!(left(3), ("rack-1".to_owned(), 0, false));
}

#[track_caller]
fn refused(entry: &str, expected: &Expect) {
    expected.assert_eq(&read(&format!("[{entry}]")).expect_err("it cannot be meant").to_string());
}

#[test]
fn what_cannot_be_meant_is_told_by_the_types_name() {
    let with = |more: &str| {
        format!(r#"{{"name": "a.b", "capacity": {{"cpu": 1, "memory": "1Gi"}}{more}}}"#)
    };
    refused(
        &with(r#", "capacitytype": "reserved""#),
        &expect![[r#"instance type "a.b": capacitytype "reserved" needs reservation {id, count}"#]],
    );
    refused(
        &with(r#", "reservation": {"id": "a", "count": 1}"#),
        &expect![[
            r#"instance type "a.b": reservation {id, count} needs capacitytype "reserved", not "on-demand""#
        ]],
    );
    refused(
        &with(r#", "capacitytype": "reserved", "reservation": {"id": "a"}"#),
        &expect![[r#"instance type "a.b": reservation: missing field `count`; add it"#]],
    );
    refused(
        &with(r#", "capacitytype": "reserved", "reservation": {"id": "a b", "count": 1}"#),
        &expect![[r#"instance type "a.b": reservation.id: "a b" cannot be the value of a label"#]],
    );
    refused(
        &with(r#", "capacitytype": "demand""#),
        &expect![[
            r#"instance type "a.b": capacitytype "demand" is not known; write on-demand, spot, reserved"#
        ]],
    );
    refused(
        &with(r#", "overhead": {"KubeReserved": 5}"#),
        &expect![[
            r#"instance type "a.b": overhead.KubeReserved: invalid type: integer `5`; write an object"#
        ]],
    );
    refused(
        &format!("{},{}", with(""), with("")),
        &expect![[r#"instance type "a.b": is there twice; rename one"#]],
    );
    refused(
        r#"{"capacity": {}}"#,
        &expect![[r##"instance type "#1": name: is missing; write one such as c1.2VCPU-4GB"##]],
    );
    refused(
        r#"{"name": "a b", "capacity": {}}"#,
        &expect![[
            r#"instance type "a b": name: cannot be the value of a label; write 63 characters at most, of letters, digits and, between them, - _ and ."#
        ]],
    );
    refused(
        r#"{"name": "a", "capacity": {"cpu": 1}}"#,
        &expect![[r#"instance type "a": capacity.memory: is missing or below 1; write an amount"#]],
    );
    refused(
        r#"{"name": "a", "capacity": {"cpu": "much"}}"#,
        &expect![[
            r#"instance type "a": capacity.cpu: "much" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"#
        ]],
    );
    refused(
        "5",
        &expect![
            "is not valid: invalid type: integer `5`, expected a map at line 1 column 2; write a JSON list of instance types"
        ],
    );
    let reserved = |name: &str, count: u32| {
        format!(
            r#"{{"name": "{name}", "capacity": {{"cpu": 1, "memory": "1Gi"}},
                "capacitytype": "reserved", "reservation": {{"id": "a", "count": {count}}}}}"#
        )
    };
    assert!(read(&format!("[{},{}]", reserved("x", 1), reserved("y", 1))).is_ok());
    refused(
        &format!("{},{}", reserved("x", 1), reserved("y", 2)),
        &expect![[
            r#"instance type "y": reservation "a" has the count 2, and another type says 1; make them equal"#
        ]],
    );
}

/// Upstream: every class is offered every zone, and creation fails for ever.
#[test]
fn a_class_is_offered_its_own_zones_only() {
    let types = built_in();
    let class = class(&["r1/pve-2/100"], &json!({}));
    let offered = offered(&types, &class, &Settings::default());
    expect![[r#"
        r1/pve-1 on-demand 0.027147483648 not available
        r1/pve-2 on-demand 0.027147483648
        r2/pve-1 on-demand 0.027147483648 not available"#]]
    .assert_eq(&places(find(&offered, "c1.1VCPU-2GB")));
}

#[test]
fn a_type_that_does_not_fit_is_offered_as_not_available() {
    let zones = zones(&[("r1", "pve-1"), ("r1", "pve-2")]);
    let offered =
        Offered { zones: &zones, reserved: &BTreeMap::new(), measured_memory: &BTreeMap::new() };
    let class = class(&["r1/pve-1/100", "r1/pve-2/101"], &json!({}));
    let fits = |own: &Type, zone: &Zone| own.cpus() <= 2 || zone.zone == "pve-2";
    let made = instance_types(&built_in(), &class, &offered, fits, &Settings::default());
    let available = |name: &str| -> Vec<bool> {
        find(&made, name).offerings.iter().map(|offering| offering.available).collect()
    };
    assert_eq!(available("c1.2VCPU-4GB"), [true, true]);
    assert_eq!(available("c1.4VCPU-8GB"), [false, true]);
}

#[test]
fn a_type_says_which_labels_its_instances_can_have() {
    let class = class(&["r1/pve-1/100"], &json!({}));
    let made = offered(&built_in(), &class, &Settings::default());
    let own = find(&made, "s1.4VCPU-16GB");
    expect![[r#"
        karpenter.proxmox.sinextra.dev/instance-cpu-type DoesNotExist
        karpenter.proxmox.sinextra.dev/instance-family In [s1]
        karpenter.proxmox.sinextra.dev/instance-image-id DoesNotExist
        karpenter.sh/capacity-type In [on-demand]
        kubernetes.io/arch In [amd64]
        kubernetes.io/os In [linux]
        node.kubernetes.io/instance-type In [s1.4VCPU-16GB]
        topology.kubernetes.io/region In [r1 r2]"#]]
    .assert_eq(&own.requirements.to_string().replace(", ", "\n"));
    expect![[r#"
        karpenter.proxmox.sinextra.dev/instance-family In [s1]
        karpenter.proxmox.sinextra.dev/reservation-id DoesNotExist
        karpenter.sh/capacity-type In [on-demand]
        node.kubernetes.io/instance-type In [s1.4VCPU-16GB]
        topology.kubernetes.io/region In [r1]
        topology.kubernetes.io/zone In [pve-1]"#]]
    .assert_eq(&own.offerings[0].requirements.to_string().replace(", ", "\n"));
    let catalog = catalog(made, ["a", "b"]);
    for key in [INSTANCE_FAMILY, INSTANCE_IMAGE_ID, RESERVATION_ID] {
        assert!(catalog.well_known.contains(key), "{key}");
    }
    assert!(catalog.well_known.is_restricted("karpenter.proxmox.sinextra.dev/other"));
}

/// Upstream: promises pods more memory than the guest has, and ignores the setting.
#[test]
fn guests_see_less_memory_where_the_user_says_so() {
    let class = class(&["r1/pve-1/100"], &json!({}));
    let memory = |share: f64| {
        let settings = Settings { memory_overhead: share, ..Settings::default() };
        let made = offered(&built_in(), &class, &settings);
        find(&made, "s1.4VCPU-16GB").capacity.get("memory").to_string()
    };
    assert_eq!(memory(0.0), "16Gi");
    assert_eq!(memory(0.075), "15155Mi");
}

#[test]
fn what_a_guest_was_seen_to_have_is_believed() {
    let class = class(&["r1/pve-1/100"], &json!({}));
    let zones = zones(&[("r1", "pve-1")]);
    let offered = Offered {
        zones: &zones,
        reserved: &BTreeMap::new(),
        measured_memory: &[("s1.4VCPU-16GB".to_owned(), 16_000_000_000)].into(),
    };
    let settings = Settings { memory_overhead: 0.5, ..Settings::default() };
    let made = instance_types(&built_in(), &class, &offered, |_, _| true, &settings);
    assert_eq!(find(&made, "s1.4VCPU-16GB").capacity.get("memory").floor(), 16_000_000_000);
    // The price is that of the virtual machine.
    let price = find(&made, "s1.4VCPU-16GB").offerings[0].price;
    assert_eq!(price.to_string(), "0.117179869184");
}

/// Upstream: the planner counts with more pods than the kubelet takes.
#[test]
fn a_classs_limit_of_pods_counts() {
    let pods = |max: i64| {
        let spec = json!({"kubeletConfiguration": {"maxPods": max}});
        let made = offered(&built_in(), &class(&["r1/pve-1/100"], &spec), &Settings::default());
        find(&made, "s1.4VCPU-16GB").capacity.get("pods").floor()
    };
    assert_eq!(pods(30), 30);
    assert_eq!(pods(250), 110);
}

#[test]
fn on_files_zones_are_those_of_the_class_and_room_is_not_known() {
    let told = |selected: &[&str]| {
        let class = class(selected, &json!({}));
        let (types, notes) = without_room(&built_in()[..1], &class, &Settings::default());
        format!("{}\n{}", places(&types[0]), notes.join("\n"))
    };
    expect![[r#"
        r1/pve-1 on-demand 0.027147483648
        r1/pve-2 on-demand 0.027147483648
        ProxmoxNodeClass "general": the room of its zones is not known from files, so that every type is offered in each of them"#]].assert_eq(&told(&["r1/pve-2/100", "r1/pve-1/100", "r1/pve-1/101"]));
    expect![[r#"

        ProxmoxNodeClass "general": status.selectedZones is empty, so that nothing is offered; give the object as the cluster has it"#]].assert_eq(&told(&[]));
}

#[test]
fn typed_numbers_are_read_or_told() {
    assert_eq!(numbers("1,2, 4"), Ok(vec![1, 2, 4]));
    for text in ["", "1,,2", "0", "1,x", "8193", "2,2"] {
        assert!(numbers(text).is_err(), "{text}");
    }
}
