//! Requests and answers as HTTP has them.

use bytes::Bytes;
use http::Request;
use joiner_sim_proxmox::inventory::ErrorStyle;
use serde_json::json;

use crate::support::{Client, PROVIDER};

#[tokio::test(start_paused = true)]
async fn the_reason_phrase_has_the_text_in_both_styles_of_errors() {
    let client = Client::small();
    let text = "Configuration file 'nodes/pve-2/qemu-server/100.conf' does not exist";
    let reply = client.call("GET /nodes/pve-2/qemu/100/config").await;
    assert_eq!(reply.refusal(), (500, text));
    assert_eq!(reply.body, json!({ "data": null, "message": format!("{text}\n") }));
    client.cluster.behave(|it| it.errors = ErrorStyle::Reason);
    let reply = client.call("GET /nodes/pve-2/qemu/100/config").await;
    assert_eq!((reply.refusal(), &reply.body), ((500, text), &json!({ "data": null })));
    let reply = client.call("GET /cluster/nextid vmid=100").await;
    assert_eq!(reply.refusal(), (400, "Parameter verification failed."));
    let errors = json!({ "vmid": "VM 100 already exists" });
    assert_eq!(reply.body, json!({ "data": null, "errors": errors }));
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_and_contents_are_not_implemented() {
    let client = Client::small();
    let reply = client.call("POST /cluster/resources").await;
    assert_eq!(reply.refusal(), (501, "Method 'POST /cluster/resources' not implemented"));
    let request = |method: &str, body: &'static [u8], kind: &str| {
        Request::builder()
            .method(method)
            .uri("/api2/json/nodes/pve-1/qemu/100/config")
            .header("authorization", format!("PVEAPIToken={PROVIDER}"))
            .header("content-type", kind)
            .body(Bytes::from_static(body))
            .unwrap()
    };
    let reply = client.send(request("GET", b"{}", "application/json")).await.unwrap();
    assert_eq!(reply.refusal(), (501, "Unexpected content for method 'GET'"));
    let json = br#"{ "cores": 3, "onboot": true, "name": "mail-2" }"#;
    client.send(request("PUT", json, "application/json")).await.unwrap().ok();
    assert_eq!(
        (&client.config(100).await["cores"], &client.config(100).await["onboot"]),
        (&json!(3), &json!(1))
    );
    // A semicolon that is not encoded ends the pair, so what is after it is another parameter.
    let broken = request("PUT", b"tags=a;b", "application/x-www-form-urlencoded");
    let reply = client.send(broken).await.unwrap();
    assert_eq!((reply.status, reply.body["errors"].get("b").is_some()), (400, true));
}
