//! §11.4 F-01 to F-12, F-19, F-36 to F-45: what claims say of their removal.

use std::sync::Arc;

use joiner_cloud::{
    CloudError,
    instance::Instance,
    order::ClaimId,
    testing::{LabelCorrection, TEST_NODE_CLASS, instance_types},
};
use joiner_operator::{
    disruption_conditions::DisruptionConditions, pod_events::LastPodEvents, pools::PoolHash,
};
use serde_json::{Value, json};

use crate::{
    play::{foreign_claim, node, pool_claim},
    stage::{Stage, pool},
};

const HOUR: i64 = 3600;

fn stage() -> Stage {
    Stage::bare()
        .with(|context| DisruptionConditions::new(context, LastPodEvents::default()))
        .with(PoolHash)
}

/// A stage with a pool whose disruption is this, and an instance of it that is at work.
async fn with_instance(disruption: Value) -> Stage {
    let mut general = pool("general");
    general["spec"]["disruption"] = disruption;
    with_instance_of(general).await
}

async fn with_instance_of(general: Value) -> Stage {
    let mut stage = stage();
    stage.create_class("default");
    let general = stage.create("karpenter.sh", "nodepools", general);
    stage.pass(1).await;
    add_instance(&stage, "web-1", &general);
    stage.pass(1).await;
    stage
}

/// Adds an instance of a pool that is at work.
fn add_instance(stage: &Stage, name: &str, pool: &Value) {
    let pool_name = pool["metadata"]["name"].as_str().unwrap();
    let labels = json!({
        "karpenter.sh/nodepool": pool_name,
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": "test-zone-a",
        "node.kubernetes.io/instance-type": "test-4x",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    });
    let mut claim = pool_claim(name, pool);
    claim["metadata"]["labels"] = labels;
    let annotations = stage.pool(pool_name).metadata.annotations;
    claim["metadata"]["annotations"] = json!(annotations);
    let claim = stage.create_claim_as(claim);
    let provider_id = format!("test://{name}");
    let instance = Instance {
        provider_id: provider_id.clone(),
        claim: Some(ClaimId {
            name: name.to_owned(),
            uid: claim["metadata"]["uid"].as_str().unwrap().to_owned(),
        }),
        ..Instance::default()
    };
    stage.cloud.state().instances.insert(provider_id.clone(), instance);
    let now = stage.context.now().to_string();
    let conditions = ["Launched", "Registered", "Initialized"]
        .map(|type_| json!({"type": type_, "status": "True", "lastTransitionTime": now}));
    let status = json!({"status": {"providerID": provider_id, "conditions": conditions}});
    stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
}

/// Says something else of one of the claim's steps.
fn set_condition(stage: &Stage, type_: &str, status: &str) {
    let mut claim = json!(stage.claim("web-1"));
    for condition in claim["status"]["conditions"].as_array_mut().unwrap() {
        if condition["type"] == type_ {
            condition["status"] = status.into();
        }
    }
    let patch = json!({"status": {"conditions": claim["status"]["conditions"]}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), patch);
}

fn change_pool(stage: &Stage, patch: Value) {
    stage.merge("karpenter.sh", "nodepools", "general", None, patch);
}

fn drifted(stage: &Stage) -> Option<(String, String)> {
    let (status, reason, message) = stage.condition("web-1", "Drifted")?;
    assert_eq!(status, "True");
    Some((reason, message))
}

/// Why the claim has drifted, if it has.
fn reason(stage: &Stage) -> Option<String> {
    drifted(stage).map(|(reason, _)| reason)
}

fn is_consolidatable(stage: &Stage) -> bool {
    let status = stage.status_of("web-1", "Consolidatable");
    assert!(matches!(status.as_deref(), None | Some("True")));
    status.is_some()
}

fn other_label() -> Value {
    json!({"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})
}

fn only_arm() -> Value {
    let arm = json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]});
    json!({"spec": {"template": {"spec": {"requirements": [arm]}}}})
}

mod drift {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn f01_what_the_cloud_says_of_an_instance_is_said_of_its_claim() {
        let mut stage = with_instance(json!({})).await;
        assert_eq!(drifted(&stage), None);
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.pass(299).await;
        assert_eq!(drifted(&stage), None, "it is asked every five minutes");
        stage.pass(2).await;
        assert_eq!(drifted(&stage), Some(("ImageDrift".to_owned(), "ImageDrift".to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn f01_a_class_that_changes_has_the_cloud_asked_at_once() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        let other = json!({"spec": {"image": "other"}});
        stage.merge("karpenter.test.sh", "testnodeclasses", "default", None, other);
        stage.pass(1).await;
        assert_eq!(reason(&stage).as_deref(), Some("ImageDrift"));
    }

    #[tokio::test(start_paused = true)]
    async fn f02_a_foreign_claim_is_let_alone() {
        let mut stage = stage();
        let general = stage.create_pool("general");
        let mut foreign = foreign_claim("web-1");
        foreign["metadata"]["labels"] = pool_claim("web-1", &general)["metadata"]["labels"].clone();
        stage.create_claim_as(foreign);
        let launched = json!({"status": {"providerID": "other://web-1", "conditions": [
            {"type": "Launched", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), launched);
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.pass(600).await;
        assert_eq!(stage.claim("web-1").status.unwrap().conditions.len(), 1);
    }

    /// F-03 to F-06 say when a type is gone; here is when that is looked at.
    #[tokio::test(start_paused = true)]
    async fn f04_a_type_that_is_gone_counts_once_the_claim_is_an_hour_old() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().types = Arc::new([]);
        stage.pass(HOUR - 10).await;
        assert_eq!(drifted(&stage), None);
        stage.pass(310).await;
        assert_eq!(reason(&stage).as_deref(), Some("InstanceTypeNotFound"));
        stage.cloud.state().types = instance_types();
        stage.pass(300).await;
        assert_eq!(drifted(&stage), None, "it is back");
    }

    #[tokio::test(start_paused = true)]
    async fn f04_a_type_that_was_there_is_looked_for_again_after_half_an_hour() {
        let mut stage = with_instance(json!({})).await;
        stage.pass(HOUR + 301).await;
        stage.cloud.state().types = Arc::new([]);
        stage.pass(24 * 60).await;
        assert_eq!(drifted(&stage), None);
        stage.pass(11 * 60).await;
        assert_eq!(reason(&stage).as_deref(), Some("InstanceTypeNotFound"));
    }

    #[tokio::test(start_paused = true)]
    async fn f07_a_changed_template_is_told_before_what_the_cloud_says() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        change_pool(&stage, other_label());
        stage.pass(1).await;
        assert_eq!(reason(&stage).as_deref(), Some("NodePoolDrifted"));
    }

    #[tokio::test(start_paused = true)]
    async fn f08_changed_requirements_are_told_before_what_the_cloud_says() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        assert_eq!(reason(&stage).as_deref(), Some("RequirementsDrifted"));
    }

    /// A stage with an instance that has drifted, and of whose launch something else is said then.
    async fn with_launch_taken_back(status: &str) -> Stage {
        let mut stage = with_instance(json!({})).await;
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        assert_eq!(reason(&stage).as_deref(), Some("RequirementsDrifted"));
        set_condition(&stage, "Launched", status);
        stage.pass(1).await;
        stage
    }

    #[tokio::test(start_paused = true)]
    async fn f09_a_claim_of_which_it_is_not_known_whether_it_was_launched_has_not_drifted() {
        assert_eq!(drifted(&with_launch_taken_back("Unknown").await), None);
    }

    #[tokio::test(start_paused = true)]
    async fn f10_a_claim_that_was_not_launched_has_not_drifted() {
        assert_eq!(drifted(&with_launch_taken_back("False").await), None);
    }

    /// §12.20: somebody has to be told, since nothing else will ever happen to it.
    #[tokio::test(start_paused = true)]
    async fn f11_a_claim_whose_pool_is_gone_is_told_so_once_a_day() {
        let mut stage = stage();
        let mut lost = crate::stage::claim("web-1");
        lost["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "general"});
        stage.create_claim_as(lost);
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.pass(20 * HOUR).await;
        assert_eq!(drifted(&stage), None);
        let expected = "NodePoolNotFound: NodePool \"general\" of this NodeClaim is gone, so its \
                        node is neither replaced nor consolidated: create the NodePool again, or \
                        delete the NodeClaim to have the node drained and removed";
        assert_eq!(stage.events("NodeClaim", "web-1"), [expected]);
    }

    #[tokio::test(start_paused = true)]
    async fn f12_drift_heals_when_the_pool_is_as_it_was() {
        let mut stage = with_instance(json!({})).await;
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        assert!(drifted(&stage).is_some());
        change_pool(&stage, json!({"spec": {"template": {"spec": {"requirements": []}}}}));
        stage.pass(1).await;
        assert_eq!(drifted(&stage), None);
    }

    #[tokio::test(start_paused = true)]
    async fn f12_drift_heals_when_the_cloud_says_so() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.pass(300).await;
        assert!(drifted(&stage).is_some());
        stage.cloud.state().drift = None;
        stage.pass(300).await;
        assert_eq!(drifted(&stage), None);
    }

    #[tokio::test(start_paused = true)]
    async fn f19_only_claims_that_the_pool_rules_out_have_drifted() {
        let mut stage = with_instance(json!({})).await;
        add_instance(&stage, "web-2", &json!(stage.pool("general")));
        let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "test-zone-b"}}});
        stage.merge("karpenter.sh", "nodeclaims", "web-2", None, zone);
        stage.pass(1).await;
        let only_a = json!({
            "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"],
        });
        change_pool(&stage, json!({"spec": {"template": {"spec": {"requirements": [only_a]}}}}));
        stage.pass(1).await;
        assert_eq!(drifted(&stage), None);
        let (_, reason, _) = stage.condition("web-2", "Drifted").unwrap();
        assert_eq!(reason, "RequirementsDrifted");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cloud_that_cannot_be_asked_changes_nothing() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.pass(300).await;
        let unknown = || Some(CloudError::Unknown("no answer".to_owned()));
        {
            let state = &mut *stage.cloud.state();
            state.drift = None;
            state.next_drift.extend((0..10).map(|_| unknown()));
        }
        stage.pass(301).await;
        assert_eq!(reason(&stage).as_deref(), Some("ImageDrift"), "it still stands");
        stage.pass(10).await;
        assert_eq!(drifted(&stage), None, "it was asked again until it answered");
    }

    #[tokio::test(start_paused = true)]
    async fn an_instance_that_is_gone_has_not_drifted() {
        let mut stage = with_instance(json!({})).await;
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.cloud.state().instances.clear();
        stage.pass(600).await;
        assert_eq!(drifted(&stage), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_class_that_is_being_deleted_makes_no_drift_and_takes_none_back() {
        let mut stage = with_instance(json!({})).await;
        let keep = json!({"metadata": {"finalizers": ["example.com/keep"]}});
        stage.merge("karpenter.test.sh", "testnodeclasses", "default", None, keep);
        stage.delete("karpenter.test.sh", "testnodeclasses", "default");
        stage.cloud.state().drift = Some("ImageDrift".to_owned());
        stage.cloud.state().types = Arc::new([]);
        stage.pass(2 * HOUR).await;
        assert_eq!(drifted(&stage), None);
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        assert_eq!(reason(&stage).as_deref(), Some("RequirementsDrifted"), "that is the pool's");
        change_pool(&stage, json!({"spec": {"template": {"spec": {"requirements": []}}}}));
        stage.pass(1).await;
        assert_eq!(drifted(&stage), None);
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_come_and_go_do_not_have_the_cloud_asked() {
        let mut stage = with_instance(json!({})).await;
        let before = stage.cloud.calls("drift");
        stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
        stage.join(crate::play::node("node-1", "web-1"));
        for n in 0..10 {
            let spec = json!({"nodeName": "node-1", "containers": [{"name": "m", "image": "i"}]});
            let metadata = json!({"namespace": "shop", "name": format!("web-{n}")});
            stage.create("", "pods", json!({"metadata": metadata, "spec": spec}));
            stage.pass(5).await;
        }
        assert_eq!(stage.cloud.calls("drift"), before);
    }
}

mod consolidatable {
    use super::*;

    /// Says when something last happened on the instance's node.
    fn pod_event(stage: &Stage) {
        let time = json!({"status": {"lastPodEventTime": stage.context.now().to_string()}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), time);
    }

    #[tokio::test(start_paused = true)]
    async fn f36_a_foreign_claim_is_let_alone() {
        let mut stage = stage();
        let general = stage.create_pool("general");
        let mut foreign = foreign_claim("web-1");
        foreign["metadata"]["labels"] = pool_claim("web-1", &general)["metadata"]["labels"].clone();
        stage.create_claim_as(foreign);
        let initialized = json!({"status": {"conditions": [
            {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), initialized);
        stage.pass(600).await;
        assert!(!is_consolidatable(&stage));
    }

    #[tokio::test(start_paused = true)]
    async fn f37_a_claim_is_consolidatable_at_the_end_of_the_quiet_time() {
        let mut stage = with_instance(json!({"consolidateAfter": "1m"})).await;
        stage.pass(30).await;
        pod_event(&stage);
        stage.pass(59).await;
        assert!(!is_consolidatable(&stage));
        stage.pass(2).await;
        assert!(is_consolidatable(&stage));
    }

    #[tokio::test(start_paused = true)]
    async fn f37_a_pool_that_does_not_wait_has_consolidatable_claims() {
        assert!(is_consolidatable(&with_instance(json!({"consolidateAfter": "0s"})).await));
        assert!(is_consolidatable(&with_instance(json!({})).await), "that is the default");
    }

    #[tokio::test(start_paused = true)]
    async fn f38_without_pods_the_quiet_time_begins_with_the_initialization() {
        let mut stage = with_instance(json!({"consolidateAfter": "1m"})).await;
        stage.pass(57).await;
        assert!(!is_consolidatable(&stage));
        stage.pass(4).await;
        assert!(is_consolidatable(&stage));
    }

    #[tokio::test(start_paused = true)]
    async fn f39_a_pod_that_comes_takes_it_back() {
        let mut stage = with_instance(json!({"consolidateAfter": "1m"})).await;
        stage.pass(120).await;
        assert!(is_consolidatable(&stage));
        pod_event(&stage);
        stage.pass(1).await;
        assert!(!is_consolidatable(&stage));
    }

    #[tokio::test(start_paused = true)]
    async fn f40_a_pool_that_is_never_consolidated_takes_it_back() {
        let mut stage = with_instance(json!({"consolidateAfter": "0s"})).await;
        assert!(is_consolidatable(&stage));
        change_pool(&stage, json!({"spec": {"disruption": {"consolidateAfter": "Never"}}}));
        stage.pass(1).await;
        assert!(!is_consolidatable(&stage));
    }

    async fn with_initialization_taken_back(status: &str) -> Stage {
        let mut stage = with_instance(json!({"consolidateAfter": "0s"})).await;
        assert!(is_consolidatable(&stage));
        set_condition(&stage, "Initialized", status);
        stage.pass(1).await;
        stage
    }

    #[tokio::test(start_paused = true)]
    async fn f41_a_claim_of_which_it_is_not_known_whether_it_is_ready_for_pods_is_not() {
        assert!(!is_consolidatable(&with_initialization_taken_back("Unknown").await));
    }

    #[tokio::test(start_paused = true)]
    async fn f42_a_claim_that_is_not_ready_for_pods_is_not() {
        assert!(!is_consolidatable(&with_initialization_taken_back("False").await));
    }

    #[tokio::test(start_paused = true)]
    async fn f43_a_claim_can_have_drifted_and_be_consolidatable() {
        let mut stage = with_instance(json!({"consolidateAfter": "0s"})).await;
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        assert!(is_consolidatable(&stage));
        assert_eq!(reason(&stage).as_deref(), Some("RequirementsDrifted"));
    }

    #[tokio::test(start_paused = true)]
    async fn f44_one_is_taken_back_and_the_other_stays() {
        let mut stage = with_instance(json!({"consolidateAfter": "0s"})).await;
        change_pool(&stage, only_arm());
        stage.pass(1).await;
        change_pool(
            &stage,
            json!({"spec": {
                "template": {"spec": {"requirements": []}},
                "disruption": {"consolidateAfter": "0s"},
            }}),
        );
        stage.pass(1).await;
        assert_eq!((drifted(&stage), is_consolidatable(&stage)), (None, true));
    }

    #[tokio::test(start_paused = true)]
    async fn f45_claims_of_static_pools_drift_but_are_never_consolidatable() {
        let mut fixed = pool("general");
        fixed["spec"]["replicas"] = 1.into();
        fixed["spec"]["disruption"] = json!({"consolidateAfter": "0s"});
        let mut stage = with_instance_of(fixed).await;
        change_pool(&stage, only_arm());
        stage.pass(HOUR).await;
        assert!(!is_consolidatable(&stage));
        assert_eq!(reason(&stage).as_deref(), Some("RequirementsDrifted"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_the_claim_does_not_show_yet_counts_too() {
        let last = LastPodEvents::default();
        let mut stage = Stage::bare()
            .with(PoolHash)
            .with(|context| joiner_operator::pod_events::PodEvents::new(context, last.clone()))
            .with(|context| DisruptionConditions::new(context, last.clone()));
        stage.create_class("default");
        let mut general = pool("general");
        general["spec"]["disruption"] = json!({"consolidateAfter": "1m"});
        let general = stage.create("karpenter.sh", "nodepools", general);
        stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
        stage.pass(1).await;
        add_instance(&stage, "web-1", &general);
        stage.join(crate::play::node("node-1", "web-1"));
        let joined = json!({"status": {"nodeName": "node-1"}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), joined);
        for (name, wait) in [("first", 5), ("second", 57)] {
            let spec = json!({"nodeName": "node-1", "containers": [{"name": "m", "image": "i"}]});
            let metadata = json!({"namespace": "shop", "name": name});
            stage.create("", "pods", json!({"metadata": metadata, "spec": spec}));
            stage.pass(wait).await;
        }
        let shown = stage.claim("web-1").status.unwrap().last_pod_event_time.unwrap().0;
        assert_eq!(stage.context.now().duration_since(shown).as_secs(), 62, "the first is shown");
        assert!(!is_consolidatable(&stage), "the second came 57 seconds ago");
        stage.pass(4).await;
        assert!(is_consolidatable(&stage));
    }
}

/// Has the node of the instance say which version its kubelet has, and the class which one instances
/// join with.
async fn with_versions(kubelet: &str, class: &str) -> Stage {
    let mut stage = Stage::bare()
        .set(|settings| settings.kubernetes_version_drift = true)
        .with(|context| DisruptionConditions::new(context, LastPodEvents::default()))
        .with(PoolHash);
    let general = stage.create_pool("general");
    stage.pass(1).await;
    let version = json!({"status": {"kubernetesVersion": class}});
    let (group, plural) = (TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural);
    stage.merge(group, plural, "default", Some("status"), version);
    stage.join(node("node-1", "web-1"));
    let info = json!({"status": {"nodeInfo": {"kubeletVersion": kubelet}}});
    stage.merge("", "nodes", "node-1", Some("status"), info);
    add_instance(&stage, "web-1", &general);
    stage.pass(1).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_of_an_older_minor_version_has_drifted_where_that_is_asked_for() {
    let stage = with_versions("v1.32.9+rke2r1", "1.33.4").await;
    assert_eq!(drifted(&stage).unwrap().1, "KubernetesVersionDrift");
    for (kubelet, class) in [("v1.33.1", "1.33.4"), ("v1.34.0", "1.33.4"), ("", "1.33.4")] {
        let stage = with_versions(kubelet, class).await;
        assert_eq!(drifted(&stage), None, "{kubelet} {class}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_judged_by_labels_that_are_about_to_be_corrected() {
    let mut general = pool("general");
    general["spec"]["template"]["spec"]["requirements"] = json!([
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    ]);
    let mut stage = stage();
    stage.cloud.state().label_corrections = &[LabelCorrection {
        key: "karpenter.sh/capacity-type",
        wrong: "OnDemand",
        right: "on-demand",
    }];
    stage.create_class("default");
    let general = stage.create("karpenter.sh", "nodepools", general);
    stage.pass(1).await;
    add_instance(&stage, "web-1", &general);
    let label =
        |value: &str| json!({"metadata": {"labels": {"karpenter.sh/capacity-type": value}}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, label("OnDemand"));
    stage.pass(600).await;
    assert_eq!(drifted(&stage), None);
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, label("spot"));
    stage.pass(1).await;
    assert_eq!(drifted(&stage).unwrap().1, "RequirementsDrifted");
}
