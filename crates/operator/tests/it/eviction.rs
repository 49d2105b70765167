//! §11.2 Q-01 to Q-14: pods are asked to leave until they do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use joiner_operator::{
    controller::{Controller, Next},
    eviction::EvictionQueue,
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::leaving::{DO_NOT_DISRUPT, Leaving};

const REQUESTS: &str = "karpenter_pods_eviction_requests_total";
const DRAINED: &str = "karpenter_pods_drained_total";

/// A node that is being deleted, with a pod `web`; nobody drains it but the test.
fn leaving() -> Leaving {
    let leaving = Leaving::evictions_only();
    leaving.node("node-1");
    leaving.delete_node("node-1");
    leaving.pod("web", json!({}));
    leaving
}

fn moment_in(leaving: &Leaving, seconds: i64) -> Timestamp {
    leaving.now() + SignedDuration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn q01_a_pod_that_is_gone_is_forgotten_silently() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    let id = leaving.evict("web", None);
    leaving.end_pod("web");
    leaving.pass(1).await;
    assert!(!leaving.evictions.contains(&id));
    assert_eq!(leaving.stage.events("Pod", "web"), [] as [&str; 0]);
    assert_eq!(leaving.stage.events("Node", "node-1"), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn q02_another_pod_of_the_same_name_is_left_alone() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.end_pod("web");
    leaving.pod("web", json!({}));
    leaving.pass(30).await;
    assert!(!leaving.is_leaving("web"));
    assert_eq!(leaving.asked("web"), ["evict 409"]);
    assert!(leaving.evictions.is_empty());
    assert_eq!(leaving.stage.events("Pod", "web"), [] as [&str; 0]);
    assert_eq!(leaving.stage.series(DRAINED), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn q03_a_pod_is_asked_once_and_leaves() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(30).await;
    assert!(leaving.is_leaving("web"));
    assert_eq!(leaving.asked("web"), ["evict 201"]);
    assert_eq!(leaving.stage.events("Pod", "web"), ["Evicted: Evicted pod: Forceful Termination"]);
    assert_eq!(leaving.stage.series(REQUESTS), [r#"{code="200"} 1"#]);
}

#[tokio::test(start_paused = true)]
async fn q04_a_budget_that_allows_it_lets_a_pod_go() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 1);
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(1).await;
    assert!(leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn q05_a_budget_that_does_not_is_asked_again_later_each_time() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    let id = leaving.evict("web", None);
    // After 0.1, 0.2, 0.4 … seconds.
    leaving.pass(1).await;
    assert_eq!(leaving.asked("web"), ["evict 429"; 4]);
    assert_eq!(leaving.stage.series(REQUESTS), [r#"{code="429"} 4"#]);
    assert_eq!(
        leaving.stage.events("Node", "node-1"),
        ["FailedDraining: Failed to drain node, evicting pod violates a PDB (Pod=shop/web): \
          PodDisruptionBudget shop/web allows no eviction now; let it allow one, or add replicas"]
    );
    // Then every ten seconds.
    leaving.pass(59).await;
    assert_eq!(leaving.asked("web").len(), 12);
    assert!(leaving.evictions.contains(&id));
    leaving.allow("web", 1);
    leaving.pass(10).await;
    assert!(leaving.is_leaving("web"));
    assert!(!leaving.evictions.contains(&id));
}

#[tokio::test(start_paused = true)]
async fn q06_a_pod_that_two_budgets_are_about_is_asked_again() {
    let mut leaving = leaving();
    leaving.budget("one", "web", 1);
    leaving.budget("two", "web", 1);
    leaving.pass(1).await;
    let id = leaving.evict("web", None);
    leaving.pass(1).await;
    assert_eq!(leaving.asked("web"), ["evict 500"; 4]);
    assert_eq!(leaving.stage.series(REQUESTS), [r#"{code="500"} 4"#]);
    assert_eq!(
        leaving.stage.events("Node", "node-1"),
        ["FailedDraining: Failed to drain node, eviction does not support multiple PDBs \
          (Pod=shop/web): PodDisruptionBudgets shop/one, shop/two are about it; a pod must match no \
          more than one"]
    );
    assert!(leaving.evictions.contains(&id));
    leaving.stage.delete("policy", "poddisruptionbudgets", "shop/two");
    leaving.pass(10).await;
    assert!(leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn q07_whoever_wants_a_pod_gone_while_it_is_asked_does_no_harm() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    for _ in 0..200 {
        leaving.evict("web", None);
        tokio::task::yield_now().await;
    }
    leaving.pass(5).await;
    assert_eq!(leaving.asked("web"), ["evict 201"]);
    assert!(leaving.evictions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn q08_a_pod_whose_node_has_no_claim_leaves_for_no_reason() {
    let mut leaving = Leaving::evictions_only();
    leaving.node_object("node-1", "True");
    leaving.delete_node("node-1");
    leaving.pod("web", json!({}));
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(1).await;
    assert_eq!(leaving.stage.series(DRAINED), [r#"{reason=""} 1"#]);
}

#[tokio::test(start_paused = true)]
async fn q09_a_pod_leaves_for_the_reason_for_which_its_node_does() {
    let mut leaving = leaving();
    let condition = json!({
        "type": "DisruptionReason", "status": "True", "reason": "Drifted", "message": "",
        "lastTransitionTime": leaving.now(),
    });
    let status = json!({"status": {"conditions": [condition]}});
    leaving.stage.merge("karpenter.sh", "nodeclaims", "node-1", Some("status"), status);
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(1).await;
    assert_eq!(leaving.stage.series(DRAINED), [r#"{reason="Drifted"} 1"#]);
    assert_eq!(leaving.stage.events("Pod", "web"), ["Evicted: Evicted pod: Drifted"]);
}

#[tokio::test(start_paused = true)]
async fn q10_a_pod_whose_time_is_over_is_deleted_whatever_its_budget_says() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    let id = leaving.evict("web", Some(moment_in(&leaving, 10)));
    leaving.pass(1).await;
    assert_eq!(leaving.asked("web"), ["delete 200"]);
    assert_eq!(leaving.grace("web"), Some(10));
    assert!(!leaving.evictions.contains(&id));
    assert_eq!(
        leaving.stage.events("Pod", "web"),
        ["Disrupted: Deleting the pod to accommodate the terminationTime 2026-01-01 00:00:11 \
             +0000 UTC of the node. The pod was granted 10 seconds of grace-period of its 30 \
             terminationGracePeriodSeconds. This bypasses the PDB of the pod and the \
             do-not-disrupt annotation."]
    );
    assert_eq!(leaving.stage.series(DRAINED), [r#"{reason="Forceful Termination"} 1"#]);
}

#[tokio::test(start_paused = true)]
async fn q11_a_pod_that_waits_is_deleted_once_there_is_a_deadline() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(60).await;
    assert!(!leaving.is_leaving("web"));
    leaving.evict("web", Some(moment_in(&leaving, 20)));
    leaving.pass(1).await;
    assert!(leaving.is_leaving("web"), "at once, not after the rest of ten seconds");
}

#[tokio::test(start_paused = true)]
async fn q12_a_later_deadline_does_not_replace_an_earlier_one() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    let (early, late) = (Some(moment_in(&leaving, 100)), Some(moment_in(&leaving, 200)));
    for (asked_for, expected) in
        [(None, None), (late, late), (early, early), (late, early), (None, early)]
    {
        let id = leaving.evict("web", asked_for);
        assert_eq!(leaving.evictions.wanted(&id).unwrap().deadline, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn q13_no_entry_outlives_its_pod() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pod("other", json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "true"}}}));
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.evict("other", None);
    leaving.pass(60).await;
    assert_eq!(leaving.evictions.len(), 2);
    leaving.end_pod("web");
    leaving.end_pod("other");
    leaving.pass(1).await;
    assert!(leaving.evictions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn q13_no_entry_outlives_its_node() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    leaving.evict("web", None);
    leaving.pass(1).await;
    let none = json!({"metadata": {"finalizers": null}});
    leaving.stage.merge("", "nodes", "node-1", None, none);
    leaving.pass(10).await;
    assert!(leaving.evictions.is_empty());
    assert!(!leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn q14_a_pod_that_is_late_gets_a_second() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    leaving.evict("web", Some(moment_in(&leaving, -3600)));
    leaving.pass(1).await;
    assert_eq!(leaving.grace("web"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_protected_pod_is_asked_when_its_wish_is_over() {
    let mut leaving = leaving();
    leaving.pod("batch", json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "5m"}}}));
    leaving.set_status("batch", &json!({"startTime": leaving.now()}));
    leaving.pass(1).await;
    leaving.evict("batch", None);
    leaving.pass(295).await;
    assert_eq!(leaving.asked("batch"), [] as [&str; 0]);
    let until = "DoNotDisruptUntil: The karpenter.sh/do-not-disrupt grace period will elapse at \
                 2026-01-01T00:05:00Z";
    assert_eq!(leaving.stage.events("Pod", "batch")[0], until);
    leaving.pass(20).await;
    assert_eq!(leaving.asked("batch"), ["evict 201"]);
    let events = leaving.stage.events("Pod", "batch");
    assert!(events.iter().any(|event| event.starts_with("DoNotDisruptGracePeriodElapsed")));
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_cannot_be_read_is_none_and_its_author_is_told() {
    let mut leaving = leaving();
    leaving.pod("batch", json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "soon"}}}));
    leaving.pass(1).await;
    leaving.evict("batch", None);
    leaving.pass(1).await;
    assert_eq!(leaving.asked("batch"), ["evict 201"]);
    let events = leaving.stage.events("Pod", "batch");
    let told = events.iter().find(|event| event.starts_with("InvalidDoNotDisruptAnnotation"));
    assert!(told.unwrap().contains("write it as 720h or 1h30m"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_api_server_is_not_taken_for_a_budget() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    leaving.stage.lab.faults().add_script("at 0s joiner: 429 on create pods 2 times").unwrap();
    leaving.evict("web", None);
    leaving.pass(20).await;
    assert!(leaving.is_leaving("web"));
    assert_eq!(leaving.stage.events("Node", "node-1"), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_protected_pod_is_asked_as_soon_as_its_wish_is_taken_back() {
    let mut leaving = leaving();
    leaving.pod("batch", json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "true"}}}));
    leaving.pass(1).await;
    leaving.evict("batch", None);
    leaving.pass(60).await;
    assert_eq!(leaving.asked("batch"), [] as [&str; 0]);
    let taken_back = json!({"metadata": {"annotations": {DO_NOT_DISRUPT: null}}});
    leaving.stage.merge("", "pods", "shop/batch", None, taken_back);
    leaving.pass(1).await;
    assert_eq!(leaving.asked("batch"), ["evict 201"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_gets_its_own_time_in_full_before_the_deadline() {
    let mut leaving = leaving();
    leaving.budget("web", "web", 0);
    leaving.pass(1).await;
    leaving.evict("web", Some(moment_in(&leaving, 300)));
    leaving.pass(269).await;
    assert!(!leaving.is_leaving("web"));
    leaving.pass(2).await;
    assert_eq!(leaving.grace("web"), Some(30));
}

/// A pod of a size on a node.
fn sized(leaving: &Leaving, name: &str, node: &str, cpu: &str) {
    let requests = json!({"requests": {"cpu": cpu}});
    let containers = json!([{"name": "app", "image": "app", "resources": requests}]);
    leaving.pod(name, json!({"spec": {"nodeName": node, "containers": containers}}));
}

/// Two nodes that go together, with a small and a large pod each.
fn two_nodes() -> Leaving {
    let leaving = Leaving::evictions_only();
    for node in ["node-1", "node-2"] {
        leaving.node(node);
        leaving.delete_node(node);
        leaving.stage.delete("karpenter.sh", "nodeclaims", node);
    }
    for (pod, node, cpu) in [
        ("small-1", "node-1", "500m"),
        ("large-1", "node-1", "4"),
        ("small-2", "node-2", "500m"),
        ("large-2", "node-2", "4"),
    ] {
        sized(&leaving, pod, node, cpu);
    }
    leaving
}

/// The scheduler would put small ones into the gaps that large ones need.
#[tokio::test(start_paused = true)]
async fn large_pods_leave_before_small_ones_whichever_nodes_they_are_on() {
    let mut leaving = two_nodes();
    leaving.pass(1).await;
    for pod in ["small-1", "large-1"] {
        leaving.evict(pod, None);
    }
    leaving.pass(1).await;
    for pod in ["small-2", "large-2"] {
        leaving.evict(pod, None);
    }
    leaving.pass(4).await;
    for (large, small) in [("large-1", "small-1"), ("large-2", "small-2")] {
        assert_eq!(leaving.asked(large), ["evict 201"]);
        assert_eq!(leaving.asked(small), [] as [&str; 0], "the large ones are given a moment");
    }
    leaving.pass(5).await;
    for small in ["small-1", "small-2"] {
        assert_eq!(leaving.asked(small), ["evict 201"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_pod_that_may_not_leave_keeps_nobody() {
    let mut leaving = two_nodes();
    leaving.budget("large-1", "large-1", 0);
    leaving.pass(1).await;
    leaving.evict("large-1", None);
    leaving.evict("small-1", None);
    leaving.pass(5).await;
    assert!(leaving.asked("large-1").iter().all(|answer| answer == "evict 429"));
    assert_eq!(leaving.asked("small-1"), ["evict 201"]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_keeps_no_pod_waiting() {
    let mut leaving = two_nodes();
    leaving.pass(1).await;
    for pod in ["small-1", "large-1"] {
        leaving.evict(pod, None);
    }
    leaving.stage.context.clock.jump(SignedDuration::from_hours(-1));
    leaving.pass(9).await;
    for pod in ["large-1", "small-1"] {
        assert_eq!(leaving.asked(pod), ["evict 201"], "{pod}");
    }
}

/// Who tells of a change asks whether its pod has to leave, while nobody else can look at the cluster.
#[tokio::test(start_paused = true)]
async fn those_who_wait_for_their_turn_and_those_who_tell_of_changes_do_not_wait_for_each_other() {
    let mut leaving = two_nodes();
    leaving.pass(1).await;
    let id = leaving.evict("small-1", None);
    let (context, evictions) = (leaving.stage.context.clone(), leaving.evictions.clone());
    let queue = EvictionQueue::new(context.clone(), evictions.clone());
    let (done, is_done) = mpsc::channel();
    let (runtime, waiting) = (Handle::current(), id.clone());
    thread::spawn(move || {
        let _virtual_time = runtime.enter();
        let waits = (0..20_000).all(|_| {
            let next = queue.reconcile(&waiting).now_or_never();
            matches!(next, Some(Ok(Next::After(_))))
        });
        done.send(waits).unwrap();
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let no_more_changes = Arc::clone(&is_over);
    thread::spawn(move || {
        while !no_more_changes.load(Ordering::Relaxed) {
            context.cache.read(|_| evictions.contains(&id));
        }
    });
    let waited = is_done.recv_timeout(Duration::from_mins(1));
    is_over.store(true, Ordering::Relaxed);
    assert_eq!(waited, Ok(true));
}
