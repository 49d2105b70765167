//! What classes say of the virtual machine itself, beyond its size.

use joiner_cloud::{CloudProvider, conformance::Mishap};
use serde_json::json;

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

#[tokio::test(start_paused = true)]
async fn the_hardware_is_upgraded_before_the_machine_starts() {
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
async fn a_machine_is_promised_what_the_class_says() {
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
