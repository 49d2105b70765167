//! Tags over REST.

use std::time::Duration;

use joiner_vim::{
    MoRef, VimError,
    tags::{Cardinality, NewCategory, TagError},
};
use serde_json::json as value;

use crate::scripted::{Reply, Server, json};

const SESSION: &str = "POST /rest/com/vmware/cis/session";
const CATEGORIES: &str = "GET /rest/com/vmware/cis/tagging/category";

fn server() -> Server {
    let server = Server::new();
    server.reply(SESSION, json(&value!({"value": "secret-1"})));
    server.reply("DELETE /rest/com/vmware/cis/session", json(&value!({"value": null})));
    server
}

fn at(path: &str) -> String {
    format!("GET /rest/com/vmware/cis/tagging/{path}")
}

fn association(action: &str) -> String {
    format!("POST /rest/com/vmware/cis/tagging/tag-association?~action={action}")
}

fn no_session() -> Reply {
    Reply::Status(401, value!({"type": "com.vmware.vapi.std.errors.unauthenticated"}).to_string())
}

#[tokio::test(start_paused = true)]
async fn categories_come_with_all_they_are() {
    let server = server();
    server.reply(CATEGORIES, json(&value!({"value": ["urn:c1", "urn:gone", "urn:c2"]})));
    let one = value!({"value": {"id": "urn:c1", "name": "k8s-zone", "cardinality": "SINGLE",
        "description": "", "associable_types": ["VirtualMachine"], "used_by": []}});
    let two = value!({"value": {"id": "urn:c2", "name": "owner", "cardinality": "MULTIPLE",
        "description": "", "associable_types": null}});
    server.reply(&at("category/id:urn:c1"), json(&one));
    server.reply(&at("category/id:urn:c2"), json(&two));
    server.reply(&at("category/id:urn:gone"), Reply::Status(404, "404".to_owned()));
    let categories = server.client().tags().categories().await.unwrap();
    let told: Vec<_> = categories.iter().map(|c| (&*c.name, c.cardinality)).collect();
    assert_eq!(told, [("k8s-zone", Cardinality::Single), ("owner", Cardinality::Multiple)]);
    assert_eq!(server.times(SESSION), 1);
    assert_eq!(server.log().last().unwrap().headers["vmware-api-session-id"], "secret-1");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_null_is_empty() {
    let server = server();
    server.reply(CATEGORIES, json(&value!({"value": null})));
    assert_eq!(server.client().tags().categories().await, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_begun_anew_once() {
    let server = server();
    server.reply(CATEGORIES, no_session());
    server.reply(CATEGORIES, json(&value!({"value": []})));
    server.client().tags().categories().await.unwrap();
    assert_eq!(server.times(SESSION), 2);
    server.forget(CATEGORIES).reply(CATEGORIES, no_session());
    let error = server.client().tags().categories().await.unwrap_err();
    assert_eq!(error, TagError::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_renewed_before_it_is_a_day_old() {
    let server = server();
    server.reply(CATEGORIES, json(&value!({"value": []})));
    let tags = server.client().tags();
    tags.categories().await.unwrap();
    tokio::time::sleep(Duration::from_hours(11)).await;
    tags.categories().await.unwrap();
    assert_eq!(server.times(SESSION), 1);
    tokio::time::sleep(Duration::from_hours(2)).await;
    tags.categories().await.unwrap();
    assert_eq!(server.times(SESSION), 2);
    assert_eq!(server.times("DELETE /rest/com/vmware/cis/session"), 1, "the old one is ended");
}

#[tokio::test(start_paused = true)]
async fn a_password_that_one_interface_refused_is_not_tried_at_the_other() {
    let server = server();
    server.set_password("other");
    server.forget(SESSION).reply(SESSION, no_session());
    let vim = server.client();
    let refused = vim.tags().categories().await.unwrap_err();
    assert!(matches!(refused, TagError::Vim(VimError::InvalidLogin { .. })), "{refused}");
    let refused = vim.current_time().await.unwrap_err();
    assert!(matches!(refused, VimError::InvalidLogin { .. }), "{refused}");
    assert_eq!(server.times("Login"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_made_is_asked_for_once_and_refusals_are_typed() {
    let server = server();
    let exists =
        value!({"type": "com.vmware.vapi.std.errors.already_exists", "value": {"messages": []}});
    let create = "POST /rest/com/vmware/cis/tagging/category";
    server.reply(create, Reply::Status(400, exists.to_string()));
    server.reply("POST /rest/com/vmware/cis/tagging/tag", Reply::Status(503, String::new()));
    let tags = server.client().tags();
    let category = NewCategory {
        name: "k8s-zone".to_owned(),
        description: "zones".to_owned(),
        cardinality: Cardinality::Single,
        associable_types: vec!["VirtualMachine".to_owned()],
    };
    assert_eq!(tags.create_category(&category).await, Err(TagError::AlreadyExists));
    let sent: serde_json::Value = serde_json::from_str(&server.log().pop().unwrap().body).unwrap();
    assert_eq!(
        sent,
        value!({"create_spec": {"name": "k8s-zone", "description": "zones",
            "cardinality": "SINGLE", "associable_types": ["VirtualMachine"]}})
    );
    let lost = tags.create_tag("urn:c1", "az1", "").await;
    assert_eq!(lost, Err(TagError::Vim(VimError::Http(503))));
    assert_eq!(server.times("POST /rest/com/vmware/cis/tagging/tag"), 1);
}

#[tokio::test(start_paused = true)]
async fn attaching_tells_which_tags_failed() {
    let server = server();
    let attach = association("attach-multiple-tags-to-object");
    server.reply(&attach, Reply::Broken);
    server.reply(&attach, json(&value!({"value": {"success": true, "error_messages": []}})));
    let failed = value!({"value": {"success": false, "error_messages":
        [{"default_message": "urn:t9 is gone", "id": "x", "args": []}]}});
    server.reply(&attach, json(&failed));
    let tags = server.client().tags();
    let instance = MoRef::new("VirtualMachine", "vm-1");
    tags.attach(&instance, &["urn:t1".to_owned()]).await.expect("asked again");
    let error = tags.attach(&instance, &["urn:t9".to_owned()]).await.unwrap_err();
    assert_eq!(error, TagError::Refused("urn:t9 is gone".to_owned()));
    tags.attach(&instance, &[]).await.expect("nothing is asked for nothing");
    assert_eq!(server.times(&attach), 3);
}

#[tokio::test(start_paused = true)]
async fn associations_are_asked_for_in_batches() {
    let server = server();
    let list = association("list-attached-objects-on-tags");
    server.reply(
        &list,
        json(&value!({"value": [{"tag_id": "urn:t0", "object_ids":
            [{"type": "VirtualMachine", "id": "vm-1"}]}]})),
    );
    server.reply(&list, json(&value!({"value": null})));
    let ids: Vec<String> = (0..1_200).map(|number| format!("urn:t{number}")).collect();
    let found = server.client().tags().objects_with(&ids).await.unwrap();
    assert_eq!(server.times(&list), 3);
    assert_eq!(found.len(), 1_200);
    assert_eq!(found["urn:t0"], [MoRef::new("VirtualMachine", "vm-1")]);
    assert_eq!(found["urn:t7"], [], "known to be nobody's");
}
