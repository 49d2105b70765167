//! Tasks as they are told.

use serde_json::json;

use crate::support::{Client, READER};

#[tokio::test(start_paused = true)]
async fn a_task_has_a_status_a_log_and_a_place_in_the_list() {
    let client = Client::small();
    let upid = client.call("POST /nodes/pve-1/qemu/9001/clone newid=200").await.ok();
    let upid = upid.as_str().unwrap();
    assert_eq!(
        upid,
        "UPID:pve-1:000003E9:00000000:70DD5525:qmclone:9001:kubernetes@pve!karpenter:"
    );
    let path = format!("/nodes/pve-1/tasks/{}", upid.replace(':', "%3A").replace('!', "%21"));
    let status = client.call(&format!("GET {path}/status")).await.ok();
    assert_eq!((&status["status"], status.get("exitstatus")), (&json!("running"), None));
    let active = client.call("GET /nodes/pve-1/tasks source=active&typefilter=qmclone").await.ok();
    assert_eq!(active[0]["upid"], upid);
    assert_eq!(client.wait(upid).await, "OK");
    let log = client.call(&format!("GET {path}/log")).await.ok();
    assert_eq!(log, json!([{ "n": 1, "t": "TASK OK" }]));
    let done = client.call("GET /nodes/pve-1/tasks vmid=9001").await.ok();
    assert_eq!((&done[0]["status"], done[0]["endtime"].is_number()), (&json!("OK"), true));
    let elsewhere = client.call("GET /nodes/pve-2/tasks").await.ok();
    assert_eq!(elsewhere, json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_stopped_leaves_what_it_made() {
    let client = Client::small();
    let upid = client.call("POST /nodes/pve-1/qemu/9001/clone newid=200&full=1").await.ok();
    let upid = upid.as_str().unwrap();
    client.sleep(3).await;
    let others = client.with_token(READER).call(&format!("DELETE /nodes/pve-1/tasks/{upid}")).await;
    assert_eq!(others.refusal(), (403, "Permission check failed (/nodes/pve-1, Sys.Modify)"));
    client.call(&format!("DELETE /nodes/pve-1/tasks/{upid}")).await.ok();
    assert_eq!(client.wait(upid).await, "interrupted by signal");
    assert_eq!(client.row(200).await["lock"], "clone");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_was_is_not_known() {
    let client = Client::small();
    let upid = "UPID:pve-1:00000001:00000001:70DBD4C5:qmclone:9001:root@pam:";
    let reply = client.call(&format!("GET /nodes/pve-1/tasks/{upid}/status")).await;
    assert_eq!(reply.refusal(), (400, "upid: no such task"));
    client.refused("GET /nodes/pve-1/tasks/nonsense/status", "upid").await;
}
