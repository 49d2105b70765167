//! Who may do what.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use joiner_sim_proxmox::inventory::{Grant, TagAccess, TagPolicy};
use serde_json::json;

use crate::support::{Client, READER};

#[tokio::test(start_paused = true)]
async fn a_wrong_token_is_refused_after_three_seconds() {
    let client = Client::small();
    for token in ["kubernetes@pve!karpenter=wrong", "kubernetes@pve!Karpenter=karpenter-secret"] {
        let before = client.clock.running();
        let reply = client.with_token(token).call("GET /version").await;
        assert_eq!((reply.status, reply.body), (401, json!(null)));
        assert_eq!(client.clock.running(), before + Duration::from_secs(3));
    }
    client.cluster.rotate("kubernetes@pve!karpenter", "new").unwrap();
    assert_eq!(client.call("GET /version").await.refusal(), (401, "invalid token value!"));
    client.with_token("kubernetes@pve!karpenter=new").call("GET /version").await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_missing_privilege_is_named_with_its_path() {
    let client = Client::small().with_token(READER);
    let check = async |line: &str, text: &str| {
        let reply = client.call(line).await;
        let expected = format!("Permission check failed ({text})");
        assert_eq!(reply.refusal(), (403, expected.as_str()), "{line}");
    };
    check("POST /nodes/pve-1/qemu/9001/clone newid=200", "/vms/9001, VM.Clone").await;
    check("POST /nodes/pve-1/qemu vmid=200", "/vms/200, VM.Allocate").await;
    check("POST /nodes/pve-1/qemu/100/config cores=2", "/vms/100, VM.Config.CPU").await;
    check("POST /nodes/pve-1/qemu/100/config tags=a", "/vms/100, VM.Config.Options").await;
    check("POST /nodes/pve-1/qemu/100/status/stop", "/vms/100, VM.PowerMgmt").await;
    check("GET /pools poolid=nodes", "/pool/nodes, Pool.Audit|Pool.Allocate").await;
}

#[tokio::test(start_paused = true)]
async fn lists_show_what_a_caller_may_see() {
    let client = Client::small();
    client.cluster.grant("kubernetes@pve", vec![Grant::new("/pool/others", "VM.Audit")]).unwrap();
    let rows = client.call("GET /cluster/resources").await.ok();
    let ids: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, ["qemu/100", "node/pve-1", "node/pve-2", "node/pve-3"]);
    assert_eq!(rows[1].get("maxcpu"), None);
    let own = client.call("GET /access/permissions").await.ok();
    assert_eq!(own, json!({ "/pool/others": { "VM.Audit": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn some_keys_are_for_root_alone() {
    let client = Client::small();
    for token in [client.token.as_str(), "root@pam!api=api-secret"] {
        let reply =
            client.with_token(token).call("POST /nodes/pve-1/qemu/100/config affinity=0-3").await;
        assert_eq!(reply.refusal(), (500, "only root can set 'affinity' config"));
    }
    let skips = client.call("POST /nodes/pve-1/qemu/100/status/stop skiplock=1").await;
    assert_eq!(skips.status, 400);
}

#[tokio::test(start_paused = true)]
async fn tags_are_free_unless_the_policy_says_otherwise() {
    let client = Client::small();
    client.done("POST /nodes/pve-1/qemu/100/config tags=B%3Ba").await;
    assert_eq!(client.config(100).await["tags"], "a;b");
    client
        .cluster
        .set_tag_policy(TagPolicy { access: TagAccess::Existing, ..TagPolicy::default() });
    client.done("POST /nodes/pve-1/qemu/100/config tags=a,b,image").await;
    let reply = client.call("POST /nodes/pve-1/qemu/100/config tags=a,b,new").await;
    let text = "Permission check failed (/, Sys.Modify for modifying tag 'new')";
    assert_eq!(reply.refusal(), (403, text));
}

#[tokio::test(start_paused = true)]
async fn a_ticket_needs_its_csrf_token_to_change_anything_and_ends_after_two_hours() {
    let client = Client::small();
    let request = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let mut request = Request::builder().method(method).uri(format!("/api2/json{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Bytes::from(body.to_owned())).unwrap()
    };
    let login = "username=root&realm=pam&password=root-secret";
    let ticket = client.send(request("POST", "/access/ticket", &[], login)).await.unwrap().ok();
    let cookie = format!("PVEAuthCookie={}", ticket["ticket"].as_str().unwrap());
    let csrf = ticket["CSRFPreventionToken"].as_str().unwrap();
    let path = "/nodes/pve-1/qemu/100/config";
    let headers = [("cookie", cookie.as_str()), ("csrfpreventiontoken", csrf)];
    let bare = client.send(request("PUT", path, &headers[..1], "affinity=0-3")).await.unwrap();
    assert_eq!(bare.refusal(), (401, "Permission denied - invalid csrf token"));
    client.send(request("PUT", path, &headers, "affinity=0-3")).await.unwrap().ok();
    client.sleep(2 * 60 * 60).await;
    let late = client.send(request("GET", path, &headers, "")).await.unwrap();
    assert_eq!(late.status, 401);
}
