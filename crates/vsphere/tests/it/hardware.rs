//! What classes say of the virtual machine itself, beyond its size.

use std::sync::Arc;

use joiner_cloud::{CloudProvider, class::NodeClass, conformance::Mishap, order::Order};
use joiner_core::{label, quantity::Quantity};
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

#[tokio::test(start_paused = true)]
async fn the_hardware_is_upgraded_before_the_instance_starts() {
    let world = World::new();
    let order = order(&class(json!({"hardwareVersion": "vmx-20"})), 1);
    world.provider().create(&order).await.expect("nothing is wrong");
    assert_eq!(world.property(NAME, "config.version").await.as_deref(), Some("vmx-20"));
    assert_eq!(world.server.count("UpgradeVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn hardware_that_is_new_enough_stays() {
    let world = World::new();
    let template = world.at("/dc1/vm/templates/ubuntu-2404").await;
    let read = world.admin.read(&[template], &["config.version"]).await.expect("it answers");
    let own = read[0].text("config.version").expect("it has a version");
    let order = order(&class(json!({"hardwareVersion": own})), 1);
    world.provider().create(&order).await.expect("nothing is wrong");
    assert_eq!(world.server.count("UpgradeVM_Task"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_was_done_is_not_done_again() {
    let world = World::new();
    let order = order(&class(json!({"hardwareVersion": "vmx-20"})), 1);
    world.arm_at(Mishap::KilledBefore, "PowerOnVM_Task");
    world.until_killed(async |provider| provider.create(&order).await).await;
    world.provider().create(&order).await.expect("the next process goes on");
    assert_eq!(world.server.count("UpgradeVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn older_hardware_than_the_templates_is_told() {
    let class = class(json!({"hardwareVersion": "vmx-10"}));
    let (holds, reason, message) = condition(&World::new().provider(), &class, "ImageReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "HardwareVersionTooOld"));
    assert!(message.contains("spec.hardwareVersion asks for vmx-10"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_promised_what_the_class_says() {
    let world = World::new();
    let resources = json!({
        "requests": {"cpu": "1G", "memory": "2Gi"},
        "limits": {"cpu": "3G"},
        "shares": {"memory": 5000},
    });
    world
        .provider()
        .create(&order(&class(json!({"resources": resources})), 1))
        .await
        .expect("nothing is wrong");
    for (path, expected) in [
        ("config.cpuAllocation.reservation", "1000"),
        ("config.cpuAllocation.limit", "3000"),
        ("config.memoryAllocation.reservation", "2048"),
        ("config.memoryAllocation.limit", "-1"),
        ("config.memoryAllocation.shares.shares", "5000"),
        ("config.memoryAllocation.shares.level", "custom"),
    ] {
        assert_eq!(world.property(NAME, path).await.as_deref(), Some(expected), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_is_told_what_the_class_says() {
    let world = World::new();
    let kubelet = json!({"clusterDNS": ["10.96.0.10"], "cpuCFSQuota": false});
    let order = order(&class(json!({"kubelet": kubelet})), 1);
    world.provider().create(&order).await.expect("nothing is wrong");
    let text = world.guest_text(NAME, "guestinfo.userdata").await;
    for argument in ["cluster-dns=10.96.0.10", "cpu-cfs-quota=false"] {
        assert!(text.contains(argument), "{argument} is not in\n{text}");
    }
}

/// A size with a graphics card, one with a share of one, and one without.
fn with_graphics() -> Arc<NodeClass> {
    let size = |more: Value| {
        let mut size = json!({"os": "linux", "cpu": 4, "memory": 16, "zone": "az1"});
        for (field, value) in more.as_object().into_iter().flatten() {
            size[field] = value.clone();
        }
        size
    };
    let card = json!({"vendorId": "0x10de", "deviceId": "0x20b5"});
    class(json!({"instanceTypes": [
        size(json!({})),
        size(json!({"name": "card", "pciDevices": [card, card]})),
        size(json!({"name": "share", "vgpu": {"profile": "grid_a100-10c"}})),
    ]}))
}

fn asking_for_graphics(number: u32, count: i64) -> Order {
    let mut order = order(&with_graphics(), number);
    order.requests.set("nvidia.com/gpu", Quantity::whole(count));
    order
}

/// The backings of devices of a host.
async fn passed_through(world: &World, name: &str) -> Vec<String> {
    let vm = world.at(&format!("/dc1/vm/k8s/{name}")).await;
    let read = world.admin.read(&[vm], &["config.hardware.device"]).await.expect("it answers");
    let devices = read[0].value("config.hardware.device").expect("it has devices");
    let passed = devices.children.iter().filter(|own| own.is_of_type("VirtualPCIPassthrough"));
    passed
        .map(|own| {
            let text = |path: &str| own.text_at(path).unwrap_or_default().to_owned();
            let ids = [text("backing.allowedDevice.vendorId"), text("backing.vgpu")];
            ids.concat()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_instance_has_the_devices_of_its_size_and_all_of_its_memory() {
    let world = World::new();
    let instance = world.provider().create(&asking_for_graphics(1, 2)).await;
    let instance = instance.expect("nothing is wrong");
    assert_eq!(instance.capacity.get("nvidia.com/gpu"), Quantity::whole(2));
    assert_eq!(passed_through(&world, NAME).await, ["4318", "4318"]);
    let locked = world.property(NAME, "config.memoryReservationLockedToMax").await;
    assert_eq!(locked.as_deref(), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn an_instance_has_the_share_of_a_card_that_its_size_names() {
    let world = World::new();
    let instance = world.provider().create(&asking_for_graphics(1, 1)).await;
    assert_eq!(instance.expect("nothing is wrong").labels[label::INSTANCE_TYPE], "share");
    assert_eq!(passed_through(&world, NAME).await, ["grid_a100-10c"]);
}

#[tokio::test(start_paused = true)]
async fn a_size_without_devices_gets_none() {
    let world = World::new();
    world.provider().create(&order(&with_graphics(), 1)).await.expect("nothing is wrong");
    assert_eq!(passed_through(&world, NAME).await, Vec::<String>::new());
    assert_eq!(world.server.count("ReconfigVM_Task"), 0);
}

#[tokio::test(start_paused = true)]
async fn devices_that_were_added_are_not_added_again() {
    let world = World::new();
    let order = asking_for_graphics(1, 2);
    world.arm_at(Mishap::KilledAfter, "ReconfigVM_Task");
    world.until_killed(async |provider| provider.create(&order).await).await;
    // The change may still be under way.
    let mut tries = 0;
    while world.provider().create(&order).await.is_err() {
        tries += 1;
        assert!(tries < 5, "the next process does not go on");
    }
    assert_eq!(passed_through(&world, NAME).await.len(), 2);
}
