//! §11.4 F-03 to F-06, F-13 to F-35: what makes an instance one that its pool does not want.

use joiner_api::hash::{NODE_POOL_HASH_VERSION, node_pool_hash};
use joiner_core::{instance_type::Offering, label::Labels};
use serde_json::{Value, json};

use super::*;

/// A pool of amd64 instances, with the hash of its template.
fn pool() -> NodePool {
    changed_pool(&json!({}))
}

/// The pool with a change to its template.
fn changed_pool(change: &Value) -> NodePool {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"metadata": {"labels": {"team": "a"}}, "spec": {
            "nodeClassRef": {"group": "g", "kind": "K", "name": "default"},
            "requirements": [requirement("kubernetes.io/arch", "In", &["amd64"])],
            "expireAfter": "720h",
        }}},
    });
    json_merge(&mut pool["spec"]["template"], change);
    let mut pool: NodePool = serde_json::from_value(pool).unwrap();
    let hash = node_pool_hash(&pool.spec.template).to_string();
    pool.metadata.annotations = Some(hash_annotations(&hash, NODE_POOL_HASH_VERSION));
    pool
}

fn json_merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (field, value) in change {
                json_merge(into.entry(field).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

fn hash_annotations(hash: &str, version: &str) -> Labels {
    let pairs = [(label::NODE_POOL_HASH, hash), (label::NODE_POOL_HASH_VERSION, version)];
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// A claim that was launched from the pool as it is.
fn claim() -> NodeClaim {
    let mut claim: NodeClaim = serde_json::from_value(json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "web-1", "labels": {
            "karpenter.sh/nodepool": "general",
            "karpenter.sh/capacity-type": "on-demand",
            "topology.kubernetes.io/zone": "zone-a",
            "node.kubernetes.io/instance-type": "large",
            "kubernetes.io/arch": "amd64",
        }},
        "spec": {"requirements": []},
        "status": {"conditions": [{"type": "Launched", "status": "True"}]},
    }))
    .unwrap();
    claim.metadata.annotations = pool().metadata.annotations;
    claim
}

fn reason(claim: &NodeClaim, pool: &NodePool) -> Option<String> {
    match of_objects(claim, pool) {
        Some(Verdict::Drifted(reason)) => Some(reason),
        other => {
            assert_eq!(other, None);
            None
        }
    }
}

fn is_drifted_by_template(change: &Value) -> bool {
    reason(&claim(), &changed_pool(change)).as_deref() == Some(NODE_POOL_DRIFTED)
}

fn is_drifted_by_requirements(requirements: &Value) -> bool {
    let pool = changed_pool(&json!({"spec": {"requirements": requirements}}));
    reason(&claim(), &pool).as_deref() == Some(REQUIREMENTS_DRIFTED)
}

#[test]
fn a_claim_of_the_pool_as_it_is_has_not_drifted() {
    assert_eq!(reason(&claim(), &pool()), None);
}

/// F-13.
#[test]
fn a_requirement_that_asks_for_another_value_is_drift() {
    assert!(is_drifted_by_requirements(&json!([requirement(label::ARCH, "In", &["arm64"])])));
}

/// F-14.
#[test]
fn a_requirement_more_that_the_instance_does_not_meet_is_drift() {
    let arch = requirement(label::ARCH, "In", &["amd64"]);
    let unknown = requirement("example.com/disk", "In", &["ssd"]);
    assert!(is_drifted_by_requirements(&json!([arch, unknown])), "it has no such label");
    let above = requirement("example.com/generation", "Gt", &["3"]);
    assert!(is_drifted_by_requirements(&json!([arch, above])));
}

/// F-15.
#[test]
fn a_requirement_that_leaves_out_the_instances_value_is_drift() {
    let wide = json!([requirement(label::ZONE, "In", &["zone-a", "zone-b"])]);
    assert!(!is_drifted_by_requirements(&wide));
    assert!(is_drifted_by_requirements(&json!([requirement(label::ZONE, "In", &["zone-b"])])));
}

/// F-16.
#[test]
fn a_label_that_must_not_be_there_is_drift() {
    assert!(is_drifted_by_requirements(&json!([requirement(label::ARCH, "DoesNotExist", &[])])));
    let absent = json!([requirement("example.com/disk", "DoesNotExist", &[])]);
    assert!(!is_drifted_by_requirements(&absent), "what is absent is as it should be");
    let not_in = json!([requirement("example.com/disk", "NotIn", &["hdd"])]);
    assert!(!is_drifted_by_requirements(&not_in));
}

/// F-17.
#[test]
fn a_requirement_that_allows_more_is_no_drift() {
    let wider = json!([requirement(label::ARCH, "In", &["amd64", "arm64"])]);
    assert!(!is_drifted_by_requirements(&wider));
}

/// F-18.
#[test]
fn a_label_that_has_to_be_there_and_is_is_no_drift() {
    assert!(!is_drifted_by_requirements(&json!([requirement(label::ARCH, "Exists", &[])])));
}

/// F-20.
#[test]
fn other_annotations_of_nodes_are_drift() {
    assert!(is_drifted_by_template(&json!({"metadata": {"annotations": {"a": "b"}}})));
}

/// F-21.
#[test]
fn other_labels_of_nodes_are_drift() {
    assert!(is_drifted_by_template(&json!({"metadata": {"labels": {"team": "b"}}})));
}

/// F-22.
#[test]
fn other_taints_are_drift() {
    let taints = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
    assert!(is_drifted_by_template(&json!({"spec": {"taints": taints}})));
}

/// F-23.
#[test]
fn other_startup_taints_are_drift() {
    let taints = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
    assert!(is_drifted_by_template(&json!({"spec": {"startupTaints": taints}})));
}

/// F-24.
#[test]
fn another_class_is_drift() {
    assert!(is_drifted_by_template(&json!({"spec": {"nodeClassRef": {"name": "other"}}})));
}

/// F-25.
#[test]
fn another_time_to_expire_is_drift() {
    assert!(is_drifted_by_template(&json!({"spec": {"expireAfter": "1h"}})));
}

/// F-26.
#[test]
fn another_termination_grace_period_is_drift() {
    assert!(is_drifted_by_template(&json!({"spec": {"terminationGracePeriod": "1h"}})));
}

/// The claim's and the pool's annotations, where only one of the two is not as it should be.
fn with_annotations(of_claim: Option<Labels>, of_pool: Option<Labels>) -> Option<String> {
    let (mut claim, mut pool) = (claim(), pool());
    claim.metadata.annotations = of_claim;
    pool.metadata.annotations = of_pool;
    reason(&claim, &pool)
}

/// F-27.
#[test]
fn a_pool_without_a_hash_says_nothing() {
    assert_eq!(with_annotations(Some(hash_annotations("1", "v3")), None), None);
}

/// F-28.
#[test]
fn a_claim_without_a_hash_has_not_drifted() {
    assert_eq!(with_annotations(None, Some(hash_annotations("1", "v3"))), None);
}

/// F-29.
#[test]
fn hashes_that_were_made_in_different_ways_say_nothing() {
    let (old, new) = (hash_annotations("1", "v2"), hash_annotations("2", "v3"));
    assert_eq!(with_annotations(Some(old), Some(new.clone())), None);
    let same_way = hash_annotations("1", "v3");
    let drifted = with_annotations(Some(same_way), Some(new));
    assert_eq!(drifted.as_deref(), Some(NODE_POOL_DRIFTED));
}

/// F-30.
#[test]
fn a_claims_hash_without_a_version_says_nothing() {
    let mut unversioned = hash_annotations("1", "v3");
    unversioned.remove(label::NODE_POOL_HASH_VERSION);
    assert_eq!(with_annotations(Some(unversioned), Some(hash_annotations("2", "v3"))), None);
}

/// F-07 and F-08, as far as objects go: the template is looked at before the requirements.
#[test]
fn the_template_is_looked_at_first() {
    let arm = json!({"spec": {
        "requirements": [requirement(label::ARCH, "In", &["arm64"])], "expireAfter": "1h",
    }});
    assert_eq!(reason(&claim(), &changed_pool(&arm)).as_deref(), Some(NODE_POOL_DRIFTED));
}

const RESERVATION: &str = "example.com/reservation";

/// Whether a claim of this capacity type has lost its type, of which these are offered.
fn is_gone(capacity_type: &str, offered: &[(&str, &str)]) -> bool {
    let mut claim = claim();
    let labels = claim.metadata.labels.get_or_insert_default();
    labels.insert(label::CAPACITY_TYPE.to_owned(), capacity_type.to_owned());
    labels.insert(RESERVATION.to_owned(), "r-1".to_owned());
    let offering = |(zone, capacity_type): &(&str, &str)| {
        let mut requirements = Requirements::new();
        requirements.add(label::ZONE, Requirement::one_of([*zone]));
        requirements.add(label::CAPACITY_TYPE, Requirement::one_of([*capacity_type]));
        if *capacity_type == label::CAPACITY_TYPE_RESERVED {
            requirements.add(RESERVATION, Requirement::one_of(["r-2"]));
        }
        Offering { requirements, available: false, ..Offering::default() }
    };
    let offerings = offered.iter().map(offering).collect();
    let own = InstanceType { name: "large".to_owned(), offerings, ..InstanceType::default() };
    let well_known = WellKnown::with([RESERVATION.to_owned()]);
    type_is_gone(&claim, &[Arc::new(own)], &well_known, Some(RESERVATION))
}

/// F-03.
#[test]
fn an_instance_that_does_not_say_its_type_has_lost_it() {
    let mut claim = claim();
    claim.metadata.labels.get_or_insert_default().remove(label::INSTANCE_TYPE);
    let types = [Arc::new(InstanceType { name: "large".to_owned(), ..InstanceType::default() })];
    assert!(type_is_gone(&claim, &types, &WellKnown::default(), None));
}

/// F-04.
#[test]
fn a_type_that_the_cloud_does_not_have_is_gone() {
    assert!(type_is_gone(&claim(), &[], &WellKnown::default(), None));
}

/// F-05.
#[test]
fn a_type_without_offerings_is_gone() {
    assert!(is_gone("on-demand", &[]));
}

/// F-06.
#[test]
fn a_type_that_is_only_offered_elsewhere_is_gone() {
    assert!(is_gone("on-demand", &[("zone-b", "on-demand"), ("zone-a", "spot")]));
}

#[test]
fn a_type_that_cannot_be_had_now_is_not_gone() {
    assert!(!is_gone("on-demand", &[("zone-a", "on-demand")]));
}

/// F-31.
#[test]
fn a_reserved_instance_stays_where_reserved_and_on_demand_are_offered() {
    assert!(!is_gone("reserved", &[("zone-a", "reserved"), ("zone-a", "on-demand")]));
}

/// F-32.
#[test]
fn a_reserved_instance_stays_where_other_reservations_are_offered() {
    assert!(!is_gone("reserved", &[("zone-a", "reserved")]));
}

/// F-33.
#[test]
fn a_reserved_instance_stays_where_on_demand_is_offered() {
    assert!(!is_gone("reserved", &[("zone-a", "on-demand")]));
}

/// F-34.
#[test]
fn a_reserved_instance_has_lost_its_type_where_only_spot_is_offered() {
    assert!(is_gone("reserved", &[("zone-a", "spot")]));
}

/// F-35.
#[test]
fn a_reserved_instance_has_lost_its_type_where_nothing_compatible_is_offered() {
    assert!(is_gone("reserved", &[("zone-b", "reserved"), ("zone-b", "on-demand")]));
}
