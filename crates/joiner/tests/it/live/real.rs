//! The same on a real API server, whose audit log tells what it was asked.
//!
//! Runs where `JOINER_CONTROL_PLANE` names a file with what `scripts/install-real-parts` printed.

use std::{env, fs};

use joiner_realparts::{
    control_plane::{ControlPlane, Options, Parts, User},
    http::{Request, Server},
};
use serde_json::{Value, json};

use super::program;

const READER: &str = "reader";

async fn create(plane: &ControlPlane, path: &str, object: Value) {
    let request = Request {
        method: "POST".into(),
        path: path.into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: Some(object.to_string()),
    };
    let answer = Server::new(plane.url(), plane.token()).send(&request).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// What a user who may only look is given, from the manifest that people apply.
async fn let_read(plane: &ControlPlane) {
    let manifest =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rbac/reader.yaml"));
    let objects: Vec<Value> = serde_saphyr::from_multiple(&manifest.unwrap()).unwrap();
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    for mut object in objects {
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        if plural == "clusterrolebindings" {
            object["subjects"] = json!([{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": READER,
            }]);
        }
        create(plane, &format!("{roles}/{plural}"), object).await;
    }
}

#[tokio::test]
async fn a_real_api_server_is_asked_for_lists_only() {
    let Some(listing) = env::var_os("JOINER_CONTROL_PLANE") else { return };
    let parts = Parts::from_listing(&fs::read_to_string(listing).unwrap()).unwrap();
    let reader = User { name: READER.to_owned(), groups: Vec::new() };
    let options = Options { audit: true, users: vec![reader], ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let config = plane.kubeconfig_of(READER).unwrap().display().to_string();
    let run = async |args: &[&str]| {
        let args = [args, &["--kubeconfig", &config]].concat();
        program(args.into_iter().map(str::to_owned).collect()).await
    };
    let pod = json!({
        "metadata": {"name": "web"},
        "spec": {"containers": [{
            "name": "app", "image": "app", "resources": {"requests": {"cpu": "1"}},
        }]},
    });
    create(&plane, "/api/v1/namespaces/default/pods", pod).await;

    let refused = run(&["plan"]).await;
    assert_eq!(refused.code, Some(2), "{refused}");
    let expected = "ask for the verb list on pods in all namespaces";
    assert!(refused.stderr.contains(expected), "{refused}");

    let_read(&plane).await;
    let without_definitions = run(&["plan"]).await;
    assert_eq!(without_definitions.code, Some(0), "{without_definitions}");
    let not_served = "the cluster does not have nodepools.karpenter.sh";
    assert!(without_definitions.stderr.contains(not_served), "{without_definitions}");

    for definition in joiner::house::definitions() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        create(&plane, path, serde_json::to_value(definition).unwrap()).await;
    }
    let dump = plane.folder().join("dump").display().to_string();
    let args = ["plan", "-o", "json", "--pending", "unbound", "--dump", &dump];
    // A definition is served a moment after it was created.
    let planned = loop {
        let planned = run(&args).await;
        assert_eq!(planned.code, Some(0), "{planned}");
        if !planned.stderr.contains("the cluster does not have") {
            break planned;
        }
    };
    let live: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(live["summary"]["pods"], 1, "{planned}");
    let explained = run(&["explain", "pod", "web", "--pending", "unbound"]).await;
    assert_eq!(explained.code, Some(0), "{explained}");

    let calls = plane.calls().unwrap();
    let ours: Vec<_> = calls.iter().filter(|call| call.user == READER).collect();
    assert!(ours.len() > 40, "{}", ours.len());
    for call in ours {
        assert!(call.reads() && call.resource != "secrets", "{call}");
    }
}
