//! Tags over REST.

use std::time::Duration;

use joiner_sim_vcenter::{Inventory, inventory::Account};
use serde_json::{Value, json};

use crate::support::{ADMIN, Client, Object, Spec};

struct Tagger {
    client: Client,
    session: String,
}

impl Tagger {
    async fn of(client: Client) -> Self {
        let (status, session) = client.rest_session(ADMIN, "secret").await;
        assert_eq!(status, 200);
        Self { client, session }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let path = format!("tagging/{path}");
        self.client.rest(method, &path, Some(&self.session), &body).await
    }

    async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, mut answer) = self.ask(method, path, body).await;
        assert_eq!(status, 200, "{answer}");
        answer["value"].take()
    }

    async fn category(&self, name: &str, cardinality: &str, types: &[&str]) -> String {
        let spec = json!({ "create_spec": {
            "name": name, "description": "", "cardinality": cardinality, "associable_types": types,
        }});
        self.ok("POST", "category", spec).await.as_str().unwrap().to_owned()
    }

    async fn new_tag(&self, category: &str, name: &str) -> String {
        let spec = json!({ "create_spec": {
            "name": name, "description": "", "category_id": category,
        }});
        self.ok("POST", "tag", spec).await.as_str().unwrap().to_owned()
    }

    async fn attach(&self, object: &Object, tags: &[&str]) -> Value {
        let path = "tag-association?~action=attach-multiple-tags-to-object";
        let body = json!({ "object_id": { "type": object.0, "id": object.1 }, "tag_ids": tags });
        self.ok("POST", path, body).await
    }
}

fn kind(answer: &Value) -> &str {
    answer["type"].as_str().unwrap_or_default().rsplit('.').next().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_rest_session_is_a_session_of_its_own() {
    let client = Client::small().await;
    assert_eq!(client.rest_session(ADMIN, "wrong").await.0, 401);
    let (_, session) = client.rest_session(ADMIN, "secret").await;
    let (status, answer) = client.rest("GET", "session", Some(&session), &Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(answer["value"]["user"], json!("VSPHERE.LOCAL\\administrator"));
    // The other kind of session does not open this door.
    let soap = client.cookie.clone().unwrap().replace("vmware_soap_session=", "").replace('"', "");
    assert_eq!(client.rest("GET", "tagging/tag", Some(&soap), &Value::Null).await.0, 401);
    client.rest("DELETE", "session", Some(&session), &Value::Null).await;
    let (status, answer) = client.rest("GET", "session", Some(&session), &Value::Null).await;
    assert_eq!((status, kind(&answer)), (401, "unauthenticated"));
}

#[tokio::test(start_paused = true)]
async fn a_rest_session_ends_after_a_day_however_it_is_used() {
    let tagger = Tagger::of(Client::small().await).await;
    for _ in 0..23 {
        tagger.client.clock.sleep(Duration::from_hours(1)).await;
        tagger.ok("GET", "category", Value::Null).await;
    }
    tagger.client.clock.sleep(Duration::from_hours(1)).await;
    assert_eq!(tagger.ask("GET", "category", Value::Null).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn categories_and_tags_are_made_listed_and_read() {
    let tagger = Tagger::of(Client::small().await).await;
    assert_eq!(tagger.ok("GET", "category", Value::Null).await, json!([]));
    let zone = tagger.category("k8s-zone", "SINGLE", &["VirtualMachine"]).await;
    assert!(zone.starts_with("urn:vmomi:InventoryServiceCategory:") && zone.ends_with(":GLOBAL"));
    assert_eq!(tagger.ok("GET", "category", Value::Null).await, json!([zone]));
    let read = tagger.ok("GET", &format!("category/id:{zone}"), Value::Null).await;
    assert_eq!((&read["name"], &read["cardinality"]), (&json!("k8s-zone"), &json!("SINGLE")));
    let az1 = tagger.new_tag(&zone, "az1").await;
    let read = tagger.ok("GET", &format!("tag/id:{az1}"), Value::Null).await;
    assert_eq!((&read["name"], &read["category_id"]), (&json!("az1"), &json!(zone)));
    let list = format!("tag/id:{zone}?~action=list-tags-for-category");
    assert_eq!(tagger.ok("POST", &list, Value::Null).await, json!([az1]));
}

#[tokio::test(start_paused = true)]
async fn names_are_given_once_and_what_is_not_there_is_not_found() {
    let tagger = Tagger::of(Client::small().await).await;
    let zone = tagger.category("zone", "SINGLE", &[]).await;
    tagger.new_tag(&zone, "a").await;
    let spec = json!({ "create_spec": {
        "name": "zone", "cardinality": "SINGLE", "associable_types": [],
    }});
    let (status, answer) = tagger.ask("POST", "category", spec).await;
    assert_eq!((status, kind(&answer)), (400, "already_exists"));
    let tag = json!({ "create_spec": { "name": "a", "category_id": zone } });
    let (status, answer) = tagger.ask("POST", "tag", tag).await;
    assert_eq!((status, kind(&answer)), (400, "already_exists"));
    let (status, answer) = tagger.ask("GET", "tag/id:urn:none", Value::Null).await;
    assert_eq!((status, kind(&answer)), (404, "not_found"));
    let (status, answer) = tagger.ask("POST", "tag", json!({})).await;
    assert_eq!((status, kind(&answer)), (400, "invalid_argument"));
}

#[tokio::test(start_paused = true)]
async fn tags_are_attached_many_at_once_and_found_from_both_sides() {
    let tagger = Tagger::of(Client::small().await).await;
    let vm = tagger.client.clone_vm("web", &Spec::default()).await.unwrap();
    let (zone, owner) = (
        tagger.category("zone", "SINGLE", &[]).await,
        tagger.category("owner", "MULTIPLE", &[]).await,
    );
    let (a, x) = (tagger.new_tag(&zone, "a").await, tagger.new_tag(&owner, "x").await);
    let attached = tagger.attach(&vm, &[&a, &x]).await;
    assert_eq!(attached, json!({ "success": true, "error_messages": [] }));
    // Twice is as good as once.
    assert_eq!(tagger.attach(&vm, &[&a]).await["success"], json!(true));
    let pairs = [("owner", "x"), ("zone", "a")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(tagger.client.vcenter.vm("web").unwrap().tags, pairs);
    let of = json!({ "type": vm.0, "id": vm.1 });
    let path = "tag-association?~action=list-attached-objects-on-tags";
    let objects = tagger.ok("POST", path, json!({ "tag_ids": [a] })).await;
    assert_eq!(objects, json!([{ "tag_id": a, "object_ids": [of] }]));
    let path = "tag-association?~action=list-attached-tags-on-objects";
    let tags = tagger.ok("POST", path, json!({ "object_ids": [of] })).await;
    assert_eq!(tags[0]["tag_ids"].as_array().unwrap().len(), 2);
    let path = "tag-association?~action=detach-multiple-tags-from-object";
    tagger.ok("POST", path, json!({ "object_id": of, "tag_ids": [x] })).await;
    assert_eq!(tagger.client.vcenter.vm("web").unwrap().tags.len(), 1);
    tagger.client.run("Destroy_Task", &vm, "").await.unwrap();
    let objects = format!("tag-association/id:{a}?~action=list-attached-objects");
    assert_eq!(tagger.ok("POST", &objects, json!({})).await, json!([]));
}

#[tokio::test(start_paused = true)]
async fn cardinality_and_types_are_kept() {
    let tagger = Tagger::of(Client::small().await).await;
    let vm = tagger.client.clone_vm("web", &Spec::default()).await.unwrap();
    let zone = tagger.category("zone", "SINGLE", &["VirtualMachine"]).await;
    let hosts = tagger.category("rack", "MULTIPLE", &["HostSystem"]).await;
    let (a, b) = (tagger.new_tag(&zone, "a").await, tagger.new_tag(&zone, "b").await);
    let rack = tagger.new_tag(&hosts, "r1").await;
    let outcome = tagger.attach(&vm, &[&a, &b, &rack]).await;
    assert_eq!(outcome["success"], json!(false));
    assert_eq!(outcome["error_messages"].as_array().unwrap().len(), 2, "{outcome}");
    assert_eq!(
        tagger.client.vcenter.vm("web").unwrap().tags,
        [("zone".to_owned(), "a".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn who_may_not_make_categories_is_told_so() {
    let mut inventory = Inventory::small();
    let tagger = Account::new("tagger", "pw").grant(
        "/",
        true,
        &["InventoryService.Tagging.AttachTag", "InventoryService.Tagging.ObjectAttachable"],
    );
    inventory.accounts.push(tagger);
    let client = Client::admin(inventory).await;
    client.vcenter.tag("/dc1/host/cluster1", "zone", "a").unwrap();
    let (_, session) = client.rest_session("tagger", "pw").await;
    let spec = json!({ "create_spec": {
        "name": "new", "cardinality": "SINGLE", "associable_types": [],
    }});
    let (status, answer) = client.rest("POST", "tagging/category", Some(&session), &spec).await;
    assert_eq!((status, kind(&answer)), (403, "unauthorized"));
    let (status, tags) = client.rest("GET", "tagging/tag", Some(&session), &Value::Null).await;
    assert_eq!((status, tags["value"].as_array().unwrap().len()), (200, 1));
}
