//! The definitions of our kinds are missing or old.

use expect_test::expect;
use serde_json::Value;

use super::running::Running;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const POOLS: &str = "nodepools.karpenter.sh";

/// One of our definitions.
fn ours(name: &str) -> Value {
    let is_it = |definition: &Value| definition["metadata"]["name"] == name;
    let all = joiner_api::crd::crds().into_iter();
    all.map(|definition| serde_json::to_value(definition).unwrap()).find(is_it).unwrap()
}

#[tokio::test(start_paused = true)]
async fn definitions_that_are_missing_are_named_and_waited_for() {
    let mut running = Running::prepared();
    running.stage.delete(GROUP, PLURAL, POOLS);
    running.create_pod("web");
    running.start();
    running.pass(60).await;
    expect![[r#"
        caches: the CustomResourceDefinition nodepools.karpenter.sh is missing: joiner crds | kubectl apply -f -
        definitions: the CustomResourceDefinition nodepools.karpenter.sh is missing: joiner crds | kubectl apply -f -
    "#]].assert_eq(&running.readiness.why_not());
    assert!(!running.said("joiner crds | kubectl apply -f -").is_empty());
    running.stage.create(GROUP, PLURAL, ours(POOLS));
    running.stage.create_pool("general");
    running.pass(180).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn definitions_of_an_older_version_are_told_from_missing_ones() {
    let mut running = Running::prepared();
    running.stage.delete(GROUP, PLURAL, POOLS);
    let mut beta = ours(POOLS);
    beta["spec"]["versions"][0]["name"] = "v1beta1".into();
    running.stage.create(GROUP, PLURAL, beta);
    running.start();
    running.pass(60).await;
    let why_not = running.readiness.why_not();
    let about: Vec<&str> = why_not.lines().filter(|l| l.starts_with("definitions")).collect();
    expect!["definitions: the CustomResourceDefinition nodepools.karpenter.sh is too old, it lacks version v1: joiner crds | kubectl apply -f -"].assert_eq(&about.join("\n"));
    running.stage.delete(GROUP, PLURAL, POOLS);
    running.stage.create(GROUP, PLURAL, ours(POOLS));
    running.stage.create_pool("general");
    running.create_pod("web");
    running.pass(180).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn definitions_that_lack_fields_are_worked_with_and_the_fields_named() {
    let mut running = Running::prepared();
    running.stage.delete(GROUP, PLURAL, POOLS);
    let mut older = ours(POOLS);
    let spec = &mut older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"].as_object_mut().unwrap().remove("weight");
    // Rules about a field that is not there would be refused.
    spec.as_object_mut().unwrap().remove("x-kubernetes-validations");
    running.stage.create(GROUP, PLURAL, older);
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
    expect!["the CustomResourceDefinition nodepools.karpenter.sh is older than this program, so that the API server drops what is written to spec.weight: joiner crds | kubectl apply -f -"].assert_eq(&running.said("is older than this program").join("\n"));
}
