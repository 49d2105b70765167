//! Starting, stopping, destroying.

use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_vm_is_started_stopped_and_destroyed_with_its_disks() {
    let client = Client::small();
    client.cloned(200).await;
    client.done("POST /nodes/pve-1/qemu/200/status/start").await;
    let status = client.call("GET /nodes/pve-1/qemu/200/status/current").await.ok();
    assert_eq!((&status["status"], &status["name"]), (&json!("running"), &json!("web-200")));
    assert_eq!(
        client.task("POST /nodes/pve-1/qemu/200/status/start").await,
        "VM 200 already running"
    );
    let running = client.call("DELETE /nodes/pve-1/qemu/200").await;
    assert_eq!(running.refusal(), (500, "VM 200 is running - destroy failed"));
    client.done("POST /nodes/pve-1/qemu/200/status/stop overrule-shutdown=1").await;
    client.done("POST /nodes/pve-1/qemu/200/status/stop").await;
    client.done("DELETE /nodes/pve-1/qemu/200 purge=1&destroy-unreferenced-disks=1").await;
    let gone = client.call("GET /nodes/pve-1/qemu/200/status/current").await;
    let text = "Configuration file 'nodes/pve-1/qemu-server/200.conf' does not exist";
    assert_eq!(gone.refusal(), (500, text));
    assert!(!client.cluster.volumes("local-lvm", "pve-1").contains_key("local-lvm:vm-200-disk-0"));
    assert_eq!(client.cluster.complaints(), []);
}

#[tokio::test(start_paused = true)]
async fn protected_and_highly_available_vms_are_kept() {
    let client = Client::small();
    client.cloned(200).await;
    client.done("POST /nodes/pve-1/qemu/200/config protection=1").await;
    let kept = client.call("DELETE /nodes/pve-1/qemu/200").await;
    assert_eq!(kept.refusal(), (500, "can't remove VM 200 - protection mode enabled"));
    client.cluster.edit(200, "protection", None).unwrap();
    let root = client.with_token("root@pam!api=api-secret");
    root.call("POST /cluster/ha/resources sid=vm:200&state=ignored").await.ok();
    let kept = client.call("DELETE /nodes/pve-1/qemu/200").await;
    let text = "unable to remove VM 200 - used in HA resources and purge parameter not set.";
    assert_eq!(kept.refusal(), (500, text));
    client.done("DELETE /nodes/pve-1/qemu/200 purge=1").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_starts_only_what_it_has_memory_for() {
    let client = Client::small();
    client.cloned(200).await;
    client.done("POST /nodes/pve-1/qemu/200/config memory=62000").await;
    let status = client.task("POST /nodes/pve-1/qemu/200/status/start").await;
    assert!(status.ends_with("Cannot allocate memory"), "{status}");
    assert_eq!(client.cluster.overcommitted(), ["pve-1: 560 MiB more than there are"]);
    client
        .done("POST /nodes/pve-1/qemu/200/config memory=1024&cores=17&net0=virtio,bridge%3Dvmbr9")
        .await;
    let status = client.task("POST /nodes/pve-1/qemu/200/status/start").await;
    assert_eq!(status, "MAX 16 vcpus allowed per VM on this node");
    client.done("POST /nodes/pve-1/qemu/200/config cores=1").await;
    let status = client.task("POST /nodes/pve-1/qemu/200/status/start").await;
    assert!(status.ends_with("bridge 'vmbr9' does not exist"), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_moved_is_found_on_its_new_node() {
    let client = Client::small();
    client.cluster.migrate(100, "pve-2").unwrap();
    assert_eq!(client.call("GET /nodes/pve-1/qemu/100/config").await.status, 500);
    assert_eq!(client.row(100).await["node"], "pve-2");
    client.done("POST /nodes/pve-2/qemu/100/status/shutdown").await;
    let container = client.call("GET /nodes/pve-2/lxc/101/config").await.ok();
    assert_eq!(container["hostname"], "dns");
    assert_eq!(client.call("GET /nodes/pve-2/qemu/101/config").await.status, 500);
}
