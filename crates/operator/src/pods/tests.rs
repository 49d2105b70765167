use std::str::FromStr;

use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-06-01T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A running pod with some fields more.
fn pod(more: Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"containers": [], "nodeName": "n", "terminationGracePeriodSeconds": 30},
        "status": {"phase": "Running", "startTime": "2026-06-01T11:00:00Z"},
    });
    merge(&mut pod, more);
    serde_json::from_value(pod).unwrap()
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (field, value) in more {
                merge(into.entry(field).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

fn deleted(time: &str) -> Value {
    json!({"metadata": {"deletionTimestamp": time}})
}

fn owned(api_version: &str, kind: &str) -> Value {
    let owner = json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u"});
    json!({"metadata": {"ownerReferences": [owner]}})
}

fn annotated(value: &str) -> Value {
    json!({"metadata": {"annotations": {DO_NOT_DISRUPT: value}}})
}

fn tolerating(toleration: Value) -> Value {
    json!({"spec": {"tolerations": [toleration]}})
}

#[test]
fn po01_do_not_disrupt_is_for_ever_or_for_a_while_after_the_start() {
    let at = |time: &str| Timestamp::from_str(time).unwrap();
    let invalid = |text: &str| DoNotDisrupt::Invalid(Duration::from_str(text).unwrap_err());
    for (value, expected, is_active) in [
        (None, DoNotDisrupt::None, false),
        (Some("true"), DoNotDisrupt::Always, true),
        (Some("false"), DoNotDisrupt::None, false),
        (Some("True"), invalid("True"), false),
        (Some("soon"), invalid("soon"), false),
        (Some("30"), invalid("30"), false),
        (Some("0s"), DoNotDisrupt::None, false),
        (Some("-1h"), DoNotDisrupt::None, false),
        (Some("1h1s"), DoNotDisrupt::Until(at("2026-06-01T12:00:01Z")), true),
        (Some("1h"), DoNotDisrupt::Until(at(NOW)), false),
        (Some("30m"), DoNotDisrupt::Until(at("2026-06-01T11:30:00Z")), false),
    ] {
        let pod = pod(value.map_or(json!({}), annotated));
        assert_eq!(DoNotDisrupt::of(&pod), expected, "{value:?}");
        assert_eq!(DoNotDisrupt::of(&pod).is_active(now()), is_active, "{value:?}");
        assert_eq!(is_disruptable(&pod, now()), !is_active, "{value:?}");
        assert_eq!(is_evictable(&pod, now()), !is_active, "{value:?}");
        assert!(is_drainable(&pod, now()), "{value:?}: the node waits for it all the same");
    }
}

#[test]
fn po02_a_pod_that_has_not_started_is_protected_until_it_has() {
    let mut waiting = pod(annotated("1s"));
    waiting.status.as_mut().unwrap().start_time = None;
    assert_eq!(DoNotDisrupt::of(&waiting), DoNotDisrupt::NotStarted);
    assert!(!is_disruptable(&waiting, now()));
}

#[test]
fn po03_a_pod_that_is_not_active_can_be_disrupted_whatever_it_asked_for() {
    for phase in ["Failed", "Succeeded"] {
        let mut ended = pod(annotated("true"));
        ended.status.as_mut().unwrap().phase = Some(phase.to_owned());
        assert!(is_disruptable(&ended, now()), "{phase}");
    }
    let mut leaving = pod(annotated("true"));
    leaving.metadata.deletion_timestamp = pod(deleted(NOW)).metadata.deletion_timestamp;
    assert!(is_disruptable(&leaving, now()));
    assert!(!is_disruptable(&pod(annotated("true")), now()));
}

#[test]
fn po04_a_node_waits_for_pods_until_they_end_leave_or_hang() {
    for (what, more, waits, evictable) in [
        ("a running pod", json!({}), true, true),
        ("one that has ended", json!({"status": {"phase": "Succeeded"}}), false, false),
        ("one that terminates", deleted("2026-06-01T12:00:30Z"), true, false),
        ("one that is a minute late", deleted("2026-06-01T11:59:00Z"), true, false),
        ("one that is later", deleted("2026-06-01T11:58:59Z"), false, false),
        ("a static one", owned("v1", "Node"), false, false),
        ("a daemon", owned("apps/v1", "DaemonSet"), true, true),
        ("one that tolerates all", tolerating(json!({"operator": "Exists"})), false, false),
        (
            "one that tolerates the taint",
            tolerating(json!({"key": "karpenter.sh/disrupted", "operator": "Exists"})),
            false,
            false,
        ),
        (
            "one that tolerates its effect elsewhere",
            tolerating(json!({"key": "other", "operator": "Exists", "effect": "NoSchedule"})),
            true,
            true,
        ),
    ] {
        assert_eq!(is_waiting_eviction(&pod(more.clone()), now()), waits, "{what}");
        assert_eq!(is_evictable(&pod(more), now()), evictable, "{what}");
    }
}

#[test]
fn po05_a_pod_needs_another_place_unless_it_has_ended_or_belongs_to_the_node() {
    let mut leaving_with_successor = owned("apps/v1", "StatefulSet");
    merge(&mut leaving_with_successor, deleted(NOW));
    for (what, more, expected) in [
        ("a running pod", json!({}), true),
        ("one that has ended", json!({"status": {"phase": "Failed"}}), false),
        ("one that terminates", deleted(NOW), false),
        ("one whose successor waits for its name", leaving_with_successor, true),
        ("a daemon", owned("apps/v1", "DaemonSet"), false),
        ("a daemon of somebody else's kind", owned("example.com/v1", "DaemonSet"), true),
        ("a static one", owned("v1", "Node"), false),
    ] {
        assert_eq!(is_reschedulable(&pod(more)), expected, "{what}");
    }
}

#[test]
fn po06_a_place_is_made_for_pods_that_the_scheduler_has_given_up_on() {
    let given_up = || {
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
        json!({
            "spec": {"nodeName": ""},
            "status": {"phase": "Pending", "conditions": [condition]},
        })
    };
    let with = |more: Value| {
        let mut pod = given_up();
        merge(&mut pod, more);
        pod
    };
    for (what, more, expected) in [
        ("one that was given up", given_up(), true),
        ("one that was not tried", json!({"spec": {"nodeName": ""}}), false),
        ("one that has a node", with(json!({"spec": {"nodeName": "n"}})), false),
        (
            "one that others make room for",
            with(json!({"status": {"nominatedNodeName": "n"}})),
            false,
        ),
        ("a daemon", with(owned("apps/v1", "DaemonSet")), false),
        ("a static one", with(owned("v1", "Node")), false),
    ] {
        assert_eq!(is_provisionable(&pod(more)), expected, "{what}");
    }
}

#[test]
fn a_pod_is_forced_in_time_to_end_before_the_deadline() {
    let at = |time: &str| format!("2026-06-01T{time}Z").parse::<Timestamp>().unwrap();
    let deadline = at("13:00:00");
    for (what, more, expected) in [
        ("its own time before the deadline", json!({}), Some(at("12:59:30"))),
        ("longer", json!({"spec": {"terminationGracePeriodSeconds": 3600}}), Some(at("12:00:00"))),
        ("not at all: in time", deleted("2026-06-01T13:00:00Z"), None),
        ("at once: too late", deleted("2026-06-01T13:00:01Z"), Some(Timestamp::MIN)),
    ] {
        assert_eq!(forced_since(&pod(more), deadline), expected, "{what}");
    }
}

#[test]
fn q14_a_pod_gets_what_is_left_in_whole_seconds_and_never_nothing() {
    let deadline = now();
    let left = |before: SignedDuration| grace_seconds(deadline, deadline - before);
    assert_eq!(left(SignedDuration::from_secs(210)), 210);
    assert_eq!(left(SignedDuration::from_millis(1900)), 1);
    assert_eq!(left(SignedDuration::from_millis(100)), 1);
    assert_eq!(left(SignedDuration::ZERO), 1);
    assert_eq!(left(SignedDuration::from_hours(-1)), 1);
}

#[test]
fn an_eviction_costs_one_and_what_owner_and_priority_add_up_to_ten_either_way() {
    let costly = |cost: &str| json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}});
    for (what, more, expected) in [
        ("an ordinary pod", json!({}), 1.0),
        ("one that its owner likes", costly("134217728"), 2.0),
        ("one that its owner does not", costly("-134217728"), 0.0),
        ("a cost that cannot be read", costly("high"), 1.0),
        ("a cost that is no number", costly("NaN"), 1.0),
        ("one that is important", json!({"spec": {"priority": 1 << 25}}), 2.0),
        ("a system pod", json!({"spec": {"priority": 2_000_000_000}}), 10.0),
        ("one that may go", json!({"spec": {"priority": -2_000_000_000}}), -10.0),
    ] {
        let found = eviction_cost(&pod(more));
        assert!((found - expected).abs() < 1e-9, "{what}: {found}");
    }
}
