//! Clones: what is seen of them while they are made.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Client;

/// The keys of a configuration besides its digest.
fn keys(config: &Value) -> Vec<&str> {
    let keys = config.as_object().unwrap().keys();
    keys.map(String::as_str).filter(|key| *key != "digest").collect()
}

#[tokio::test(start_paused = true)]
async fn a_clone_is_locked_and_nameless_until_its_first_disk_is_copied() {
    let client = Client::small();
    let line = "POST /nodes/pve-1/qemu/9001/clone newid=200&name=web-1&description=mine&full=1";
    let upid = client.call(line).await.ok();
    assert!(upid.as_str().unwrap().contains(":qmclone:9001:kubernetes@pve!karpenter:"), "{upid}");
    client.sleep(5).await;
    let config = client.config(200).await;
    assert_eq!((keys(&config), &config["lock"]), (vec!["lock"], &json!("clone")));
    client.clock.sleep(Duration::from_millis(4_100)).await;
    let config = client.config(200).await;
    assert_eq!(keys(&config), ["description", "lock", "name"]);
    let kept = client.call("DELETE /nodes/pve-1/qemu/200").await;
    assert_eq!(kept.refusal(), (500, "VM is locked (clone)"));
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    let config = client.config(200).await;
    assert_eq!((&config["name"], &config["cores"]), (&json!("web-1"), &json!(2)));
    assert_eq!((&config["memory"], &config["tags"]), (&json!("2048"), &json!("image")));
    assert_eq!((config.get("lock"), config.get("template")), (None, None));
    assert_eq!(config["scsi0"], "local-lvm:vm-200-disk-0,iothread=1,size=3G");
    assert!(!config["net0"].as_str().unwrap().contains("BC:24:11:00:00:01"), "{config}");
    assert!(!config["smbios1"].as_str().unwrap().contains("11111111"), "{config}");
    assert_eq!(client.cluster.complaints(), []);
}

#[tokio::test(start_paused = true)]
async fn the_row_of_a_fresh_vm_has_no_name_for_ten_seconds() {
    let client = Client::small();
    client.call("POST /nodes/pve-1/qemu/9001/clone newid=200&name=web-1&full=1").await.ok();
    let row = client.row(200).await;
    assert_eq!((&row["status"], row.get("name")), (&json!("unknown"), None));
    assert_eq!(row["lock"], "clone");
    client.sleep(9).await;
    assert_eq!(client.row(200).await.get("name"), None);
    client.sleep(11).await;
    let row = client.row(200).await;
    assert_eq!((&row["status"], &row["name"]), (&json!("stopped"), &json!("web-1")));
}

#[tokio::test(start_paused = true)]
async fn a_clone_to_another_node_is_on_the_node_of_its_template_until_it_is_done() {
    let client = Client::small();
    let line = "POST /nodes/pve-1/qemu/9000/clone newid=200&name=web-1&full=1&target=pve-3";
    let upid = client.call(line).await.ok();
    client.sleep(5).await;
    assert_eq!(client.row(200).await["node"], "pve-1");
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    assert_eq!(client.row(200).await["node"], "pve-3");
    client.call("GET /nodes/pve-3/qemu/200/config").await.ok();
    let local = client.call("POST /nodes/pve-1/qemu/9001/clone newid=201&target=pve-2").await;
    assert_eq!(local.refusal(), (500, "Can't clone VM to node 'pve-2' (VM uses local storage)"));
    let line = "POST /nodes/pve-1/qemu/9000/clone newid=201&full=1&target=pve-2&storage=local-lvm";
    let text = "can't clone to non-shared storage 'local-lvm'";
    assert_eq!(client.call(line).await.refusal(), (500, text));
}

#[tokio::test(start_paused = true)]
async fn clones_of_one_template_go_on_at_once_but_wait_for_the_storage() {
    let client = Client::small();
    let mut upids = Vec::new();
    for vmid in 200..204 {
        let line = format!("POST /nodes/pve-1/qemu/9001/clone newid={vmid}&full=1");
        upids.push(client.call(&line).await.ok());
    }
    for upid in &upids {
        assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    }
    // Each waits a second for its volume; the disks are copied at the same time.
    assert!(client.clock.running() < Duration::from_secs(16), "{:?}", client.clock.running());
    let mut many = Vec::new();
    for vmid in 300..330 {
        let line = format!("POST /nodes/pve-1/qemu/9001/clone newid={vmid}&full=1");
        many.push(client.call(&line).await.ok());
    }
    let last = client.wait(many[29].as_str().unwrap()).await;
    assert!(last.starts_with("can't lock file ") && last.ends_with(" - got timeout"), "{last}");
    assert_eq!(client.row(329).await, json!(null));
}

#[tokio::test(start_paused = true)]
async fn an_id_is_given_to_one_vm() {
    let client = Client::small();
    client.call("POST /nodes/pve-1/qemu/9001/clone newid=200").await.ok();
    let second = client.call("POST /nodes/pve-2/qemu/9002/clone newid=200").await;
    assert_eq!(second.refusal(), (500, "unable to create VM 200: config file already exists"));
    let made = client.call("POST /nodes/pve-2/qemu vmid=200").await;
    let text = "unable to create VM 200 - VM 200 already exists on node 'pve-1'";
    assert_eq!(made.refusal(), (500, text));
}

#[tokio::test(start_paused = true)]
async fn a_linked_clone_stands_on_its_template() {
    let client = Client::small();
    client.done("POST /nodes/pve-1/qemu/9001/clone newid=200&name=web-1").await;
    let config = client.config(200).await;
    assert_eq!(config["scsi0"], "local-lvm:base-9001-disk-0/vm-200-disk-0,iothread=1,size=3G");
    let line = "POST /nodes/pve-1/qemu/9001/clone newid=201&storage=shared";
    client.refused(line, "storage").await;
    let destroyed = client.call("DELETE /nodes/pve-1/qemu/9001").await;
    assert!(destroyed.refusal().1.ends_with("base volume is still in use by VM 200"));
}

#[tokio::test(start_paused = true)]
async fn a_storage_without_room_fails_the_task_and_leaves_nothing() {
    let client = Client::small();
    client.cluster.fill("local-lvm", "pve-1", 1 << 30).unwrap();
    let status = client.task("POST /nodes/pve-1/qemu/9001/clone newid=200&full=1").await;
    assert!(status.contains("not enough free space"), "{status}");
    assert_eq!(client.row(200).await, json!(null));
    assert!(!client.cluster.volumes("local-lvm", "pve-1").keys().any(|id| id.contains("200")));
}

#[tokio::test(start_paused = true)]
async fn a_vm_is_made_from_an_image_and_becomes_a_template() {
    let client = Client::small();
    let image = "content=import&filename=noble.qcow2&url=https://images.example/noble.img";
    client.done(&format!("POST /nodes/pve-1/storage/local/download-url {image}")).await;
    let line = "POST /nodes/pve-1/qemu vmid=1000&name=noble&cores=1&memory=1024&boot=order%3Dscsi0\
                &scsi0=file%3Dlocal-lvm:0,import-from%3Dlocal:import/noble.qcow2,iothread%3Don\
                &net0=virtio,bridge%3Dvmbr0&agent=1";
    client.done(line).await;
    client.done("POST /nodes/pve-1/qemu/1000/template").await;
    let config = client.config(1000).await;
    assert_eq!(config["template"], 1);
    assert!(
        config["scsi0"].as_str().unwrap().starts_with("local-lvm:base-1000-disk-0,"),
        "{config}"
    );
    assert!(config["net0"].as_str().unwrap().starts_with("virtio=BC:24:11:"), "{config}");
    assert!(config["meta"].as_str().unwrap().ends_with("ctime=1893553465"), "{config}");
}
