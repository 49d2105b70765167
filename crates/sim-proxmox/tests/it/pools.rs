//! Pools.

use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_vm_is_a_member_of_one_pool() {
    let client = Client::small();
    client.done("POST /nodes/pve-1/qemu/9001/clone newid=200&pool=nodes").await;
    assert_eq!(client.row(200).await["pool"], "nodes");
    let check = async |line: &str, text: &str| {
        assert_eq!(client.call(line).await.refusal(), (500, text), "{line}");
    };
    check("PUT /pools poolid=nodes&vms=200", "VM 200 is already a pool member").await;
    let text = "VM 200 belongs already to pool 'nodes' and 'allow-move' is not set";
    check("PUT /pools poolid=others&vms=200", text).await;
    check("PUT /pools poolid=others&vms=200&delete=1", "VM 200 is not a pool member").await;
    check("PUT /pools poolid=none&vms=200", "pool 'none' does not exist").await;
    check("GET /pools poolid=none", "pool 'none' does not exist").await;
    check("POST /nodes/pve-1/qemu/9001/clone newid=201&pool=none", "pool 'none' does not exist")
        .await;
    client.call("PUT /pools poolid=others&vms=200&allow-move=1").await.ok();
    let others = client.call("GET /pools poolid=others").await.ok();
    let ids: Vec<_> =
        others[0]["members"].as_array().unwrap().iter().map(|it| it["vmid"].clone()).collect();
    assert_eq!(ids, [json!(100), json!(200)]);
    let others = client.call("GET /pools/others").await.ok();
    assert_eq!(others["members"].as_array().unwrap().len(), 2);
    client.call("PUT /pools/others vms=200&delete=1").await.ok();
    assert_eq!(client.row(200).await.get("pool"), None);
}
