//! Changes of configurations.

use serde_json::json;

use crate::support::Client;

const CONFIG: &str = "POST /nodes/pve-1/qemu/200/config";

#[tokio::test(start_paused = true)]
async fn a_digest_holds_off_a_change_of_another_state() {
    let client = Client::small();
    client.cloned(200).await;
    let digest = client.config(200).await["digest"].as_str().unwrap().to_owned();
    client.done(&format!("{CONFIG} cores=4&digest={digest}")).await;
    let reply = client.call(&format!("{CONFIG} cores=8&digest={digest}")).await;
    let text = "detected modified configuration - file changed by other user? Try again.";
    assert_eq!(reply.refusal(), (500, text));
    assert_eq!(client.config(200).await["cores"], 4);
    assert_eq!(client.call(CONFIG).await.refusal(), (500, "no options specified"));
}

#[tokio::test(start_paused = true)]
async fn the_same_checks_are_made_when_the_task_has_the_lock() {
    let client = Client::small();
    client.cloned(200).await;
    let digest = client.config(200).await["digest"].as_str().unwrap().to_owned();
    let first = client.call(&format!("{CONFIG} cores=4&digest={digest}")).await.ok();
    let second = client.call(&format!("{CONFIG} cores=8&digest={digest}")).await.ok();
    assert_eq!(client.wait(first.as_str().unwrap()).await, "OK");
    let status = client.wait(second.as_str().unwrap()).await;
    assert!(status.starts_with("detected modified configuration"), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_put_waits_for_the_lock_and_gives_up_after_ten_seconds() {
    let client = Client::small();
    client.cloned(200).await;
    client.cluster.trouble("task lasts 15s on start").unwrap();
    client.call("POST /nodes/pve-1/qemu/200/status/start").await.ok();
    let reply = client.call("PUT /nodes/pve-1/qemu/200/config cores=4").await;
    let text = "can't lock file '/var/lock/qemu-server/lock-200.conf' - got timeout";
    assert_eq!(reply.refusal(), (500, text));
    client.sleep(10).await;
    let reply = client.call("PUT /nodes/pve-1/qemu/200/config cores=4").await;
    assert_eq!((reply.status, reply.ok()), (200, json!(null)));
}

#[tokio::test(start_paused = true)]
async fn a_post_may_wait_for_its_task_for_a_while() {
    let client = Client::small();
    client.cloned(200).await;
    assert_eq!(
        client.call(&format!("{CONFIG} cores=4&background_delay=5")).await.ok(),
        json!(null)
    );
    client.cluster.trouble("task lasts 9s on change").unwrap();
    let upid = client.call(&format!("{CONFIG} cores=2&background_delay=5")).await.ok();
    assert!(upid.as_str().unwrap().contains(":qmconfig:200:"), "{upid}");
}

#[tokio::test(start_paused = true)]
async fn a_locked_configuration_is_not_changed() {
    let client = Client::small();
    client.cluster.edit(100, "lock", Some("backup")).unwrap();
    let check = async |line: &str| {
        assert_eq!(client.call(line).await.refusal(), (500, "VM is locked (backup)"), "{line}");
    };
    check("POST /nodes/pve-1/qemu/100/config cores=4").await;
    check("POST /nodes/pve-1/qemu/100/status/stop").await;
    check("DELETE /nodes/pve-1/qemu/100").await;
}

#[tokio::test(start_paused = true)]
async fn disks_grow_and_do_not_shrink() {
    let client = Client::small();
    client.cloned(200).await;
    let resize = "PUT /nodes/pve-1/qemu/200/resize disk=scsi0&size=";
    client.done(&format!("{resize}10G")).await;
    client.done(&format!("{resize}%2B1.5G")).await;
    let drive = client.config(200).await["scsi0"].clone();
    assert_eq!(drive, "local-lvm:vm-200-disk-0,iothread=1,size=11776M");
    assert_eq!(client.task(&format!("{resize}3G")).await, "shrinking disks is not supported");
    let full = client.task(&format!("{resize}900T")).await;
    assert!(full.contains("not enough free space"), "{full}");
    assert_eq!(
        client.cluster.volumes("local-lvm", "pve-1")["local-lvm:vm-200-disk-0"],
        11_776 << 20
    );
}

#[tokio::test(start_paused = true)]
async fn devices_come_and_go() {
    let client = Client::small();
    client.cloned(200).await;
    let reply = client.call(&format!("{CONFIG} boot=order%3Dscsi0%3Bide2")).await;
    let text = "invalid bootorder: device 'ide2' does not exist'";
    assert_eq!(reply.refusal(), (500, text));
    client.done(&format!("{CONFIG} ide2=none,media%3Dcdrom&boot=order%3Dscsi0%3Bide2")).await;
    client.done(&format!("{CONFIG} ide0=local-lvm:cloudinit&delete=net0,tags")).await;
    let config = client.config(200).await;
    assert_eq!(config["ide0"], "local-lvm:vm-200-cloudinit,media=cdrom,size=4M");
    assert_eq!((config.get("net0"), config.get("tags")), (None, None));
    client.call("PUT /nodes/pve-1/qemu/200/cloudinit").await.ok();
    let absent = client.task(&format!("{CONFIG} ide1=local:iso/a.iso,media%3Dcdrom")).await;
    assert_eq!(absent, "volume 'local:iso/a.iso' does not exist");
    client.call("PUT /nodes/pve-1/qemu/200/unlink idlist=scsi0").await.ok();
    let config = client.config(200).await;
    assert_eq!(
        (config.get("scsi0"), &config["unused0"]),
        (None, &json!("local-lvm:vm-200-disk-0"))
    );
}
