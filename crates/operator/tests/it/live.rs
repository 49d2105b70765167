//! Reading a cluster by lists alone, and what stands in the way of it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use expect_test::expect;
use http::{Request, Response};
use joiner_api::node_pool::NodePool;
use joiner_apiserver::{Body, Status, refusal};
use joiner_cloud::testing::TEST_NODE_CLASS;
use joiner_lab::Connection;
use joiner_operator::{
    live::{self, Live},
    world::Wanted,
};

use serde_json::json;

use crate::{
    roles::Roles,
    stage::{Stage, pool},
};

fn wanted() -> Wanted {
    Wanted { classes: vec![TEST_NODE_CLASS], ..Wanted::default() }
}

/// Reads a cluster as somebody with these roles, or says everything that stands in the way.
async fn read(stage: &Stage, roles: &Roles, wanted: &Wanted) -> Result<Live, String> {
    let connection = roles.guard(stage.lab.client("reader").connect());
    let client = kube::Client::new(connection, "default");
    let read = live::read(&client, wanted, &[]).await;
    read.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })
}

#[tokio::test(start_paused = true)]
async fn every_kind_that_may_be_listed_is_read() {
    let stage = Stage::bare();
    stage.create_pool("general");
    let live = read(&stage, &Roles::default(), &wanted()).await.unwrap();
    assert_eq!(live.objects.node_pools.len(), 1);
    assert_eq!(live.objects.node_classes.len(), 1);
    assert!(live.read.contains("nodeoverlays.karpenter.sh"), "{:?}", live.read);
    assert_eq!(live.notes, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_may_not_be_listed_are_all_named_at_once() {
    let stage = Stage::bare();
    let roles = Roles::default();
    roles.deny("list", "pods");
    roles.deny("list", "daemonsets");
    let refused = read(&stage, &roles, &wanted()).await.unwrap_err();
    expect![[r#"
        pods may not be listed (pods is forbidden: User "joiner" cannot list resource "pods" in API group "" at the cluster scope): ask for the verb list on pods in all namespaces; the ClusterRole joiner-reader (examples/rbac/reader.yaml) has it
        daemonsets.apps may not be listed (daemonsets is forbidden: User "joiner" cannot list resource "daemonsets" in API group "apps" at the cluster scope): ask for the verb list on daemonsets.apps in all namespaces; the ClusterRole joiner-reader (examples/rbac/reader.yaml) has it"#]].assert_eq(&refused);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_not_needed_are_only_noted() {
    let stage = Stage::bare();
    let roles = Roles::default();
    roles.deny("list", "jobs");
    roles.deny("list", "services");
    roles.deny("list", TEST_NODE_CLASS.plural);
    let live = read(&stage, &roles, &wanted()).await.unwrap();
    expect![[r"
        jobs.batch may not be listed, and are not needed now
        services may not be listed, and are not needed now
        testnodeclasses.karpenter.test.sh may not be listed, and are not needed now"]]
    .assert_eq(&live.notes.join("\n"));
    assert!(!live.read.contains("jobs.batch"));
    let spread = Wanted { default_spread: true, ..wanted() };
    assert!(read(&stage, &roles, &spread).await.unwrap_err().starts_with("services may not"));
}

/// Takes a kind of our own away from the API server.
fn undefine(stage: &Stage, resource: &str) {
    stage.delete("apiextensions.k8s.io", "customresourcedefinitions", resource);
}

#[tokio::test(start_paused = true)]
async fn of_kinds_that_are_not_served_there_are_no_objects() {
    let stage = Stage::bare();
    let class = format!("{}.{}", TEST_NODE_CLASS.plural, TEST_NODE_CLASS.group);
    undefine(&stage, &class);
    let absent = async |pools: &[Arc<NodePool>]| {
        let connection = Roles::default().guard(stage.lab.client("reader").connect());
        let client = kube::Client::new(connection, "default");
        live::read(&client, &wanted(), pools).await.unwrap().absent
    };
    assert_eq!(absent(&[]).await, [""; 0], "no pool refers to the class");
    let pool: NodePool = serde_json::from_value(pool("general")).unwrap();
    assert_eq!(absent(&[Arc::new(pool)]).await, [class.as_str()]);
    undefine(&stage, "nodepools.karpenter.sh");
    undefine(&stage, "nodeclaims.karpenter.sh");
    undefine(&stage, "nodeoverlays.karpenter.sh");
    let needed = ["nodepools.karpenter.sh", "nodeclaims.karpenter.sh"];
    assert_eq!(absent(&[]).await, needed, "overlays are not needed");
}

#[tokio::test(start_paused = true)]
async fn objects_of_another_version_are_not_taken_for_none() {
    let stage = Stage::bare();
    undefine(&stage, "nodepools.karpenter.sh");
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": "nodepools.karpenter.sh"},
        "spec": {
            "group": "karpenter.sh", "scope": "Cluster",
            "names": {"kind": "NodePool", "plural": "nodepools", "singular": "nodepool"},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    });
    stage.create("apiextensions.k8s.io", "customresourcedefinitions", definition);
    let refused = read(&stage, &Roles::default(), &wanted()).await.unwrap_err();
    expect!["the cluster has nodepools.karpenter.sh as karpenter.sh/v1beta1, and not in the version that is read (/apis/karpenter.sh/v1/nodepools): upgrade the definition, or plan from files with -f"].assert_eq(&refused);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_cannot_be_reached_is_told_once() {
    let stage = Stage::bare();
    let now = stage.context.now();
    stage.lab.faults().partition("reader", now, now + jiff::SignedDuration::from_hours(1));
    let refused = read(&stage, &Roles::default(), &wanted()).await.unwrap_err();
    expect!["the API server does not answer: ServiceError: no route to the API server. Check that it is up, that it can be reached from here, and that the kubeconfig names the right one"].assert_eq(&refused);
}

/// A server that has forgotten, the first few times, what a list has to go on from.
#[derive(Clone)]
struct Forgetful {
    connection: Connection,
    times: Arc<AtomicUsize>,
}

impl tower_service::Service<Request<kube::client::Body>> for Forgetful {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let goes_on = request.uri().query().is_some_and(|query| query.contains("continue="));
        let left = |times: usize| times.checked_sub(1);
        let order = Ordering::Relaxed;
        if goes_on && self.times.fetch_update(order, order, left).is_ok() {
            let expired = Status::plain(410, "Expired", "the continue token is too old");
            return Box::pin(async move { Ok(refusal(&expired)) });
        }
        tower_service::Service::call(&mut self.connection, request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_become_too_old_is_begun_anew_and_not_for_ever() {
    let stage = Stage::bare();
    for number in 0..501 {
        let name = format!("many-{number}");
        stage.create("", "namespaces", json!({"metadata": {"name": name}}));
    }
    let read = async |times| {
        let connection = stage.lab.client("reader").connect();
        let times = Arc::new(AtomicUsize::new(times));
        let client = kube::Client::new(Forgetful { connection, times }, "default");
        live::read(&client, &wanted(), &[]).await
    };
    let live = read(2).await.unwrap();
    let many = live.objects.namespaces.iter().filter_map(|one| one.metadata.name.as_deref());
    assert_eq!(many.filter(|name| name.starts_with("many-")).count(), 501, "each once");
    let [refused] = <[_; 1]>::try_from(read(3).await.unwrap_err()).unwrap();
    expect![[r#"namespaces could not be listed: the API server said 410 "the continue token is too old"; try again"#]].assert_eq(&refused.to_string());
}
