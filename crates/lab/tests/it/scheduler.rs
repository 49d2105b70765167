//! The scheduler.

use expect_test::expect;
use serde_json::{Value, json};

use crate::common::{Lab, condition};

fn cpu(amount: &str) -> Value {
    json!([{"name": "app", "image": "app", "resources": {"requests": {"cpu": amount}}}])
}

#[tokio::test(start_paused = true)]
async fn pods_go_where_there_is_room_and_say_why_when_there_is_none() {
    let mut lab = Lab::new();
    lab.node("a", "2", json!({}));
    lab.node("b", "4", json!({"disk": "ssd"}));
    lab.pod("small", json!({}));
    lab.pod("picky", json!({"nodeSelector": {"disk": "ssd"}}));
    lab.pod("huge", json!({"containers": cpu("64")}));
    lab.pod("lost", json!({"nodeSelector": {"disk": "tape"}}));
    lab.pass(0).await;
    expect![[r#"
        huge -
        lost -
        picky b
        small b
    "#]]
    .assert_eq(&lab.places());
    expect!["0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."]
        .assert_eq(&lab.why("huge"));
    expect!["0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."]
        .assert_eq(&lab.why("lost"));
    expect!["Scheduled: Successfully assigned default/picky to b x1"]
        .assert_eq(&lab.events("picky")[0]);

    lab.node("c", "64", json!({"disk": "tape"}));
    lab.pass(2).await;
    expect![[r#"
        huge c
        lost -
        picky b
        small b
    "#]]
    .assert_eq(&lab.places());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_leaves_makes_room_for_one_that_waits() {
    let mut lab = Lab::new();
    lab.node("a", "1", json!({}));
    lab.pod("first", json!({}));
    lab.pass(10).await;
    lab.pod("second", json!({}));
    lab.pass(60).await;
    assert_eq!(lab.places(), "first a\nsecond -\n");
    lab.delete("pods", "first");
    lab.pass(5).await;
    assert_eq!(lab.places(), "second a\n");
}

#[tokio::test(start_paused = true)]
async fn taints_keep_away_those_who_do_not_tolerate_them() {
    let mut lab = Lab::new();
    lab.node("a", "4", json!({}));
    lab.patch("nodes", "a", json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}));
    lab.pod("plain", json!({}));
    lab.pod("gpu", json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}));
    lab.pass(0).await;
    assert_eq!(lab.places(), "gpu a\nplain -\n");
    expect!["0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."]
        .assert_eq(&lab.why("plain"));
    lab.patch("nodes", "a", json!({"spec": {"unschedulable": true, "taints": null}}));
    lab.pass(10).await;
    expect!["0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."]
        .assert_eq(&lab.why("plain"));
    lab.patch("nodes", "a", json!({"spec": {"unschedulable": null}}));
    lab.pass(10).await;
    assert_eq!(lab.places(), "gpu a\nplain a\n");
}

#[tokio::test(start_paused = true)]
async fn spread_keeps_zones_level() {
    let mut lab = Lab::new();
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        lab.node(name, "4", json!({"topology.kubernetes.io/zone": zone}));
    }
    let spread = json!({"topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}},
    }]});
    for n in 0..6 {
        lab.pod_with(json!({"name": format!("w{n}"), "labels": {"app": "web"}}), spread.clone());
    }
    lab.pass(0).await;
    let on_b = lab.places().matches(" b1").count();
    assert_eq!((on_b, lab.places().matches(" -").count()), (3, 0), "{}", lab.places());
    lab.patch("nodes", "b1", json!({"spec": {"unschedulable": true}}));
    for n in 6..8 {
        lab.pod_with(json!({"name": format!("w{n}"), "labels": {"app": "web"}}), spread.clone());
    }
    lab.pass(5).await;
    expect!["0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread constraints. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."]
        .assert_eq(&lab.why("w7"));
}

#[tokio::test(start_paused = true)]
async fn pods_that_keep_apart_do_so_both_ways() {
    let mut lab = Lab::new();
    lab.node("a", "4", json!({}));
    lab.node("b", "4", json!({}));
    let terms = |app: &str| {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": app}},
        }]})
    };
    lab.pod_with(
        json!({"name": "loner", "labels": {"app": "loner"}}),
        json!({"affinity": {"podAntiAffinity": terms("web")}, "nodeSelector": {"kubernetes.io/hostname": "a"}}),
    );
    lab.pass(0).await;
    lab.pod_with(json!({"name": "web", "labels": {"app": "web"}}), json!({}));
    lab.pod_with(
        json!({"name": "friend", "labels": {"app": "friend"}}),
        json!({"affinity": {"podAffinity": terms("web")}}),
    );
    lab.pod_with(
        json!({"name": "clique", "labels": {"app": "clique"}}),
        json!({"affinity": {"podAffinity": terms("clique")}}),
    );
    lab.pod_with(
        json!({"name": "stalker", "labels": {"app": "stalker"}}),
        json!({"affinity": {"podAffinity": terms("nobody")}}),
    );
    lab.pass(0).await;
    expect![[r#"
        clique a
        friend b
        loner a
        stalker -
        web b
    "#]]
    .assert_eq(&lab.places());
    expect!["0/2 nodes are available: 2 node(s) didn't match pod affinity rules. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."]
        .assert_eq(&lab.why("stalker"));
}

#[tokio::test(start_paused = true)]
async fn an_important_pod_pushes_out_a_lesser_one_and_spares_budgets() {
    let mut lab = Lab::new();
    lab.create("priorityclasses", json!({"metadata": {"name": "high"}, "value": 1000}));
    lab.node("a", "1", json!({}));
    lab.node("b", "1", json!({}));
    for (name, node) in [("guarded", "a"), ("free", "b")] {
        let on = json!({"nodeSelector": {"kubernetes.io/hostname": node}});
        lab.pod_with(json!({"name": name, "labels": {"app": name}}), on);
    }
    lab.create(
        "poddisruptionbudgets",
        json!({
            "metadata": {"namespace": "default", "name": "guard"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
        }),
    );
    lab.pass(10).await;
    lab.pod("boss", json!({"priorityClassName": "high"}));
    lab.pass(0).await;
    let boss = lab.get("pods", "boss").unwrap();
    assert_eq!(boss["status"]["nominatedNodeName"], "b");
    let free = lab.get("pods", "free").unwrap();
    assert_eq!(condition(&free, "DisruptionTarget")["reason"], "PreemptionByScheduler");
    lab.pass(5).await;
    assert_eq!(lab.places(), "boss b\nguarded a\n");
}

#[tokio::test(start_paused = true)]
async fn gates_ports_and_other_schedulers() {
    let mut lab = Lab::new();
    lab.node("a", "8", json!({}));
    let port = json!({"containers": [
        {"name": "app", "image": "app", "ports": [{"containerPort": 80, "hostPort": 80}]},
    ]});
    lab.pod("port1", port.clone());
    lab.pass(0).await;
    lab.pod("port2", port);
    lab.pod("gated", json!({"schedulingGates": [{"name": "wait"}]}));
    lab.pod("foreign", json!({"schedulerName": "mine"}));
    lab.pass(20).await;
    assert_eq!(lab.places(), "foreign -\ngated -\nport1 a\nport2 -\n");
    expect!["0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."]
        .assert_eq(&lab.why("port2"));
    lab.patch("pods", "gated", json!({"spec": {"schedulingGates": null}}));
    lab.pass(0).await;
    assert_eq!(lab.places(), "foreign -\ngated a\nport1 a\nport2 -\n");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_pod_is_tried_again_every_five_minutes_and_counts_its_events() {
    let mut lab = Lab::new();
    lab.pod("early", json!({}));
    lab.pass(11 * 60).await;
    assert_eq!(lab.why("early"), "no nodes available to schedule pods");
    assert_eq!(lab.events("early"), ["FailedScheduling: no nodes available to schedule pods x3"]);
}

/// A spread over zones of pods with a label.
fn over_zones(more: &Value) -> Value {
    let mut spread = json!({
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}},
    });
    for (key, value) in more.as_object().unwrap() {
        spread[key] = value.clone();
    }
    json!({"topologySpreadConstraints": [spread]})
}

#[tokio::test(start_paused = true)]
async fn the_fine_print_of_spread() {
    // Zone `c` has one node, which is tainted: it is a domain unless taints are honoured.
    for (more, placed) in [
        (json!({}), 2),
        (json!({"nodeTaintsPolicy": "Honor"}), 4),
        (json!({"nodeTaintsPolicy": "Honor", "minDomains": 3}), 2),
        (json!({"maxSkew": 2}), 4),
        (json!({"matchLabelKeys": ["version"]}), 4),
        (json!({"whenUnsatisfiable": "ScheduleAnyway"}), 4),
    ] {
        let mut lab = Lab::new();
        for zone in ["a", "b", "c"] {
            lab.node(zone, "8", json!({"topology.kubernetes.io/zone": zone}));
        }
        let taint = json!({"key": "gpu", "effect": "NoSchedule"});
        lab.patch("nodes", "c", json!({"spec": {"taints": [taint]}}));
        for n in 0..4 {
            let labels = json!({"app": "web", "version": format!("v{}", n % 2)});
            lab.pod_with(json!({"name": format!("w{n}"), "labels": labels}), over_zones(&more));
        }
        lab.pass(1).await;
        assert_eq!(4 - lab.places().matches(" -\n").count(), placed, "{more}\n{}", lab.places());
    }
}

#[tokio::test(start_paused = true)]
async fn affinity_reaches_into_namespaces_by_name_and_by_label() {
    let mut lab = Lab::new();
    lab.node("a", "8", json!({}));
    lab.node("b", "8", json!({}));
    lab.create("namespaces", json!({"metadata": {"name": "far", "labels": {"team": "x"}}}));
    let container = json!([{"name": "app", "image": "app"}]);
    lab.create(
        "pods",
        json!({
            "metadata": {"namespace": "far", "name": "db", "labels": {"app": "db"}},
            "spec": {"containers": container, "nodeSelector": {"kubernetes.io/hostname": "b"}},
        }),
    );
    lab.pass(1).await;
    let near_db = |more: Value| {
        let mut term = json!({
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "db"}},
        });
        for (key, value) in more.as_object().unwrap() {
            term[key] = value.clone();
        }
        let terms = json!([term]);
        let strength = "requiredDuringSchedulingIgnoredDuringExecution";
        json!({"affinity": {"podAffinity": {strength: terms}}})
    };
    lab.pod("own", near_db(json!({})));
    lab.pod("named", near_db(json!({"namespaces": ["far"]})));
    lab.pod("labelled", near_db(json!({"namespaceSelector": {"matchLabels": {"team": "x"}}})));
    lab.pod("everywhere", near_db(json!({"namespaceSelector": {}})));
    lab.pod("unlike", near_db(json!({"namespaceSelector": {"matchLabels": {"team": "y"}}})));
    lab.pass(1).await;
    expect![[r#"
        everywhere b
        labelled b
        named b
        own -
        unlike -
    "#]]
    .assert_eq(&lab.places());
}

#[tokio::test(start_paused = true)]
async fn preferences_are_followed_where_nothing_forbids_it() {
    let mut lab = Lab::new();
    lab.node("a", "8", json!({}));
    lab.node("b", "8", json!({"disk": "ssd"}));
    let ssd = json!({"matchExpressions": [{"key": "disk", "operator": "Exists"}]});
    let likes = json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": ssd}],
    }}});
    lab.pod("likes", likes);
    lab.pass(1).await;
    let away = json!({"affinity": {"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }}],
    }}});
    for n in 0..4 {
        lab.pod_with(json!({"name": format!("x{n}"), "labels": {"app": "x"}}), away.clone());
    }
    lab.pass(1).await;
    assert_eq!(lab.places(), "likes b\nx0 a\nx1 b\nx2 a\nx3 b\n");
}

#[tokio::test(start_paused = true)]
async fn the_most_important_pod_comes_first() {
    let mut lab = Lab::new();
    lab.create("priorityclasses", json!({"metadata": {"name": "high"}, "value": 1000}));
    lab.pod("early", json!({}));
    lab.pod("important", json!({"priorityClassName": "high"}));
    lab.node("a", "1", json!({}));
    lab.pass(30).await;
    assert_eq!(lab.places(), "early -\nimportant a\n");
}
