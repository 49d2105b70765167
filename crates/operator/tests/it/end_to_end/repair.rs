//! EE-05: nodes that stay unhealthy, and whose pods nothing protects any more.

use jiff::SignedDuration;
use joiner_apiserver::Key;
use joiner_core::label::DO_NOT_DISRUPT;
use joiner_lab::{Lab, checks, cluster::instances::NodeCondition};
use serde_json::{Value, json};

use super::{
    Leave, assert_untouched, claims, create_budget, list, merge, name, running_pods, workload,
};
use crate::whole::{End, JOINER, change_pool, create, end, furnished, pass_with};

async fn pass(lab: &mut Lab, minutes: i64, seed: u64) {
    pass_with(lab, minutes, seed, "NodeRepair=true").await;
}

/// Pods that want to stay where they are, and to have an hour if they have to leave.
fn stay(template: &mut Value) {
    template["metadata"]["annotations"] =
        json!({DO_NOT_DISRUPT: "true", "lab.joiner.dev/pre-stop-time": "1h"});
    template["spec"]["terminationGracePeriodSeconds"] = 3600.into();
    // Nobody else drives them out before.
    template["spec"]["tolerations"] =
        json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]);
}

/// A node says from now on that it is not ready.
fn fall_ill(lab: &Lab, node: &str) {
    let condition = NodeCondition {
        kind: "Ready".to_owned(),
        status: "False".to_owned(),
        reason: "KubeletNotReady".to_owned(),
        message: "the disk is broken".to_owned(),
    };
    lab.instances().report(node, condition);
}

#[tokio::test(start_paused = true)]
async fn ee05_pods_are_forced_off_a_node_that_stays_unhealthy_whatever_protects_them() {
    let mut lab = furnished(1);
    change_pool(
        &lab,
        &json!({
            "disruption": {"budgets": [{"nodes": "0"}]},
            "template": {"spec": {"terminationGracePeriod": "2h"}},
        }),
    );
    create(&lab, "apps", "deployments", workload("web", 3, stay));
    create_budget(&lab, "web", json!({"maxUnavailable": 0}));
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(3, 1));
    let (old, pods) = (claims(&lab), running_pods(&lab));
    let node = name(&list(&lab, "", "nodes")[0]);
    let protected = json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "true"}}});
    merge(&lab, "", "nodes", &Key::new("", &node), protected);

    fall_ill(&lab, &node);
    pass(&mut lab, 9, 2).await;
    assert_untouched(&lab, &old);
    assert_eq!(running_pods(&lab), pods, "it may recover for ten minutes");

    pass(&mut lab, 6, 3).await;
    let broken = checks::deletions_within_budgets(lab.history(), JOINER);
    assert_eq!(broken.len(), pods.len(), "their budget is not asked: {broken:?}");
    for pod in &pods {
        let left = Leave::of(&lab, pod).unwrap();
        assert_eq!(left.grace, SignedDuration::from_secs(1), "{left:?}");
        assert!(left.took <= SignedDuration::from_secs(2), "{left:?}");
    }
    let found = End { broken: Vec::new(), ..End::of(&lab) };
    assert_eq!(found, end(3, 1));
    assert!(claims(&lab).is_disjoint(&old));
    assert_eq!(checks::all(lab.history()), []);
}
