//! What a cluster tells of itself, and nodes that go away.

use serde_json::json;

use crate::support::{Client, READER};

#[tokio::test(start_paused = true)]
async fn rows_tell_nodes_storages_vms_and_containers() {
    let client = Client::small();
    let rows = client.call("GET /cluster/resources").await.ok();
    let find = |id: &str| rows.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
    let mail = find("qemu/100");
    assert_eq!((&mail["name"], &mail["status"]), (&json!("mail"), &json!("running")));
    assert_eq!((&mail["pool"], &mail["maxmem"]), (&json!("others"), &json!(4_u64 << 30)));
    assert_eq!(find("lxc/101")["node"], "pve-2");
    assert_eq!(find("qemu/9001")["template"], 1);
    let node = find("node/pve-1");
    assert_eq!((&node["status"], &node["maxcpu"]), (&json!("online"), &json!(16)));
    let shared = find("storage/pve-3/shared");
    assert_eq!((&shared["shared"], &shared["content"]), (&json!(1), &json!("images,iso,import")));
}

#[tokio::test(start_paused = true)]
async fn the_next_id_is_a_text_and_the_lowest_that_is_free() {
    let client = Client::small();
    assert_eq!(client.call("GET /cluster/nextid").await.ok(), "102");
    assert_eq!(client.call("GET /cluster/nextid vmid=500").await.ok(), "500");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_away_answers_no_more_and_its_tasks_break() {
    let client = Client::small();
    let upid = client.call("POST /nodes/pve-1/qemu/9001/clone newid=200&full=1").await.ok();
    client.cluster.set_online("pve-1", false).unwrap();
    let reply = client.call("GET /nodes/pve-1/qemu/100/config").await;
    assert_eq!(reply.refusal(), (595, "No route to host"));
    assert_eq!(client.row(100).await["status"], "unknown");
    client.cluster.set_online("pve-1", true).unwrap();
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "unexpected status");
    // What the clone left is locked and nameless, and nothing works on it any more.
    assert_eq!(client.config(200).await["lock"], "clone");
    let status = client.call("GET /nodes/pve-1/qemu/100/status/current").await.ok();
    assert_eq!(status["status"], "stopped");
}

#[tokio::test(start_paused = true)]
async fn without_a_quorum_nothing_is_changed() {
    let client = Client::small();
    client.cluster.set_quorum(false);
    let reply = client.call("POST /nodes/pve-1/qemu/9001/clone newid=200").await;
    assert_eq!(reply.refusal(), (500, "cluster not ready - no quorum?"));
    let status = client.call("GET /cluster/status").await.ok();
    assert_eq!((&status[0]["quorate"], &status[0]["nodes"]), (&json!(0), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn high_availability_acts_after_its_task_is_done() {
    let client = Client::small();
    client.cloned(200).await;
    client
        .with_token("root@pam!api=api-secret")
        .call("POST /cluster/ha/resources sid=vm:200&state=stopped")
        .await
        .ok();
    let upid = client.call("POST /nodes/pve-1/qemu/200/status/start").await.ok();
    assert!(upid.as_str().unwrap().contains(":hastart:200:"), "{upid}");
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    let status = async || client.call("GET /nodes/pve-1/qemu/200/status/current").await.ok();
    assert_eq!(status().await["status"], "stopped");
    client.sleep(10).await;
    assert_eq!(
        (&status().await["status"], &status().await["ha"]),
        (&json!("running"), &json!({ "managed": 1 }))
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_tell_their_processors_and_bridges() {
    let client = Client::small();
    let status = client.call("GET /nodes/pve-2/status").await.ok();
    assert_eq!(
        (&status["cpuinfo"]["cpus"], &status["cpuinfo"]["sockets"]),
        (&json!(16), &json!(1))
    );
    let bridges = client.call("GET /nodes/pve-2/network type=any_bridge").await.ok();
    assert_eq!(
        (&bridges[0]["iface"], &bridges[0]["cidr"]),
        (&json!("vmbr0"), &json!("192.0.2.2/24"))
    );
    assert_eq!(bridges.as_array().unwrap().len(), 2);
    let reader = client.with_token(READER);
    assert_eq!(reader.call("GET /nodes/pve-2/network").await.ok(), json!([]));
    assert_eq!(reader.call("GET /cluster/firewall/groups").await.ok()[0]["group"], "kubernetes");
    let mapping = client.call("GET /cluster/mapping/pci check-node=pve-2").await.ok();
    assert_eq!(
        (&mapping[0]["id"], &mapping[0]["checks"][0]["severity"]),
        (&json!("gpu"), &json!("warning"))
    );
    assert_eq!(client.call("GET /version").await.ok()["release"], "9.1");
}
