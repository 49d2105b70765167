//! The life of objects.

use joiner_apiserver::{Key, Resource};
use serde_json::{Value, json};

use crate::support::{send, server, watch};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn an_object_is_created_read_changed_and_deleted() {
    let server = server();
    let map = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}});
    let created = send(&server, &format!("POST {CONFIG_MAPS}"), map.clone()).await;
    assert_eq!(created.code, 201, "{created:?}");
    assert_eq!(created.text("/kind"), "ConfigMap");
    assert_eq!(created.text("/metadata/creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_eq!(created.text("/metadata/managedFields/0/manager"), "test");

    let again = send(&server, &format!("POST {CONFIG_MAPS}"), map).await;
    assert_eq!(again.refusal(), "409 AlreadyExists configmaps \"a\" already exists");

    let patch = json!({"data": {"k": null, "l": "w"}});
    let patched = send(&server, &format!("PATCH {CONFIG_MAPS}/a"), patch).await;
    assert_eq!(patched.body["data"], json!({"l": "w"}), "{patched:?}");
    assert_ne!(
        patched.text("/metadata/resourceVersion"),
        created.text("/metadata/resourceVersion")
    );

    let stale = send(&server, &format!("PUT {CONFIG_MAPS}/a"), created.body.clone()).await;
    assert_eq!((stale.code, stale.text("/reason")), (409, "Conflict"));

    let list = send(&server, &format!("GET {CONFIG_MAPS}?labelSelector=x%3D1"), Value::Null).await;
    assert_eq!(list.body["items"].as_array().unwrap().len(), 1, "{list:?}");
    assert_eq!(list.body["items"][0].get("kind"), None, "typed lists leave out the type");

    let deleted = send(&server, &format!("DELETE {CONFIG_MAPS}/a"), Value::Null).await;
    assert_eq!((deleted.code, deleted.text("/status")), (200, "Success"));
    let gone = send(&server, &format!("GET {CONFIG_MAPS}/a"), Value::Null).await;
    assert_eq!(gone.refusal(), "404 NotFound configmaps \"a\" not found");
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_from_any_version_that_is_kept() {
    let server = server();
    let start = server.version();
    for name in ["a", "b"] {
        send(&server, &format!("POST {CONFIG_MAPS}"), json!({"metadata": {"name": name}})).await;
    }
    send(&server, &format!("DELETE {CONFIG_MAPS}/a"), Value::Null).await;
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={start}");
    assert_eq!(watch(&server, &path).await, ["ADDED a", "ADDED b", "DELETED a"]);
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={}", start + 2);
    assert_eq!(watch(&server, &path).await, ["DELETED a"]);
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    assert_eq!(watch(&server, &path).await, ["ADDED b"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_is_given_time_to_stop() {
    let server = server();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    let created = send(&server, &format!("POST {pods}"), pod).await;
    assert_eq!(created.code, 201, "{created:?}");
    assert_eq!(created.text("/status/phase"), "Pending");
    let going = send(&server, &format!("DELETE {pods}/p"), Value::Null).await;
    assert_eq!(going.text("/metadata/deletionTimestamp"), "2026-01-01T00:00:30Z");
    let gone = send(&server, &format!("DELETE {pods}/p?gracePeriodSeconds=0"), Value::Null).await;
    assert_eq!(gone.code, 200);
    let gone = send(&server, &format!("GET {pods}/p"), Value::Null).await;
    assert_eq!(gone.code, 404);
}

#[tokio::test(start_paused = true)]
async fn values_are_kept_while_there_are_few_and_are_what_is_stored() {
    let server = server();
    let caller = server.caller("test");
    let maps = Resource::new("", "configmaps");
    let key = Key::new("default", "map-0");
    for number in 0..1000 {
        let name = format!("map-{number}");
        let map = json!({"metadata": {"namespace": "default", "name": name}, "data": {"k": "v"}});
        caller.create(&maps, map).unwrap();
        if number == 0 {
            caller.merge(&maps, &key, None, json!({"data": {"k": null, "l": "w"}})).unwrap();
            let map = caller.get(&maps, &key).unwrap();
            assert_eq!(map.held().as_deref(), Some(&map.value()));
            assert_eq!(
                (&map.value()["kind"], &map.value()["data"]),
                (&json!("ConfigMap"), &json!({"l": "w"}))
            );
        }
    }
    let map = caller.get(&maps, &key).unwrap();
    assert_eq!(map.held(), None);
    let changed = caller.merge(&maps, &key, None, json!({"data": {"m": "x"}})).unwrap();
    assert_eq!(changed.value()["data"], json!({"l": "w", "m": "x"}));
}
