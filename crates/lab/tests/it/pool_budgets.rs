//! Instances that are chosen to go although the budgets of their pool do not allow it are found, and
//! no others.

use expect_test::expect;
use jiff::SignedDuration;
use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_lab::{Lab, Setup, checks};
use serde_json::{Value, json};

/// A pool with instances, written by hand: nobody acts here but the test.
struct Pool {
    lab: Lab,
}

impl Pool {
    /// A pool with these budgets and so many instances that are well.
    fn new(budgets: &Value, instances: usize) -> Self {
        let lab = Lab::new(Setup { bare: true, ..Setup::new(1) });
        let admin = lab.caller("admin");
        let definitions = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
        for definition in joiner_api::crd::crds() {
            admin.create(&definitions, serde_json::to_value(definition).unwrap()).unwrap();
        }
        let pool = Self { lab };
        let template = json!({"spec": {"nodeClassRef": reference(), "requirements": []}});
        pool.create(
            "karpenter.sh",
            "nodepools",
            json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
                "spec": {"template": template, "disruption": {"budgets": budgets}},
            }),
        );
        (0..instances).for_each(|number| pool.instance(number));
        pool
    }

    fn create(&self, group: &str, plural: &str, object: Value) {
        self.lab.caller("admin").create(&Resource::new(group, plural), object).unwrap();
    }

    fn say(&self, group: &str, plural: &str, name: &str, status: &Value) {
        let (resource, key) = (Resource::new(group, plural), Key::new("", name));
        let patch = json!({"status": status});
        self.lab.caller("admin").merge(&resource, &key, Some("status"), patch).unwrap();
    }

    fn instance(&self, number: usize) {
        let name = format!("m{number}");
        let labels = json!({"karpenter.sh/nodepool": "general"});
        self.create(
            "karpenter.sh",
            "nodeclaims",
            json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "metadata": {"name": name, "labels": labels, "finalizers": ["example.com/hold"]},
                "spec": {"nodeClassRef": reference(), "requirements": []},
            }),
        );
        self.say("karpenter.sh", "nodeclaims", &name, &json!({"nodeName": name}));
        let labels =
            json!({"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"});
        self.create("", "nodes", json!({"metadata": {"name": name, "labels": labels}}));
        self.ready(number, true);
    }

    /// What the kubelet of an instance says.
    fn ready(&self, number: usize, is_ready: bool) {
        let ready = if is_ready { "True" } else { "False" };
        let conditions = json!([{"type": "Ready", "status": ready}]);
        self.say("", "nodes", &format!("m{number}"), &json!({"conditions": conditions}));
    }

    /// An instance is chosen to go.
    fn choose(&self, number: usize, reason: &str) {
        self.set(number, &[condition("DisruptionReason", reason)]);
    }

    fn set(&self, number: usize, conditions: &[Value]) {
        let status = json!({"conditions": conditions});
        self.say("karpenter.sh", "nodeclaims", &format!("m{number}"), &status);
    }

    fn found(&self) -> Vec<String> {
        let found = checks::disruptions_within_budgets(self.lab.history());
        found.into_iter().map(|violation| violation.what).collect()
    }
}

fn reference() -> Value {
    json!({"group": "example.com", "kind": "Class", "name": "default"})
}

fn condition(type_: &str, reason: &str) -> Value {
    json!({
        "type": type_, "status": "True", "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

#[tokio::test(start_paused = true)]
async fn one_more_than_a_budget_allows_is_found() {
    let pool = Pool::new(&json!([{"nodes": "2"}]), 5);
    pool.choose(0, "Drifted");
    pool.choose(1, "Empty");
    assert_eq!(pool.found(), [""; 0]);
    pool.choose(2, "Underutilized");
    expect!["nodeclaim m2 was chosen to go (Underutilized) as number 3 of 5 of pool general, which allows 2"]
        .assert_eq(&pool.found().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn shares_are_of_the_instances_that_count_and_rounded_up() {
    let pool = Pool::new(&json!([{"nodes": "34%"}]), 3);
    pool.choose(0, "Empty");
    pool.choose(1, "Empty");
    assert_eq!(pool.found(), [""; 0], "a third and a little is two of three");
    pool.choose(2, "Empty");
    assert_eq!(pool.found().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_budget_for_another_reason_says_nothing() {
    let pool = Pool::new(&json!([{"nodes": "0", "reasons": ["Drifted"]}]), 2);
    pool.choose(0, "Empty");
    assert_eq!(pool.found(), [""; 0]);
    pool.choose(1, "Drifted");
    assert_eq!(pool.found().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_budget_with_a_schedule_counts_while_it_lasts() {
    // The laboratory begins at midnight.
    let closed = json!([{"nodes": "0", "schedule": "0 0 * * *", "duration": "5m"}]);
    let mut pool = Pool::new(&closed, 2);
    pool.choose(0, "Empty");
    assert_eq!(pool.found().len(), 1);
    pool.lab.pass(SignedDuration::from_mins(6)).await;
    pool.choose(1, "Empty");
    assert_eq!(pool.found().len(), 1, "the second goes when the window is over");
}

#[tokio::test(start_paused = true)]
async fn what_is_away_for_whatever_reason_takes_from_the_budget() {
    let budgets = json!([{"nodes": "1"}]);
    let being_deleted = Pool::new(&budgets, 3);
    let (claims, key) = (Resource::new("karpenter.sh", "nodeclaims"), Key::new("", "m0"));
    being_deleted.lab.caller("user").delete(&claims, &key, DeleteOptions::default()).unwrap();
    being_deleted.choose(1, "Empty");
    assert_eq!(being_deleted.found().len(), 1);

    let mut not_ready = Pool::new(&budgets, 3);
    not_ready.ready(0, false);
    not_ready.choose(1, "Empty");
    assert_eq!(not_ready.found(), [""; 0], "nobody could have seen it yet");
    not_ready.set(1, &[]);
    not_ready.lab.pass(SignedDuration::from_mins(2)).await;
    not_ready.choose(1, "Empty");
    assert_eq!(not_ready.found().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_chosen_no_more_or_switched_off_takes_nothing() {
    let pool = Pool::new(&json!([{"nodes": "1"}]), 4);
    pool.choose(0, "Empty");
    pool.set(0, &[]);
    pool.choose(1, "Empty");
    let ending = [condition("DisruptionReason", "Empty"), condition("InstanceTerminating", "It")];
    pool.set(1, &ending);
    pool.choose(2, "Empty");
    assert_eq!(pool.found(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_said_to_go_twice_is_told_once() {
    let pool = Pool::new(&json!([{"nodes": "0"}]), 1);
    pool.choose(0, "Empty");
    pool.choose(0, "Drifted");
    assert_eq!(pool.found().len(), 1);
}
