//! Every check can fail, and holds where its rule is kept.

use std::{fmt::Write as _, slice};

use expect_test::expect;
use jiff::SignedDuration;
use joiner_apiserver::{
    Caller, Change, ChangeKind, DeleteOptions, Key, Propagation, Recorder, Resource,
};
use joiner_lab::{
    Lab, Setup,
    checks::{self, Violation},
};
use serde_json::{Value, json};

/// An API server without anybody who would put things right.
fn bare() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

fn texts(violations: Vec<Violation>) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn pods() -> Resource {
    Resource::new("", "pods")
}

/// A pod of the application `web` in a phase, ready or not.
fn pod(user: &Caller, name: &str, phase: &str, ready: bool) {
    let pod = json!({
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "node", "containers": [{"name": "app", "image": "app"}]},
    });
    let mut pod = user.create(&pods(), pod).unwrap().value();
    let ready = if ready { "True" } else { "False" };
    pod["status"] = json!({"phase": phase, "conditions": [{"type": "Ready", "status": ready}]});
    user.update_status(&pods(), pod).unwrap();
}

/// A budget for `web` whose status allows one eviction, right or wrong.
fn budget(user: &Caller, spec: Value, status: Value) {
    let budgets = Resource::new("policy", "poddisruptionbudgets");
    let mut budget = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec});
    budget["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    let mut budget = user.create(&budgets, budget).unwrap().value();
    budget["status"] = status;
    user.update_status(&budgets, budget).unwrap();
}

/// Evicts a pod where there are three that are well, one that is not, one that has not started and
/// one that has ended.
fn evict_under(spec: Value, status: Value, evicted: &str) -> String {
    let lab = bare();
    let user = lab.caller("user");
    for name in ["one", "two", "three"] {
        pod(&user, name, "Running", true);
    }
    pod(&user, "unready", "Running", false);
    pod(&user, "waiting", "Pending", false);
    pod(&user, "ended", "Succeeded", false);
    budget(&user, spec, status);
    user.evict(&Key::new("default", evicted)).unwrap();
    let found = texts(checks::evictions_within_budgets(lab.history()));
    found.split_once(": ").map_or("kept", |(_, what)| what).to_owned()
}

#[tokio::test(start_paused = true)]
async fn evictions_that_break_budgets_are_found() {
    // Says that one may go, whatever is true.
    let wrong = json!({
        "observedGeneration": 1, "expectedPods": 4, "desiredHealthy": 0, "currentHealthy": 4,
        "disruptionsAllowed": 1,
    });
    let with = |field: &str, value: i64| {
        let mut status = wrong.clone();
        status[field] = value.into();
        status
    };
    let always = json!({"minAvailable": 4, "unhealthyPodEvictionPolicy": "AlwaysAllow"});
    let mut text = String::new();
    for (what, spec, status, evicted) in [
        ("2 of 3 stay", json!({"minAvailable": 2}), &wrong, "one"),
        ("3 are wanted", json!({"minAvailable": 3}), &wrong, "one"),
        ("half of 4", json!({"minAvailable": "50%"}), &wrong, "one"),
        ("51 % of 4", json!({"minAvailable": "51%"}), &wrong, "one"),
        ("2 of 4 may be away", json!({"maxUnavailable": 2}), &wrong, "one"),
        ("1 of 4 may be away", json!({"maxUnavailable": 1}), &wrong, "one"),
        ("a quarter, begun, of 4", json!({"maxUnavailable": "26%"}), &wrong, "one"),
        ("unhealthy, enough others", json!({"minAvailable": 3}), &wrong, "unready"),
        ("unhealthy, too few others", json!({"minAvailable": 4}), &wrong, "unready"),
        ("unhealthy, always allowed", always, &wrong, "unready"),
        ("not started", json!({"minAvailable": 4}), &wrong, "waiting"),
        ("ended", json!({"minAvailable": 4}), &wrong, "ended"),
    ] {
        writeln!(text, "{what}: {}", evict_under(spec, status.clone(), evicted)).unwrap();
    }
    let few = evict_under(json!({"maxUnavailable": "50%"}), with("expectedPods", 6), "one");
    writeln!(text, "half of 6: {few}").unwrap();
    expect![[r#"
        2 of 3 stay: kept
        3 are wanted: pod default/one evicted although budget default/web wants 3 healthy pods and there were 3
        half of 4: kept
        51 % of 4: pod default/one evicted although budget default/web wants 3 healthy pods and there were 3
        2 of 4 may be away: kept
        1 of 4 may be away: pod default/one evicted although budget default/web wants 3 healthy pods and there were 3
        a quarter, begun, of 4: kept
        unhealthy, enough others: kept
        unhealthy, too few others: pod default/unready evicted although budget default/web wants 4 healthy pods and it was not one of 3
        unhealthy, always allowed: kept
        not started: kept
        ended: kept
        half of 6: pod default/one evicted although budget default/web wants 3 healthy pods and there were 3
    "#]].assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_before_the_budget_was_worked_out_is_found() {
    let lab = bare();
    let user = lab.caller("user");
    pod(&user, "one", "Running", true);
    // The server refuses such an eviction. So the history is told of a budget that the server does
    // not know.
    let elsewhere = bare();
    let spec = json!({"minAvailable": 0, "selector": {"matchLabels": {"app": "web"}}});
    let budget = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec});
    let budgets = Resource::new("policy", "poddisruptionbudgets");
    elsewhere.caller("user").create(&budgets, budget).unwrap();
    let made = elsewhere.history().changes_of("policy", "poddisruptionbudgets").remove(0);
    lab.history().change(&made);
    user.evict(&Key::new("default", "one")).unwrap();
    let found = texts(checks::evictions_within_budgets(lab.history()));
    assert!(found.ends_with("although budget default/web was not worked out yet"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn who_deletes_pods_past_their_budgets_is_found() {
    let status = json!({
        "observedGeneration": 1, "expectedPods": 2, "desiredHealthy": 2, "currentHealthy": 2,
        "disruptionsAllowed": 0,
    });
    let lab = bare();
    let user = lab.caller("user");
    for name in ["one", "two", "three"] {
        pod(&user, name, "Running", true);
    }
    pod(&user, "waiting", "Pending", false);
    budget(&user, json!({"minAvailable": 2}), status);
    let drain = |name: &str| {
        let key = Key::new("default", name);
        lab.caller("drain").delete(&pods(), &key, DeleteOptions::default()).unwrap();
    };
    drain("waiting");
    drain("one");
    let found = |caller: &str| texts(checks::deletions_within_budgets(lab.history(), caller));
    assert_eq!(found("drain"), "", "2 of 3 stay");
    drain("two");
    expect!["2026-01-01T00:00:00Z evictions respect budgets: pod default/two evicted although budget default/web wants 2 healthy pods and there were 2"].assert_eq(&found("drain"));
    assert_eq!(found("user"), "", "others have done nothing");
}

#[tokio::test(start_paused = true)]
async fn two_nodes_of_one_instance_are_found() {
    let nodes = Resource::new("", "nodes");
    let lab = bare();
    let user = lab.caller("user");
    let node = |name: &str, id: &str| {
        let node = json!({"metadata": {"name": name}, "spec": {"providerID": id}});
        user.create(&nodes, node).unwrap();
    };
    node("a", "lab://1");
    node("b", "lab://2");
    // An instance that joins again under its old name, and one under a new name after the old one.
    user.delete(&nodes, &Key::new("", "a"), DeleteOptions::default()).unwrap();
    node("a", "lab://1");
    user.delete(&nodes, &Key::new("", "b"), DeleteOptions::default()).unwrap();
    node("c", "lab://2");
    assert_eq!(checks::all(lab.history()), []);
    node("d", "lab://2");
    expect![[r#"2026-01-01T00:00:00Z one node per provider id: nodes c, d all have "lab://2""#]]
        .assert_eq(&texts(checks::all(lab.history())));
}

#[tokio::test(start_paused = true)]
async fn groups_that_grow_too_large_are_found_once() {
    let maps = Resource::new("", "configmaps");
    let lab = bare();
    let user = lab.caller("user");
    let put = |name: &str, pool: &str| {
        let key = Key::new("default", name);
        let labels = json!({"metadata": {"labels": {"pool": pool}}});
        if user.merge(&maps, &key, None, labels.clone()).is_err() {
            let mut map = labels;
            map["metadata"]["name"] = name.into();
            map["metadata"]["namespace"] = "default".into();
            user.create(&maps, map).unwrap();
        }
    };
    let broken = || {
        texts(checks::at_most(lab.history(), "", "configmaps", "two of a pool", |map| {
            let pool = map["metadata"]["labels"]["pool"].as_str()?;
            Some((pool.to_owned(), 2))
        }))
    };
    put("a", "small");
    put("b", "small");
    put("c", "large");
    user.delete(&maps, &Key::new("default", "a"), DeleteOptions::default()).unwrap();
    put("d", "small");
    assert_eq!(broken(), "");
    put("c", "small");
    // Told when it joins, and not again with every change while it stays.
    user.merge(&maps, &Key::new("default", "c"), None, json!({"data": {"x": "1"}})).unwrap();
    put("c", "large");
    expect!["2026-01-01T00:00:00Z two of a pool: configmaps default/c is number 3 of small, which may have 2"].assert_eq(&broken());
}

#[tokio::test(start_paused = true)]
async fn pods_that_move_are_found() {
    let lab = bare();
    let user = lab.caller("user");
    let pod = json!({
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    });
    let unbound = user.create(&pods(), pod).unwrap();
    user.bind(&unbound.key, "a").unwrap();
    assert_eq!(checks::all(lab.history()), []);
    // The server does not let this happen, so it has to be made up: what a server says that forgot
    // about the pod's first node.
    let elsewhere = bare();
    let other = elsewhere.caller("user");
    other
        .create(
            &pods(),
            json!({
                "metadata": {"name": "pod", "namespace": "default"},
                "spec": {"nodeName": "b", "containers": [{"name": "app", "image": "app"}]},
            }),
        )
        .unwrap();
    lab.history().change(&Change::new(
        pods(),
        ChangeKind::Modified,
        other.get(&pods(), &unbound.key).unwrap(),
        Some(user.get(&pods(), &unbound.key).unwrap()),
        lab.server().clock().now(),
    ));
    expect!["2026-01-01T00:00:00Z a pod is bound once: pod default/pod moved from a to b"]
        .assert_eq(&texts(checks::all(lab.history())));
}

/// A config map that is owned.
fn owned(user: &Caller, name: &str, namespace: &str, owners: &[Value]) {
    let metadata = json!({"name": name, "namespace": namespace, "ownerReferences": owners});
    user.create(&Resource::new("", "configmaps"), json!({"metadata": metadata})).unwrap();
}

/// A new owner and how others refer to it.
fn owner(user: &Caller, name: &str) -> Value {
    let map = json!({"metadata": {"name": name, "namespace": "default"}});
    let made = user.create(&Resource::new("", "configmaps"), map).unwrap();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": &*made.uid,
        "blockOwnerDeletion": true,
    })
}

fn delete(user: &Caller, name: &str, propagation: Propagation) {
    let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
    user.delete(&Resource::new("", "configmaps"), &Key::new("default", name), options).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_outlives_its_owners_is_found() {
    let mut lab = bare();
    let user = lab.caller("user");
    let namespace = json!({"metadata": {"name": "elsewhere"}});
    user.create(&Resource::new("", "namespaces"), namespace).unwrap();
    let (first, second) = (owner(&user, "first"), owner(&user, "second"));
    let never = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never"});
    owned(&user, "of-first", "default", slice::from_ref(&first));
    owned(&user, "of-both", "default", &[first.clone(), second.clone()]);
    owned(&user, "of-nobody", "default", &[never]);
    owned(&user, "of-another-namespace", "elsewhere", slice::from_ref(&second));
    delete(&user, "first", Propagation::Background);
    lab.pass(SignedDuration::from_mins(1)).await;
    assert_eq!(checks::orphans(lab.history()), [], "the collector may take a minute");
    // Nothing happens in this minute, and it counts all the same.
    lab.pass(SignedDuration::from_mins(1)).await;
    expect![[r#"
        2026-01-01T00:00:00Z nothing outlives its owners: configmaps default/of-first outlived its owners
        2026-01-01T00:00:00Z nothing outlives its owners: configmaps default/of-nobody outlived its owners
        2026-01-01T00:00:00Z nothing outlives its owners: configmaps elsewhere/of-another-namespace outlived its owners"#]].assert_eq(&texts(checks::orphans(lab.history())));
}

#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_out_is_no_orphan() {
    let mut lab = bare();
    let user = lab.caller("user");
    let first = owner(&user, "first");
    owned(&user, "held", "default", &[first]);
    let maps = Resource::new("", "configmaps");
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    user.merge(&maps, &Key::new("default", "held"), None, hold).unwrap();
    delete(&user, "first", Propagation::Background);
    delete(&user, "held", Propagation::Background);
    lab.pass(SignedDuration::from_mins(10)).await;
    assert_eq!(checks::orphans(lab.history()), []);
}

#[tokio::test(start_paused = true)]
async fn owners_that_do_not_wait_in_the_foreground_are_found() {
    let maps = Resource::new("", "configmaps");
    let let_go = |user: &Caller| {
        let key = Key::new("default", "first");
        user.merge(&maps, &key, None, json!({"metadata": {"finalizers": null}})).unwrap();
    };
    let tell = |patient: bool| {
        let lab = bare();
        let user = lab.caller("user");
        let first = owner(&user, "first");
        owned(&user, "dependent", "default", &[first]);
        delete(&user, "first", Propagation::Foreground);
        if patient {
            delete(&user, "dependent", Propagation::Background);
        }
        let_go(&user);
        texts(checks::owners_wait_for_dependents(lab.history()))
    };
    assert_eq!(tell(true), "");
    expect!["2026-01-01T00:00:00Z deletion in the foreground waits for what is owned: configmaps default/first went before its configmaps default/dependent"].assert_eq(&tell(false));
}

#[tokio::test(start_paused = true)]
async fn a_whole_cluster_keeps_every_rule_when_owners_go() {
    for propagation in [Propagation::Background, Propagation::Foreground, Propagation::Orphan] {
        let mut lab = Lab::new(Setup::new(1));
        let user = lab.caller("user");
        let sets = Resource::new("apps", "replicasets");
        let template = json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "app"}]},
        });
        let selector = json!({"matchLabels": {"app": "web"}});
        let set = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 3, "selector": selector, "template": template},
        });
        let set = user.create(&sets, set).unwrap();
        lab.pass(SignedDuration::from_mins(1)).await;
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        user.delete(&sets, &set.key, options).unwrap();
        lab.pass(SignedDuration::from_mins(10)).await;
        assert_eq!(checks::all(lab.history()), [], "{propagation:?}");
        let left = user.list(&pods(), None).len();
        assert_eq!(left, if propagation == Propagation::Orphan { 3 } else { 0 });
    }
}
