//! Reading a cluster by lists alone, and what stands in the way of it.

use expect_test::expect;
use joiner_cloud::testing::TEST_NODE_CLASS;
use joiner_operator::{
    live::{self, Live},
    world::Wanted,
};

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
    let read = live::read(&client, wanted).await;
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
        pods may not be listed (pods is forbidden: User "joiner" cannot list resource "pods" in API group "" at the cluster scope): ask for the verb list on pods in all namespaces
        daemonsets.apps may not be listed (daemonsets is forbidden: User "joiner" cannot list resource "daemonsets" in API group "apps" at the cluster scope): ask for the verb list on daemonsets.apps in all namespaces"#]].assert_eq(&refused);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_not_needed_are_only_noted() {
    let stage = Stage::bare();
    let roles = Roles::default();
    roles.deny("list", "jobs");
    roles.deny("list", "services");
    roles.deny("list", TEST_NODE_CLASS.plural);
    let live = read(&stage, &roles, &wanted()).await.unwrap();
    expect![[r#"
        jobs.batch may not be listed, and are not needed now
        services may not be listed, and are not needed now
        testnodeclasses.karpenter.test.sh may not be listed, and are not needed now"#]].assert_eq(&live.notes.join("\n"));
    assert!(!live.read.contains("jobs.batch"));
    let spread = Wanted { default_spread: true, ..wanted() };
    assert!(read(&stage, &roles, &spread).await.unwrap_err().starts_with("services may not"));
}

#[tokio::test(start_paused = true)]
async fn a_class_is_needed_where_a_pool_refers_to_one() {
    let stage = Stage::bare();
    stage.create("karpenter.sh", "nodepools", pool("general"));
    stage.delete(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        &format!("{}.{}", TEST_NODE_CLASS.plural, TEST_NODE_CLASS.group),
    );
    let refused = read(&stage, &Roles::default(), &wanted()).await.unwrap_err();
    expect!["the cluster does not have testnodeclasses.karpenter.test.sh, or not in the version that is read (/apis/karpenter.test.sh/v1alpha1/testnodeclasses): install its CustomResourceDefinition, or plan from files with -f"].assert_eq(&refused);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_cannot_be_reached_is_told_once() {
    let stage = Stage::bare();
    let now = stage.context.now();
    stage.lab.faults().partition("reader", now, now + jiff::SignedDuration::from_hours(1));
    let refused = read(&stage, &Roles::default(), &wanted()).await.unwrap_err();
    expect!["the API server does not answer: ServiceError: no route to the API server. Check that it is up, that it can be reached from here, and that the kubeconfig names the right one"].assert_eq(&refused);
}
