//! Tags.

use serde_json::json;

use crate::support::Client;

const CREATE: &str = "createTags";

fn tags<'t>(id: &'t str, key: &'t str, value: &'t str) -> [(&'t str, &'t str); 4] {
    [
        ("resourcetype", "UserVm"),
        ("resourceids", id),
        ("tags[0].key", key),
        ("tags[0].value", value),
    ]
}

#[tokio::test(start_paused = true)]
async fn tags_show_on_the_vm_and_select_it() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    client.deployed("web-2", &[]).await;
    assert_eq!(
        client.done(CREATE, &tags(&id, "cluster", "prod")).await,
        json!({ "success": true })
    );
    let filter = [("tags[0].key", "cluster"), ("tags[0].value", "prod")];
    let rows = client.list("listVirtualMachines", &filter).await;
    assert_eq!((rows.len(), &rows[0]["name"]), (1, &json!("web-1")));
    assert_eq!(
        (&rows[0]["tags"][0]["key"], &rows[0]["tags"][0]["value"]),
        (&json!("cluster"), &json!("prod"))
    );
    let listed = client.list("listTags", &[("resourceid", &id), ("resourcetype", "userVM")]).await;
    assert_eq!((listed.len(), &listed[0]["resourcetype"]), (1, &json!("UserVm")));
    let delete =
        [("resourcetype", "UserVm"), ("resourceids", id.as_str()), ("tags[0].key", "cluster")];
    client.done("deleteTags", &delete).await;
    assert_eq!(client.call("listTags", &[("key", "cluster")]).await.ok(), json!({}));
    assert_eq!(client.call("listVirtualMachines", &filter).await.ok(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn several_tags_of_a_filter_are_joined_by_or() {
    let client = Client::small();
    for (name, key) in [("web-1", "a"), ("web-2", "b"), ("web-3", "c")] {
        let id = client.deployed(name, &[]).await;
        client.done(CREATE, &tags(&id, key, "1")).await;
    }
    let filter = [
        ("tags[0].key", "a"),
        ("tags[0].value", "1"),
        ("tags[1].key", "b"),
        ("tags[1].value", "1"),
    ];
    assert_eq!(client.fields("listVirtualMachines", "name", &filter).await, ["web-1", "web-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_tag_that_is_there_and_an_empty_one_fail_the_job_and_change_nothing() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    client.done(CREATE, &tags(&id, "k", "1")).await;
    let mut two = tags(&id, "new", "1").to_vec();
    two.extend([("tags[1].key", "k"), ("tags[1].value", "2")]);
    let (code, text) = client.failed(CREATE, &two).await;
    assert_eq!((code, text), (530, format!("tag k already on UserVm with id {id}")));
    let (code, text) = client.failed(CREATE, &tags(&id, "e", "")).await;
    assert_eq!((code, text.as_str()), (431, "Value for the key e is either null or empty"));
    assert_eq!(client.cloud.vms()[0].tags.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn offerings_have_no_tags_and_objects_of_others_cannot_be_tagged() {
    let client = Client::small();
    let offering = client.id("serviceoffering", "small");
    let mut wrong = tags(&offering, "k", "1");
    wrong[0].1 = "ServiceOffering";
    let (code, text) = client.failed(CREATE, &wrong).await;
    assert_eq!(
        (code, text.as_str()),
        (431, "The resource type ServiceOffering doesn't support resource tags")
    );
    wrong[0].1 = "Spaceship";
    assert_eq!(client.failed(CREATE, &wrong).await.0, 431);
    let id = client.deployed("web-1", &[]).await;
    assert_eq!(client.as_account("other").failed(CREATE, &tags(&id, "k", "1")).await.0, 531);
    let unknown = "9f1f0a3e-0000-4000-8000-000000000000";
    assert_eq!(client.failed(CREATE, &tags(unknown, "k", "1")).await.0, 431);
}

#[tokio::test(start_paused = true)]
async fn tags_go_with_their_vm() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    client.done(CREATE, &tags(&id, "k", "1")).await;
    client.cloud.expunge("web-1").unwrap();
    assert_eq!(client.call("listTags", &[("key", "k")]).await.ok(), json!({}));
}
