//! What classes are made of: judged, hashed and kept like classes, and never a class themselves.

use std::time::Duration;

use joiner_cloud::{
    Deletion,
    class::{ClassKind, KeptOn, SpecHash},
    notes::Note,
    testing::{TEST_NODE_CLASS, TEST_TEMPLATE, test_template_crd},
};
use joiner_operator::{
    classes::{ClassHashing, ClassResolution, ClassTermination},
    notes,
};
use serde_json::{Value, json};

use crate::stage::Stage;

const FINALIZER: &str = "karpenter.test.sh/termination";

/// A cluster with a template, and a class that is made of it.
async fn stage() -> Stage {
    let mut stage = Stage::serving(&[TEST_NODE_CLASS, TEST_TEMPLATE]);
    stage.create("apiextensions.k8s.io", "customresourcedefinitions", test_template_crd());
    stage = stage.with(ClassResolution::new).with(ClassHashing).with(ClassTermination);
    stage.cloud.state().class_finalizer = Some(FINALIZER);
    stage.create(
        TEST_TEMPLATE.group,
        TEST_TEMPLATE.plural,
        json!({
            "apiVersion": format!("{}/{}", TEST_TEMPLATE.group, TEST_TEMPLATE.version),
            "kind": TEST_TEMPLATE.kind,
            "metadata": {"name": "ubuntu"},
            "spec": {"image": "a"},
        }),
    );
    stage.create_class("default");
    stage.change("default", json!({"spec": {"templates": ["ubuntu"]}}));
    stage.pass(1).await;
    stage
}

impl Stage {
    fn change(&self, class: &str, change: Value) {
        self.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, class, None, change);
    }

    fn change_template(&self, change: Value) {
        self.merge(TEST_TEMPLATE.group, TEST_TEMPLATE.plural, "ubuntu", None, change);
    }

    fn template(&self) -> Option<Value> {
        self.find(TEST_TEMPLATE.group, TEST_TEMPLATE.plural, "ubuntu")
    }

    /// Names of what was judged since the last look.
    fn judged(&self) -> Vec<String> {
        let mut judged = std::mem::take(&mut self.cloud.state().judged);
        judged.sort();
        judged
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_is_judged_and_its_class_is_judged_again_when_it_changes() {
    let mut stage = stage().await;
    assert!(stage.judged().contains(&"ubuntu".to_owned()));
    let ready = &stage.template().unwrap()["status"]["conditions"];
    assert!(ready.as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "Ready")));
    let inputs = stage.cloud.state().class_inputs.clone().unwrap();
    let handed: Vec<_> = inputs.objects.keys().map(|own| own.name.clone()).collect();
    assert_eq!(handed, ["ubuntu"], "the class is judged with what it is made of");
    stage.change_template(json!({"spec": {"image": "b"}}));
    stage.pass(1).await;
    assert!(stage.judged().contains(&"default".to_owned()));
    stage.pass(100).await;
    assert_eq!(stage.judged(), [] as [&str; 0], "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn a_template_keeps_its_own_hashes() {
    let mut stage = stage().await;
    let hash = SpecHash::of_drift("karpenter.test.sh/hash", "karpenter.test.sh/v", "v1", "7");
    stage.cloud.state().hashes = vec![SpecHash { kept: KeptOn::Object, ..hash }];
    stage.change_template(json!({"spec": {"image": "b"}}));
    stage.pass(1).await;
    let annotations = &stage.template().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["karpenter.test.sh/hash"], "7");
}

#[tokio::test(start_paused = true)]
async fn a_template_stays_while_a_class_refers_to_it_and_until_the_cloud_has_disposed_of_it() {
    let mut stage = stage().await;
    assert_eq!(stage.template().unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
    stage.delete(TEST_TEMPLATE.group, TEST_TEMPLATE.plural, "ubuntu");
    stage.pass(60).await;
    let told = stage.events(TEST_TEMPLATE.kind, "ubuntu");
    let expected = "WaitingOnNodeClassTermination: Waiting until no NodeClass refers to it any \
                    more: default";
    assert_eq!(told, [expected]);
    stage.cloud.state().next_dispose.push_back(Deletion::Requested);
    stage.change("default", json!({"spec": {"templates": []}}));
    stage.pass(1).await;
    assert!(stage.template().is_some(), "the cloud is not done with it");
    stage.pass(10).await;
    assert!(stage.template().is_none());
    assert_eq!(stage.cloud.calls("dispose of ubuntu"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_template_is_no_class_of_a_pool() {
    let stage = stage().await;
    let providers = &stage.context.providers;
    assert!(providers.serving(TEST_TEMPLATE.group, TEST_TEMPLATE.kind).is_none());
    assert!(providers.judging(TEST_TEMPLATE.group, TEST_TEMPLATE.kind).is_some());
    let labels: Vec<String> = providers.class_kinds().map(ClassKind::label).collect();
    assert_eq!(labels, ["karpenter.test.sh/testnodeclass"]);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_says_when_a_class_is_looked_at_again() {
    let mut stage = stage().await;
    stage.cloud.state().look_again = Some(Duration::from_secs(15));
    stage.change_template(json!({"spec": {"image": "b"}}));
    stage.pass(1).await;
    stage.judged();
    stage.pass(15).await;
    assert_eq!(stage.judged(), ["default", "ubuntu"]);
}

#[tokio::test(start_paused = true)]
async fn a_note_has_a_template_judged_now() {
    let mut stage = stage().await;
    let written = stage.cloud.notes.clone();
    stage.beside(notes::tell(stage.context.clone(), "test", written.clone()));
    stage.pass(10).await;
    stage.judged();
    let template = stage.context.cache.read(|world| {
        let (group, kind) = (TEST_TEMPLATE.group, TEST_TEMPLATE.kind);
        joiner_cloud::class::NodeClass::clone(world.class(group, kind, "ubuntu").unwrap())
    });
    written.write(Note::look_again(&template));
    stage.pass(1).await;
    assert_eq!(stage.judged(), ["ubuntu"]);
}
