//! kube's client and runtime on the laboratory: what every controller in Rust is built on must not
//! notice that there is no cluster.

mod watching;

use expect_test::expect;
use jiff::SignedDuration;
use joiner_api::node_pool::NodePool;
use joiner_lab::{Lab, Setup, cluster::instances::InstanceSpec};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Pod},
        policy::v1::PodDisruptionBudget,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An API server without a cluster.
fn bare() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

/// A client of the laboratory.
fn connect(lab: &Lab, name: &str) -> Client {
    Client::new(lab.client(name).connect(), "default")
}

/// An object of a kind from its JSON.
fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// How a call ended, as its caller sees it.
fn outcome<T>(result: Result<T, kube::Error>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(kube::Error::Api(status)) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            let causes: Vec<&str> = causes.map(|cause| cause.message.as_str()).collect();
            format!("{} {}: {} {causes:?}", status.code, status.reason, status.message)
        }
        Err(other) => other.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn objects_are_written_and_read() {
    let lab = bare();
    let maps: Api<ConfigMap> = Api::default_namespaced(connect(&lab, "operator"));
    let map: ConfigMap = object(json!({"metadata": {"name": "one"}, "data": {"a": "1"}}));
    let params = PostParams::default();
    let mut lines = vec![
        format!("get before: {}", outcome(maps.get("one").await)),
        format!("get_opt before: {:?}", maps.get_opt("one").await.unwrap().is_some()),
        format!("create: {}", outcome(maps.create(&params, &map).await)),
        format!("create again: {}", outcome(maps.create(&params, &map).await)),
    ];
    let old = maps.get("one").await.unwrap();
    let merge = Patch::Merge(json!({"data": {"b": "2"}}));
    lines.push(format!("merge: {}", outcome(maps.patch("one", &<_>::default(), &merge).await)));
    lines.push(format!("replace: {}", outcome(maps.replace("one", &params, &old).await)));
    let listed = maps.list(&ListParams::default()).await.unwrap();
    lines.push(format!("list: {:?}", listed.items.iter().map(|map| &map.data).collect::<Vec<_>>()));
    let gone = maps.delete("one", &DeleteParams::default()).await;
    lines.push(format!("delete: {}", outcome(gone)));
    let gone = maps.delete("one", &DeleteParams::default()).await;
    lines.push(format!("delete again: {}", outcome(gone)));
    expect![[r#"
        get before: 404 NotFound: configmaps "one" not found []
        get_opt before: false
        create: ok
        create again: 409 AlreadyExists: configmaps "one" already exists []
        merge: ok
        replace: 409 Conflict: Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again []
        list: [Some({"a": "1", "b": "2"})]
        delete: ok
        delete again: 404 NotFound: configmaps "one" not found []"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn strategic_patches_merge_lists_by_their_keys() {
    let lab = bare();
    let deployments: Api<Deployment> = Api::default_namespaced(connect(&lab, "operator"));
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "a"}, {"name": "side", "image": "s"}]},
    });
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    });
    deployments.create(&PostParams::default(), &object(deployment)).await.unwrap();
    let containers = json!([{"name": "app", "image": "b"}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let patched =
        deployments.patch("web", &PatchParams::default(), &Patch::Strategic(&patch)).await.unwrap();
    let images = |deployment: Deployment| -> Vec<String> {
        let spec = deployment.spec.template.spec.unwrap();
        spec.containers.into_iter().filter_map(|container| container.image).collect()
    };
    assert_eq!(images(patched), ["b", "s"]);
    let patched =
        deployments.patch("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(images(patched), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn apply_respects_what_others_own_unless_forced() {
    let lab = bare();
    let maps: Api<ConfigMap> = Api::default_namespaced(connect(&lab, "operator"));
    let map = |value: &str| {
        Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "one"}, "data": {"a": value},
        }))
    };
    let (ours, theirs) = (PatchParams::apply("ours"), PatchParams::apply("theirs"));
    let lines = [
        format!("ours creates: {}", outcome(maps.patch("one", &ours, &map("1")).await)),
        format!("theirs agrees: {}", outcome(maps.patch("one", &theirs, &map("1")).await)),
        format!("theirs differs: {}", outcome(maps.patch("one", &theirs, &map("2")).await)),
        format!("forced: {}", outcome(maps.patch("one", &theirs.clone().force(), &map("2")).await)),
        format!("ours again: {}", outcome(maps.patch("one", &ours, &map("1")).await)),
    ];
    expect![[r#"
        ours creates: ok
        theirs agrees: ok
        theirs differs: 409 Conflict: Apply failed with 1 conflict: conflict with "ours": .data.a ["conflict with \"ours\""]
        forced: ok
        ours again: 409 Conflict: Apply failed with 1 conflict: conflict with "theirs": .data.a ["conflict with \"theirs\""]"#]].assert_eq(&lines.join("\n"));
    let managers = maps.get("one").await.unwrap().metadata.managed_fields.unwrap();
    let managers: Vec<_> = managers.into_iter().filter_map(|entry| entry.manager).collect();
    assert_eq!(managers, ["theirs"]);
}

#[tokio::test(start_paused = true)]
async fn custom_resources_work_as_soon_as_they_are_defined() {
    let lab = bare();
    let client = connect(&lab, "operator");
    let pools: Api<NodePool> = Api::all(client.clone());
    let mut lines = vec![format!("before: {}", outcome(pools.list(&<_>::default()).await))];
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    for definition in joiner_api::crd::crds() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    let class = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let spec = json!({"template": {"spec": {"requirements": [], "nodeClassRef": class}}});
    let pool: NodePool = object(json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": "general"}, "spec": spec,
    }));
    let made = pools.create(&PostParams::default(), &pool).await.unwrap();
    lines.push(format!("defaults: {:?}", made.spec.disruption.is_some()));
    let heavy = Patch::Merge(json!({"spec": {"weight": 1000}}));
    let heavy = pools.patch("general", &PatchParams::default(), &heavy).await;
    lines.push(format!("too heavy: {}", outcome(heavy)));
    let status = Patch::Merge(json!({"status": {"nodes": 3}, "spec": {"weight": 7}}));
    let written = pools.patch_status("general", &PatchParams::default(), &status).await.unwrap();
    let nodes = written.status.as_ref().and_then(|status| status.nodes);
    lines.push(format!("status: {nodes:?}, weight {:?}", written.spec.weight));
    lines.push(format!("generation: {:?}", written.metadata.generation));
    let mut stale = made;
    stale.spec.weight = Some(5);
    let replaced = pools.replace("general", &PostParams::default(), &stale).await;
    lines.push(format!("replace with an old version: {}", outcome(replaced)));
    let mut status = written.clone();
    status.status.as_mut().unwrap().nodes = Some(4);
    let replaced = pools.replace_status("general", &PostParams::default(), &status).await;
    lines.push(format!("replace status: {}", outcome(replaced)));
    expect![[r#"
        before: 404 Failed to parse error data: 404 page not found []
        defaults: true
        too heavy: 422 Invalid: NodePool.karpenter.sh "general" is invalid: spec.weight: Invalid value: 1000: spec.weight in body should be less than or equal to 100 ["Invalid value: 1000: spec.weight in body should be less than or equal to 100"]
        status: Some(3), weight None
        generation: Some(1)
        replace with an old version: 409 Conflict: Operation cannot be fulfilled on nodepools.karpenter.sh "general": the object has been modified; please apply your changes to the latest version and try again []
        replace status: ok"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn evictions_wait_for_budgets() {
    let mut lab = Lab::new(Setup::new(1));
    lab.instances().boot(InstanceSpec::new("instance")).unwrap();
    let client = connect(&lab, "operator");
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client);
    let selector = json!({"matchLabels": {"app": "web"}});
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    });
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": selector, "template": template},
    });
    let budget =
        json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 2, "selector": selector}});
    let params = PostParams::default();
    lab.beside(async {
        deployments.create(&params, &object(deployment)).await.unwrap();
        budgets.create(&params, &object(budget)).await.unwrap();
    })
    .await;
    lab.pass(SignedDuration::from_mins(5)).await;

    let name = pods.list(&ListParams::default()).await.unwrap().items[0].name_any();
    let refused = outcome(pods.evict(&name, &EvictParams::default()).await);
    expect![[r#"429 TooManyRequests: Cannot evict pod as it would violate the pod's disruption budget. ["The disruption budget web needs 2 healthy pods and has 2 currently"]"#]].assert_eq(&refused);

    let fewer = Patch::Merge(json!({"spec": {"minAvailable": 1}}));
    budgets.patch("web", &PatchParams::default(), &fewer).await.unwrap();
    lab.pass(SignedDuration::from_secs(1)).await;
    let status = pods.evict(&name, &EvictParams::default()).await.unwrap();
    assert!(status.is_success(), "{status:?}");
    lab.pass(SignedDuration::from_mins(2)).await;
    let left = pods.list(&ListParams::default()).await.unwrap();
    assert!(left.items.len() == 2 && left.items.iter().all(|pod| pod.name_any() != name));
    assert_eq!(joiner_lab::checks::all(lab.history()), []);
}

#[tokio::test(start_paused = true)]
async fn pages_make_up_the_whole_list() {
    let lab = bare();
    let maps: Api<ConfigMap> = Api::default_namespaced(connect(&lab, "operator"));
    for number in 0..25 {
        let map = object(json!({"metadata": {"name": format!("map-{number:02}")}}));
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let mut params = ListParams::default().limit(10);
    let mut sizes = Vec::new();
    loop {
        let page = maps.list(&params).await.unwrap();
        sizes.push(page.items.len());
        // A later page is of the same moment as the first, whatever happens in between.
        let _ = maps.delete("map-24", &DeleteParams::default()).await;
        match page.metadata.continue_ {
            Some(token) if !token.is_empty() => params = params.continue_token(&token),
            _ => break,
        }
    }
    assert_eq!(sizes, [10, 10, 5]);
}
