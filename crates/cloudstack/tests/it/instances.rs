//! Which instance types follow from service offerings.

use expect_test::{Expect, expect};
use joiner_cloudstack::{
    NodeClass,
    offerings::{Instances, Settings, instance_types},
    resolve::from_status,
};
use joiner_core::{instance_type::InstanceType, label, resources::EPHEMERAL_STORAGE};
use serde_json::{Value, json};

use crate::cloud::{Cloud, ZONE_A, ZONE_B, class, network, offering, read_class, template, with};

fn made_with(cloud: &Cloud, class: &NodeClass, settings: &Settings) -> Instances {
    instance_types(class, &cloud.resolve(class), settings)
}

fn made(cloud: &Cloud, more: Value) -> Instances {
    made_with(cloud, &class(more), &Settings::default())
}

/// Everything about instances that a plan depends on.
fn describe(instances: &Instances) -> String {
    let mut lines = Vec::new();
    for own in &instances.types {
        lines.push(own.name.clone());
        for (key, requirement) in own.requirements.iter() {
            let values: Vec<&str> = requirement.values().iter().map(String::as_str).collect();
            let values = if values.is_empty() { "none".to_owned() } else { values.join(" ") };
            lines.push(format!("  {key}: {values}"));
        }
        lines.push(format!("  capacity: {}", own.capacity));
        for offering in &own.offerings {
            let zone = offering.requirements.get(label::ZONE).and_then(|zone| zone.single());
            let zone = zone.unwrap_or("nowhere");
            let available = if offering.available { "" } else { ", not available" };
            lines.push(format!("  offering: {zone} at {:.4}{available}", offering.price));
        }
        let free = own.offerings.first().map(|offering| own.allocatable(offering));
        lines.push(format!("  for pods: {}", free.unwrap_or_default()));
    }
    lines.extend(instances.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n") + "\n"
}

/// A line for each type: name, zones with prices, CPUs and memory.
fn summary(instances: &Instances) -> String {
    let place = |own: &InstanceType| {
        let zones: Vec<String> = own
            .offerings
            .iter()
            .map(|offering| {
                let zone = offering.requirements.get(label::ZONE).and_then(|zone| zone.single());
                format!("{} {:.4}", zone.unwrap_or("nowhere"), offering.price)
            })
            .collect();
        format!("{}: cpu {}, {}", own.name, own.capacity.get("cpu"), zones.join(", "))
    };
    let mut lines: Vec<String> = instances.types.iter().map(place).collect();
    lines.extend(instances.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n") + "\n"
}

#[track_caller]
fn check(instances: &Instances, expected: &Expect) {
    expected.assert_eq(&summary(instances));
}

/// Defects 24, 26 and 28 of upstream: no ephemeral storage, all memory promised, labels unknown.
#[test]
fn an_offering_is_a_type_with_everything_a_plan_needs() {
    let instances = made(&Cloud::small(), json!({}));
    expect![[r#"
        m1.medium
          karpenter.k8s.cloudstack/disk-offering-id: none
          karpenter.k8s.cloudstack/instance-cpu: 2
          karpenter.k8s.cloudstack/instance-cpu-mhz: 2000
          karpenter.k8s.cloudstack/instance-gpu-count: none
          karpenter.k8s.cloudstack/instance-gpu-name: none
          karpenter.k8s.cloudstack/instance-memory: 4096
          karpenter.k8s.cloudstack/instance-network-rate: none
          karpenter.k8s.cloudstack/network-id: n1
          karpenter.k8s.cloudstack/network-name: guests
          karpenter.k8s.cloudstack/service-offering-id: o1
          karpenter.k8s.cloudstack/service-offering-name: m1.medium
          karpenter.k8s.cloudstack/template-id: t1
          karpenter.k8s.cloudstack/template-name: debian-13
          karpenter.k8s.cloudstack/zone-id: aaaaaaaa-0000-4000-8000-000000000001
          karpenter.k8s.cloudstack/zone-name: zone-a
          karpenter.sh/capacity-type: on-demand
          kubernetes.io/arch: amd64
          kubernetes.io/os: linux
          node.kubernetes.io/instance-type: m1.medium
          node.kubernetes.io/windows-build: none
          topology.csi.cloudstack.apache.org/zone: aaaaaaaa-0000-4000-8000-000000000001
          topology.kubernetes.io/region: none
          topology.kubernetes.io/zone: zone-a
          capacity: cpu 2, ephemeral-storage 10Gi, memory 3972844748, pods 110
          offering: zone-a at 0.0543
          for pods: cpu 1900m, ephemeral-storage 9Gi, memory 3599551692, pods 110
    "#]]
    .assert_eq(&describe(&instances));
}

#[test]
fn an_offering_of_several_zones_is_one_type() {
    let cloud = Cloud::of_two_zones();
    check(
        &made(&cloud, json!({"zones": ["zone-b"]})),
        &expect![[r#"
        m1.medium: cpu 2, zone-a 0.0543, zone-b 0.0543
    "#]],
    );
}

#[test]
fn offerings_of_one_name_and_size_in_different_zones_are_one_type() {
    let mut cloud = Cloud::of_two_zones();
    cloud.offerings = json!([
        with(offering("o1", "m1"), json!({"zoneid": ZONE_A})),
        with(offering("o2", "m1"), json!({"zoneid": ZONE_B})),
    ]);
    let instances = made(&cloud, json!({"zones": ["zone-b"]}));
    check(
        &instances,
        &expect![[r#"
        m1: cpu 2, zone-a 0.0543, zone-b 0.0543
    "#]],
    );
    let by_zone = &instances.made_of["m1"].by_zone;
    assert_eq!((by_zone[ZONE_A].id.as_str(), by_zone[ZONE_B].id.as_str()), ("o1", "o2"));
}

/// Defects 23 and 30 of upstream: names are no labels, and an offering is looked up by its name.
#[test]
fn offerings_of_one_name_that_are_not_the_same_are_told_apart() {
    let mut cloud = Cloud::small();
    cloud.offerings = json!([
        offering("11111111-a", "Medium Instance"),
        with(offering("22222222-b", "Medium Instance"), json!({"memory": 8192})),
        with(offering("33333333-c", "Large Instance"), json!({"cpunumber": 4})),
    ]);
    let instances = made(&cloud, json!({}));
    check(
        &instances,
        &expect![[r#"
        Medium-Instance-111111: cpu 2, zone-a 0.0543
        Medium-Instance-222222: cpu 2, zone-a 0.0586
        Large-Instance: cpu 4, zone-a 0.1043
    "#]],
    );
    assert_eq!(instances.made_of["Large-Instance"].by_zone[ZONE_A].id, "33333333-c");
}

/// Defect 24 of upstream: a customized offering has no CPUs.
#[test]
fn a_customized_offering_with_bounds_has_sizes_within_them() {
    let mut cloud = Cloud::small();
    let bounds = json!({"use": "nodes", "mincpunumber": "2", "maxcpunumber": "8",
        "minmemory": "4096", "maxmemory": "32768"});
    let fields = json!({"iscustomized": true, "cpunumber": null, "memory": null,
        "serviceofferingdetails": bounds});
    cloud.offerings = json!([with(offering("o1", "custom"), fields)]);
    let instances = made(&cloud, json!({}));
    check(
        &instances,
        &expect![[r#"
        custom-2c-4g: cpu 2, zone-a 0.0543
        custom-2c-8g: cpu 2, zone-a 0.0586
        custom-2c-16g: cpu 2, zone-a 0.0672
        custom-4c-8g: cpu 4, zone-a 0.1086
        custom-4c-16g: cpu 4, zone-a 0.1172
        custom-4c-32g: cpu 4, zone-a 0.1344
        custom-8c-16g: cpu 8, zone-a 0.2172
        custom-8c-32g: cpu 8, zone-a 0.2344
    "#]],
    );
    let details = instances.made_of["custom-2c-4g"].details();
    let told: Vec<String> = details.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(told, ["cpuNumber=2", "memory=4096"], "the speed is the offering's");
    let shapes = json!([
        {"cpu": 3, "memoryMiB": 6000},
        {"cpu": 16, "memoryMiB": 8192},
        {"cpu": 3, "memoryMiB": 6000},
    ]);
    check(
        &made(&cloud, json!({"customOfferingShapes": shapes})),
        &expect![[r#"
        custom-3c-6000m: cpu 3, zone-a 0.0813
        note: CloudStackNodeClass "general": service offering "custom": does not allow 16 CPUs with 8192 MiB
    "#]],
    );
}

#[test]
fn an_open_customized_offering_has_only_sizes_that_are_listed() {
    let mut cloud = Cloud::small();
    let open = json!({"iscustomized": true, "cpunumber": null, "cpuspeed": null, "memory": null});
    cloud.offerings = json!([offering("o1", "fixed"), with(offering("o2", "open"), open)]);
    check(
        &made(&cloud, json!({})),
        &expect![[r#"
        fixed: cpu 2, zone-a 0.0543
        note: CloudStackNodeClass "general": service offering "open": is customized and says no bounds, so its sizes are not known; it is left out: list sizes in spec.customOfferingShapes
    "#]],
    );
    let shapes = json!([
        {"cpu": 4, "memoryMiB": 8192, "cpuSpeedMHz": 2000},
        {"cpu": 8, "memoryMiB": 8192},
    ]);
    let instances = made(&cloud, json!({"customOfferingShapes": shapes}));
    check(
        &instances,
        &expect![[r#"
        fixed: cpu 2, zone-a 0.0543
        open-4c-8g: cpu 4, zone-a 0.1086
        note: CloudStackNodeClass "general": service offering "open": does not say the speed of its CPUs, so 8 CPUs with 8192 MiB are left out: write their cpuSpeedMHz
    "#]],
    );
    assert_eq!(instances.made_of["open-4c-8g"].details()["cpuSpeed"], "2000");
    assert!(instances.made_of["fixed"].details().is_empty(), "CloudStack refuses a size there");
}

#[test]
fn prices_are_written_or_of_this_cloud_or_of_all_clouds() {
    let mut cloud = Cloud::small();
    cloud.offerings = json!([
        with(
            offering("o1", "written"),
            json!({"serviceofferingdetails": {"use": "nodes", "karpenter.sh/price": "0.5"}})
        ),
        with(
            offering("o2", "nonsense"),
            json!({"serviceofferingdetails": {"use": "nodes", "karpenter.sh/price": "cheap"}})
        ),
    ]);
    check(
        &made(&cloud, json!({})),
        &expect![[r#"
        nonsense: cpu 2, zone-a 0.0543
        written: cpu 2, zone-a 0.5000
    "#]],
    );
    let settings =
        Settings { price_per_cpu: Some(0.04), price_per_gib: Some(0.005), ..Settings::default() };
    check(
        &made_with(&cloud, &class(json!({})), &settings),
        &expect![[r#"
        nonsense: cpu 2, zone-a 0.1000
        written: cpu 2, zone-a 0.5000
    "#]],
    );
}

#[test]
fn the_root_disk_is_the_offerings_or_the_classs_or_the_templates() {
    let disk = |of_offering: i64, of_class: Option<i64>| {
        let mut cloud = Cloud::small();
        cloud.offerings[0]["rootdisksize"] = of_offering.into();
        let instances = made(&cloud, json!({"rootDiskSize": of_class}));
        let asked = instances.made_of["m1.medium"].by_zone[ZONE_A].root_disk_gib;
        (instances.types[0].capacity.get(EPHEMERAL_STORAGE).to_string(), asked)
    };
    assert_eq!(disk(0, None), ("10Gi".to_owned(), None));
    assert_eq!(disk(0, Some(50)), ("50Gi".to_owned(), Some(50)));
    assert_eq!(disk(20, Some(50)), ("20Gi".to_owned(), None), "the offering decides it");
    assert_eq!(disk(0, Some(5)), ("10Gi".to_owned(), None), "CloudStack refuses a smaller one");
}

#[test]
fn templates_of_two_architectures_are_two_values() {
    let mut cloud = Cloud::small();
    cloud.templates = json!([
        template("t1", "amd", ZONE_A),
        with(template("t2", "arm", ZONE_A), json!({"arch": "aarch64"})),
        with(template("t3", "arm-old", ZONE_A), json!({"arch": "aarch64", "created": "2020"})),
    ]);
    let instances = made(&cloud, json!({}));
    let requirements = &instances.types[0].requirements;
    let values = |key: &str| {
        let values = requirements.get(key).map(|own| own.values().iter().cloned().collect());
        let values: Vec<String> = values.unwrap_or_default();
        values.join(" ")
    };
    assert_eq!(values(label::ARCH), "amd64 arm64");
    assert_eq!(values("karpenter.k8s.cloudstack/template-id"), "t1 t2");
}

#[test]
fn graphics_cards_are_resources_by_their_vendor() {
    let gpu = |fields: Value, settings: &Settings| {
        let mut cloud = Cloud::small();
        cloud.offerings = json!([with(offering("o1", "gpu"), fields)]);
        let instances = made_with(&cloud, &class(json!({})), settings);
        let extended: Vec<String> = instances.types[0]
            .capacity
            .iter()
            .filter(|(name, _)| name.contains('/'))
            .map(|(name, amount)| format!("{name} {amount}"))
            .collect();
        format!("{}{}", extended.join(" "), instances.notes.join(" "))
    };
    let plain = Settings::default();
    assert_eq!(
        gpu(json!({"gpucardname": "NVIDIA A40", "gpucount": 2}), &plain),
        "nvidia.com/gpu 2"
    );
    let old = json!({"serviceofferingdetails": {"use": "nodes", "vgpuType": "passthrough",
        "pciDevice": "Group of NVIDIA Corporation GK107GL [GRID K1] GPUs"}});
    assert_eq!(gpu(old, &plain), "nvidia.com/gpu 1");
    assert_eq!(gpu(json!({"gpucardname": "AMD MI210"}), &plain), "amd.com/gpu 1");
    let other = json!({"gpucardname": "Moore Threads S80"});
    assert_eq!(
        gpu(other.clone(), &plain),
        "CloudStackNodeClass \"general\": service offering \"gpu\": the resource that nodes call \
         \"Moore Threads S80\" by is not known; no pod is given it"
    );
    let known = Settings {
        gpu_resources: [("moore".to_owned(), "mthreads.com/gpu".to_owned())].into(),
        ..Settings::default()
    };
    assert_eq!(gpu(other, &known), "mthreads.com/gpu 1");
}

#[test]
fn what_its_author_may_not_expect_of_an_offering_is_told() {
    let mut cloud = Cloud::small();
    let fields = json!({"isvolatile": true, "leaseduration": 30});
    cloud.offerings = json!([with(offering("o1", "m1"), fields)]);
    check(
        &made(&cloud, json!({})),
        &expect![[r#"
        m1: cpu 2, zone-a 0.0543
        note: CloudStackNodeClass "general": service offering "m1": is volatile: the root disk is made anew at every start
        note: CloudStackNodeClass "general": service offering "m1": has a lease: CloudStack ends its instances after 30 days
    "#]],
    );
}

/// Defect 25 of upstream: everything is always available.
#[test]
fn nothing_is_available_where_no_network_has_an_address() {
    let mut cloud = Cloud::of_two_zones();
    cloud.networks = json!([
        with(network("n1", "guests", ZONE_A), json!({"canusefordeploy": false})),
        network("n2", "guests", ZONE_B),
    ]);
    let instances = made(&cloud, json!({"zones": ["zone-b"]}));
    let available: Vec<bool> =
        instances.types[0].offerings.iter().map(|own| own.available).collect();
    assert_eq!(available, [false, true]);
}

#[test]
fn what_the_kubelet_keeps_is_upstreams_or_the_classs() {
    let free = |kubelet: Value| {
        let instances = made(&Cloud::small(), json!({"kubelet": kubelet}));
        let own = &instances.types[0];
        own.allocatable(&own.offerings[0]).to_string()
    };
    expect!["cpu 1900m, ephemeral-storage 9Gi, memory 3599551692, pods 110"]
        .assert_eq(&free(Value::Null));
    let kubelet = json!({"maxPods": 50, "kubeReserved": {"cpu": "200m"},
        "systemReserved": {"memory": "512Mi"}, "evictionHard": {"memory.available": "5%"}});
    expect!["cpu 1800m, ephemeral-storage 9Gi, memory 2968896142, pods 50"]
        .assert_eq(&free(kubelet));
}

/// A class with the status that a cloud's resolution writes.
fn with_status(cloud: &Cloud, more: Value) -> NodeClass {
    let own = class(more.clone());
    let status = serde_json::to_value(cloud.resolve(&own).status).expect("a status is JSON");
    let spec = json!({"zone": own.spec.zone, "zones": own.spec.zones, "userData": "x"});
    read_class(json!({"metadata": {"name": "general"}, "spec": with(spec, more), "status": status}))
}

#[test]
fn a_status_that_we_wrote_gives_the_same_types_without_a_cloud() {
    let mut cloud = Cloud::of_two_zones();
    cloud.offerings = json!([
        with(offering("o1", "gpu"), json!({"gpucardname": "NVIDIA A40", "rootdisksize": 40})),
        with(
            offering("o2", "priced"),
            json!({"serviceofferingdetails": {"use": "nodes", "karpenter.sh/price": "0.5"}})
        ),
        with(offering("o3", "here"), json!({"zoneid": ZONE_A, "cpunumber": 8})),
    ]);
    let more = json!({"zones": ["zone-b"]});
    let class = with_status(&cloud, more.clone());
    let offline = instance_types(&class, &from_status(&class), &Settings::default());
    assert_eq!(summary(&offline), summary(&made(&cloud, more)));
}

#[test]
fn what_a_status_of_upstream_lacks_is_told_once() {
    let class = read_class(json!({
        "metadata": {"name": "general"},
        "spec": {"zone": "zone-a"},
        "status": {"serviceOfferings": [
            {"id": "o1", "name": "medium", "cpuNumber": 2, "memory": 4096},
            {"id": "o2", "name": "large", "cpuNumber": 4, "memory": 8192},
        ]},
    }));
    let offline = instance_types(&class, &from_status(&class), &Settings::default());
    check(
        &offline,
        &expect![[r#"
        medium: cpu 2, zone-a 0.0543
        large: cpu 4, zone-a 0.1086
        note: CloudStackNodeClass "general": its status does not say the architectures of templates, which are taken for amd64
        note: CloudStackNodeClass "general": the size of the root disk is not known, so pods that request ephemeral-storage have no place there; set spec.rootDiskSize
    "#]],
    );
    let nothing = read_class(json!({"metadata": {"name": "general"}, "spec": {"zone": "zone-a"}}));
    check(
        &instance_types(&nothing, &from_status(&nothing), &Settings::default()),
        &expect![[r#"
        note: CloudStackNodeClass "general": its status does not say service offerings, so there are no instance types; list them in status.serviceOfferings
    "#]],
    );
}
