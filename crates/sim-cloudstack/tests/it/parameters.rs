//! Parameters: names, types, and what a client should not have sent.

use crate::support::Client;

/// The refusal of a list of VMs with some parameters.
async fn check(parameters: &[(&str, &str)], code: u16, part: &str) {
    let client = Client::small();
    let reply = client.call("listVirtualMachines", parameters).await;
    let (found, text) = reply.refusal();
    assert_eq!(found, code, "{parameters:?}: {text}");
    assert!(text.contains(part), "{parameters:?}: {text}");
    assert_eq!(reply.envelope, "listvirtualmachinesresponse");
    assert_eq!(client.cloud.complaints().len(), 1, "{parameters:?}");
}

#[tokio::test(start_paused = true)]
async fn unknown_and_ill_typed_parameters_are_refused_and_kept() {
    check(&[("colour", "red")], 431, "has no parameter colour").await;
    check(&[("pagesize", "many"), ("page", "1")], 431, "due to invalid value many for parameter")
        .await;
    check(&[("listall", "yes")], 431, "due to invalid value yes for parameter listall").await;
    check(&[("id", "vm-1")], 431, "entity does not exist").await;
    check(&[("id", "")], 431, "Invalid parameter id value=:").await;
    check(&[("name", "a\u{1}b")], 431, "control characters").await;
    check(&[("name", &"n".repeat(256))], 431, "max allowed length 255").await;
}

#[tokio::test(start_paused = true)]
async fn an_id_of_nothing_is_refused_and_no_mistake_of_the_client() {
    let client = Client::small();
    let unknown = "9f1f0a3e-0000-4000-8000-000000000000";
    for parameter in ["id", "ids", "zoneid"] {
        let refused = client.call("listVirtualMachines", &[(parameter, unknown)]).await;
        let text = format!("Invalid parameter {parameter} value={unknown}:");
        assert!(refused.refusal().1.starts_with(&text), "{refused:?}");
        assert!(refused.refusal().1.ends_with("entity does not exist"), "{refused:?}");
        assert_eq!((refused.status, &refused.body["cserrorcode"]), (431, &4350.into()));
    }
    assert_eq!(client.cloud.complaints(), []);
}

#[tokio::test(start_paused = true)]
async fn maps_are_written_with_index_and_field() {
    check(&[("tags[0]key", "a")], 430, "name[index].field").await;
    check(&[("tags[a].key", "a")], 430, "name[index].field").await;
    check(&[("tags", "a=b")], 430, "name[index].field").await;
    check(&[("name[0].key", "a")], 430, "name[index].field").await;
    let client = Client::small();
    let refused = client.call("listVirtualMachines", &[("tags[0].key", "a")]).await;
    assert_eq!(refused.refusal(), (431, "No value is passed in for key a"));
    assert_eq!(refused.body["cserrorcode"], 4350);
}

#[tokio::test(start_paused = true)]
async fn a_missing_parameter_is_named() {
    let client = Client::small();
    let reply = client.call("deployVirtualMachine", &[]).await;
    let text = "Unable to execute API command deployvirtualmachine due to missing parameter serviceofferingid";
    assert_eq!(reply.refusal(), (431, text));
    assert_eq!(reply.body["cserrorcode"], 9999);
}

#[tokio::test(start_paused = true)]
async fn ids_that_came_with_a_later_version_may_be_anything() {
    let client = Client::small();
    let all = client.list("listServiceOfferings", &[]).await.len();
    let of_zone = client.id("zone", "zone-1");
    assert_eq!(client.list("listServiceOfferings", &[("zoneid", &of_zone)]).await.len(), all - 1);
    assert_eq!(client.list("listServiceOfferings", &[("zoneid", "zone-1")]).await.len(), all);
}

#[tokio::test(start_paused = true)]
async fn a_lenient_server_ignores_what_it_does_not_know_and_keeps_it() {
    let client = Client::small();
    client.cloud.behave(|behaviour| behaviour.strict = false);
    client.call("listZones", &[("colour", "red"), ("available", "yes")]).await.ok();
    let complaints = client.cloud.complaints();
    assert_eq!(complaints.len(), 1);
    assert_eq!(
        (complaints[0].command.as_str(), complaints[0].parameter.as_str()),
        ("listZones", "colour")
    );
}

#[tokio::test(start_paused = true)]
async fn parameters_that_are_sent_twice_are_kept() {
    let client = Client::small();
    let text = client.signed("listZones", &[("name", "zone-1")]);
    // The last one of a query counts, so that the signature holds.
    let reply = client.send(http::Method::GET, &format!("name=zone-2&{text}")).await.unwrap();
    assert_eq!(crate::support::Reply::read(&reply).ok()["zone"][0]["name"], "zone-1");
    assert_eq!(client.cloud.complaints()[0].problem, "is sent more than once");
}
