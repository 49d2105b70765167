//! Who calls, how requests are signed, and what answers look like.

use http::Method;
use jiff::SignedDuration;
use joiner_sim_cloudstack::Inventory;
use serde_json::json;

use crate::support::{Client, Reply};

const NOT_ALLOWED: &str = "unable to verify user credentials and/or request signature";

#[tokio::test(start_paused = true)]
async fn a_signed_request_is_answered_in_an_envelope_named_after_the_command() {
    let client = Client::small();
    let reply = client.call("listZones", &[("name", "zone-1")]).await;
    assert_eq!((reply.status, reply.envelope.as_str()), (200, "listzonesresponse"));
    assert_eq!(reply.body["count"], 1);
    assert_eq!(reply.body["zone"][0]["allocationstate"], "Enabled");
    let reply = client.call("LISTzones", &[("NAME", "nowhere")]).await;
    assert_eq!((reply.envelope.as_str(), reply.body), ("listzonesresponse", json!({})));
    assert_eq!(client.cloud.complaints(), []);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_signature_an_unknown_key_and_a_disabled_account_are_unauthorized() {
    let client = Client::small();
    let wrong = [
        Client { secret: "another".to_owned(), ..client.clone() },
        Client { key: "unknown".to_owned(), ..client.clone() },
        Client { key: String::new(), ..client.clone() },
    ];
    for wrong in wrong {
        let reply = wrong.call("listZones", &[]).await;
        assert_eq!(reply.refusal(), (401, NOT_ALLOWED));
        assert_eq!(reply.envelope, "listzonesresponse");
        assert_eq!(reply.body.get("cserrorcode"), None);
        assert_eq!(reply.body["uuidList"], json!([]));
    }
    client.cloud.set_account("user", false).unwrap();
    assert_eq!(client.call("listZones", &[]).await.refusal().0, 401);
    client.cloud.set_account("user", true).unwrap();
    client.cloud.rotate_key("user", "new-key", "new-secret").unwrap();
    assert_eq!(client.call("listZones", &[]).await.refusal().0, 401);
    let rotated = Client { key: "new-key".into(), secret: "new-secret".into(), ..client };
    rotated.call("listZones", &[]).await.ok();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_command_and_a_missing_one_are_unauthorized_in_an_error_envelope() {
    let client = Client::small();
    for command in ["listEverything", ""] {
        let reply = client.call(command, &[]).await;
        assert_eq!(reply.refusal(), (401, NOT_ALLOWED));
        assert_eq!(reply.envelope, "errorresponse");
    }
}

#[tokio::test(start_paused = true)]
async fn version_3_expires_by_the_clock_of_the_server() {
    let client = Client::small();
    let status = async |client: &Client, expires: &str| {
        let parameters = [("signatureVersion", "3"), ("expires", expires)];
        client.call("listZones", &parameters).await.status
    };
    assert_eq!(status(&client, "2030-01-02T03:14:05Z").await, 200);
    assert_eq!(status(&client, "2030-01-02T03:14:05+0000").await, 200);
    assert_eq!(status(&client, "2030-01-02T03:04:04Z").await, 401);
    assert_eq!(status(&client, "never").await, 401);
    // Without version 3 the time does not count.
    let old = client.call("listZones", &[("expires", "2001-01-01T00:00:00Z")]).await;
    assert_eq!(old.status, 200);
    client.cloud.behave(|behaviour| behaviour.clock_skew = SignedDuration::from_mins(11));
    assert_eq!(status(&client, "2030-01-02T03:14:05Z").await, 401);
    let answer = client.send(Method::GET, &client.signed("listZones", &[])).await.unwrap();
    assert_eq!(answer.headers()["date"], "Wed, 02 Jan 2030 03:15:05 GMT");
}

#[tokio::test(start_paused = true)]
async fn a_server_may_insist_on_post_and_on_times() {
    let client = Client::small();
    client.cloud.behave(|behaviour| behaviour.enforce_post = true);
    let timed = [("signatureversion", "3"), ("expires", "2030-01-02T03:19:04Z")];
    client.call("listZones", &timed).await.ok();
    assert_eq!(client.call("listZones", &[]).await.status, 401);
    let late = [("signatureversion", "3"), ("expires", "2030-01-02T03:19:06Z")];
    assert_eq!(client.call("listZones", &late).await.status, 401);
    let text = client.signed("createTags", &timed);
    let got = Reply::read(&client.send(Method::GET, &text).await.unwrap());
    assert_eq!(got.refusal().0, 400);
    let posted = Reply::read(&client.send(Method::POST, &text).await.unwrap());
    assert_eq!(posted.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn parameters_come_from_the_query_and_from_the_form() {
    let client = Client::small();
    let both = client.signed("listZones", &[("name", "zone-1")]);
    let (query, form) = both.split_once('&').unwrap();
    let request = http::Request::post(format!("/client/api?{query}"));
    let request = request.body(bytes::Bytes::from(form.to_owned())).unwrap();
    let reply = Reply::read(&client.cloud.answer(request).await.unwrap());
    assert_eq!(reply.ok()["count"], 1);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_ask_for_json_gets_xml() {
    let client = Client::small();
    let text = client.sign(&[("command", "listZones"), ("apikey", &client.key)]);
    let answer = client.send(Method::GET, &text).await.unwrap();
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/xml"));
    assert!(answer.body().ends_with(b"<listzonesresponse/>"));
}

#[tokio::test(start_paused = true)]
async fn other_paths_and_long_lines_are_answered_by_the_web_server() {
    let client = Client::small();
    let long = "x".repeat(9_000);
    let status = async |request: http::request::Builder| {
        let answer = client.cloud.answer(request.body(bytes::Bytes::new()).unwrap()).await.unwrap();
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
        answer.status().as_u16()
    };
    assert_eq!(status(http::Request::get("/")).await, 404);
    assert_eq!(status(http::Request::put("/client/api")).await, 405);
    assert_eq!(status(http::Request::get(format!("/client/api?a={long}"))).await, 414);
}

#[tokio::test(start_paused = true)]
async fn calls_are_logged_with_account_and_outcome() {
    let client = Client::small();
    client.call("listZones", &[]).await.ok();
    client.as_account("admin").call("listZones", &[("page", "1")]).await.refusal();
    let calls = client.cloud.calls();
    let calls: Vec<_> = calls
        .iter()
        .map(|call| (call.method.as_str(), call.caller.as_str(), call.outcome.as_str()))
        .collect();
    assert_eq!(calls, [("listZones", "user", "ok"), ("listZones", "admin", "431")]);
    assert_eq!(client.cloud.count("listZones"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_inventory_that_does_not_hold_together_is_an_error() {
    let mut inventory = Inventory::small();
    "zone-9".clone_into(&mut inventory.networks[0].zone);
    let clock = joiner_clock::Clock::wall();
    let error = joiner_sim_cloudstack::CloudStack::new(inventory, clock).unwrap_err();
    assert_eq!(error.to_string(), "the inventory has no zone \"zone-9\", to which nodes refers");
}
