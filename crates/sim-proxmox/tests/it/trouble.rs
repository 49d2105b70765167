//! What a script makes go wrong.

use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn calls_are_refused_and_answers_are_lost() {
    let client = Client::small();
    client
        .cluster
        .trouble("fail 500 \"got lock request timeout\" on config of 100\nlost after on clone")
        .unwrap();
    let reply = client.call("GET /nodes/pve-1/qemu/100/config").await;
    assert_eq!(reply.refusal(), (500, "got lock request timeout"));
    client.config(100).await;
    assert!(client.try_call("POST /nodes/pve-1/qemu/9001/clone newid=200").await.is_err());
    assert_eq!(client.row(200).await["lock"], "clone");
    assert_eq!(client.cluster.troubled(), 2);
    assert_eq!(client.cluster.count("POST /nodes/{node}/qemu/{vmid}/clone"), 1);
    let last = client.cluster.calls();
    let lost = last.iter().find(|call| call.outcome == "lost, took effect").unwrap();
    assert_eq!(
        (lost.object.as_str(), lost.caller.as_str()),
        ("/nodes/pve-1/qemu/9001/clone", "kubernetes@pve!karpenter")
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_fail_clean_up_break_warn_and_get_lost() {
    let client = Client::small();
    client.cluster.trouble("task fails \"no luck\" on clone").unwrap();
    let clone = "POST /nodes/pve-1/qemu/9001/clone newid=200&full=1";
    assert_eq!(client.task(clone).await, "no luck");
    assert_eq!(client.row(200).await, json!(null));
    client.cluster.trouble("task breaks \"unexpected status\" on clone").unwrap();
    assert_eq!(client.task(clone).await, "unexpected status");
    assert_eq!(client.config(200).await.as_object().unwrap().len(), 2);
    client.cluster.behave(|it| it.destroys_broken_clones = false);
    let locked = client.call("DELETE /nodes/pve-1/qemu/200").await;
    assert_eq!(locked.refusal(), (500, "VM is locked (clone)"));
    client.cluster.behave(|it| it.destroys_broken_clones = true);
    client.done("DELETE /nodes/pve-1/qemu/200").await;
    client.cluster.trouble("task warns 1 on clone").unwrap();
    assert_eq!(client.task(clone).await, "WARNINGS: 1");
    client.cluster.trouble("task lost on start").unwrap();
    let upid = client.call("POST /nodes/pve-1/qemu/200/status/start").await.ok();
    let status =
        client.call(&format!("GET /nodes/pve-1/tasks/{}/status", upid.as_str().unwrap())).await;
    assert_eq!(status.refusal(), (400, "upid: no such task"));
    client.sleep(3).await;
    assert_eq!(client.cluster.vms().iter().filter(|vm| vm.running).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_ends_keeps_its_lock_until_it_is_stopped() {
    let client = Client::small();
    client.cloned(200).await;
    client.cluster.trouble("task never ends on start").unwrap();
    let upid = client.call("POST /nodes/pve-1/qemu/200/status/start").await.ok();
    client.sleep(3600).await;
    let blocked = client.task("POST /nodes/pve-1/qemu/200/config cores=4").await;
    assert!(blocked.ends_with("got timeout"), "{blocked}");
    client.call(&format!("DELETE /nodes/pve-1/tasks/{}", upid.as_str().unwrap())).await.ok();
    client.done("POST /nodes/pve-1/qemu/200/config cores=4").await;
}

#[tokio::test(start_paused = true)]
async fn the_script_of_the_documentation_is_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sim-proxmox.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```text\n").unwrap();
    let (script, _) = after.split_once("```").unwrap();
    let client = Client::small();
    client.cluster.trouble(script).unwrap();
    let problem = client.cluster.trouble("task falls").unwrap_err();
    assert!(problem.to_string().starts_with("line 1 of the fault script"), "{problem}");
}
