use std::collections::{BTreeMap, BTreeSet};

use joiner_core::plan::{ExistingPlacement, PlannedClaim};
use serde_json::json;

use super::*;
use crate::{disruption::cluster::condition, scenario::Scenario};

/// Two types of instances, of which the larger costs twice as much.
fn types() -> Value {
    let of = |name: &str, cpus: u32, price: f64| {
        let only =
            |key: &str, value: &str| json!({"key": key, "operator": "In", "values": [value]});
        let terms = [only(label::ZONE, "a"), only(label::CAPACITY_TYPE, "on-demand")];
        json!({
            "name": name, "requirements": [only(label::INSTANCE_TYPE, name), terms[0], terms[1]],
            "capacity": {"cpu": cpus.to_string(), "memory": "16Gi", "pods": "10"},
            "offerings": [{"price": price, "available": true, "requirements": terms}],
        })
    };
    json!({"instanceTypes": [of("small", 2, 0.1), of("large", 4, 0.2)]})
}

fn pool(disruption: &Value) -> Value {
    let class = json!({"group": "example.com", "kind": "AnyClass", "name": "default"});
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"},
        "spec": {
            "disruption": disruption,
            "template": {"spec": {"nodeClassRef": class, "requirements": []}},
        },
    })
}

fn free() -> Value {
    json!({"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]})
}

/// An instance of the larger type with its Node, consolidatable.
fn instance(name: &str) -> [Value; 2] {
    let labels = json!({
        label::NODE_POOL: "p", label::INSTANCE_TYPE: "large", label::ZONE: "a",
        label::CAPACITY_TYPE: "on-demand", label::INITIALIZED: "true", label::REGISTERED: "true",
        label::HOSTNAME: name,
    });
    let room = json!({"cpu": "4", "memory": "16Gi", "pods": "10"});
    let conditions = ["Launched", "Registered", "Initialized", "Consolidatable"].map(condition);
    let claim = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "nodeClassRef": {"group": "example.com", "kind": "AnyClass", "name": "default"},
            "requirements": [],
        },
        "status": {
            "nodeName": name, "providerID": format!("x://{name}"), "capacity": room,
            "allocatable": room,
            "conditions": conditions,
        },
    });
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": format!("x://{name}")},
        "status": {"capacity": room, "allocatable": room, "conditions": [condition("Ready")]},
    });
    [claim, node]
}

fn pod(name: &str, node: &str) -> Value {
    let resources = json!({"requests": {"cpu": "1"}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": resources}]},
        "status": {"phase": "Running"},
    })
}

fn cluster(objects: impl IntoIterator<Item = Value>) -> Cluster {
    let scenario = Scenario {
        seed: 0,
        kinds: BTreeSet::new(),
        objects: objects.into_iter().collect(),
        instance_types: types(),
        flags: BTreeMap::new(),
    };
    Cluster::new(scenario).expect("the types can be read")
}

/// Instances `a` with pod `x`, and `b` with nothing on it, in a pool.
fn two_instances(disruption: &Value) -> Vec<Value> {
    let mut objects = vec![pool(disruption), pod("x", "a")];
    objects.extend(instance("a"));
    objects.extend(instance("b"));
    objects
}

fn going(node: &str) -> Candidate {
    Candidate { node: node.to_owned(), node_claim: node.to_owned(), ..Candidate::default() }
}

/// `a` goes, and its pod moves to `b`.
fn a_goes(method: Method) -> Move {
    let to = ExistingPlacement {
        node: "b".to_owned(),
        node_claim: "b".to_owned(),
        pods: vec!["default/x".to_owned()],
    };
    Move { method, candidates: vec![going("a")], replacements: vec![], destinations: vec![to] }
}

/// `a` is replaced by an instance that may be of some types.
fn replaced_by(types: &[&str]) -> Move {
    let replacement = PlannedClaim {
        node_pool: "p".to_owned(),
        pods: vec!["default/x".to_owned()],
        instance_types: types.iter().map(ToString::to_string).collect(),
        ..PlannedClaim::default()
    };
    let candidates = vec![going("a")];
    Move {
        method: Method::SingleNode,
        candidates,
        replacements: vec![replacement],
        destinations: vec![],
    }
}

fn found(objects: Vec<Value>, step: &Move) -> Vec<String> {
    let cluster = cluster(objects);
    broken(&cluster, step, &mut Ledger::new(&cluster))
}

/// The objects, with one of them changed.
fn with(
    mut objects: Vec<Value>,
    kind: &str,
    name: &str,
    change: impl Fn(&mut Value),
) -> Vec<Value> {
    let is_it = |it: &&mut Value| it["kind"] == kind && it["metadata"]["name"] == name;
    change(objects.iter_mut().find(is_it).expect("there is such an object"));
    objects
}

#[test]
fn an_instance_whose_pods_fit_elsewhere_may_go() {
    assert_eq!(found(two_instances(&free()), &a_goes(Method::SingleNode)), [""; 0]);
    let mut cluster = cluster(two_instances(&free()));
    let step = a_goes(Method::SingleNode);
    assert_eq!(cluster.remove(&step.candidates), 1);
    let broken = broken_by_placement(&cluster, &step).expect("the cluster can be read");
    assert_eq!(broken, [""; 0]);
    cluster.place(&step.replacements, &step.destinations).expect("nothing has to be had");
    assert_eq!(cluster.bill(), super::super::cluster::Bill { instances: 1, price: 0.2 });
    assert_eq!(cluster.pods_on("b").count(), 1);
}

#[test]
fn annotations_keep_nodes_and_pods() {
    let keep = |object: &mut Value| {
        object["metadata"]["annotations"][DO_NOT_DISRUPT] = json!("true");
    };
    let step = a_goes(Method::SingleNode);
    let kept = with(two_instances(&free()), "Node", "a", keep);
    assert_eq!(found(kept, &step), ["a: its annotation forbids it"]);
    let kept = with(two_instances(&free()), "Pod", "x", keep);
    assert_eq!(found(kept, &step), ["a: the annotation of pod default/x forbids it"]);
}

#[test]
fn budgets_of_pods_keep_them_unless_a_drifted_instance_has_a_grace_period() {
    let budget = json!({
        "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}}, "status": {"disruptionsAllowed": 0},
    });
    let mut objects = two_instances(&free());
    objects.push(budget);
    let kept = ["a: PodDisruptionBudget default/web keeps pod default/x"];
    assert_eq!(found(objects.clone(), &a_goes(Method::SingleNode)), kept);
    let drifted = with(objects, "NodeClaim", "a", |claim| {
        claim["status"]["conditions"][3] = condition("Drifted");
        claim["spec"]["terminationGracePeriod"] = json!("1h");
    });
    assert_eq!(found(drifted, &a_goes(Method::Drift)), [""; 0]);
}

#[test]
fn budgets_of_pools_count_what_goes_in_one_round_for_whatever_reason() {
    let budgets = json!({"consolidateAfter": "0s", "budgets": [
        {"nodes": "50%"},
        {"nodes": "0", "reasons": ["Drifted"]},
        {"nodes": "0", "schedule": NOT_IN_FORCE.0, "duration": NOT_IN_FORCE.1},
    ]});
    let cluster = cluster(two_instances(&budgets));
    let mut ledger = Ledger::new(&cluster);
    let empty = Move { candidates: vec![going("b")], ..a_goes(Method::Emptiness) };
    let empty = Move { destinations: vec![], ..empty };
    assert_eq!(broken(&cluster, &empty, &mut ledger), [""; 0]);
    let over = ["a: the budgets of NodePool p do not allow it"];
    assert_eq!(broken(&cluster, &a_goes(Method::SingleNode), &mut ledger), over);
    let drift = broken(&cluster, &a_goes(Method::Drift), &mut Ledger::new(&cluster));
    assert_eq!(drift[..1], over);
}

#[test]
fn methods_are_for_the_instances_they_are_for() {
    let step = a_goes(Method::SingleNode);
    let never = json!({"consolidateAfter": "Never", "budgets": [{"nodes": "100%"}]});
    assert_eq!(found(two_instances(&never), &step), ["a: its pool is never consolidated"]);
    let mut when_empty = free();
    when_empty["consolidationPolicy"] = json!("WhenEmpty");
    assert_eq!(found(two_instances(&when_empty), &step), ["a: it is not empty"]);
    let drift = found(two_instances(&free()), &a_goes(Method::Drift));
    assert_eq!(drift, ["a: it has not drifted"]);
    let busy = with(two_instances(&free()), "NodeClaim", "a", |claim| {
        claim["status"]["conditions"][3]["status"] = json!("False");
    });
    assert_eq!(found(busy, &step), ["a: it is not consolidatable"]);
}

#[test]
fn a_replacement_is_cheaper() {
    assert_eq!(found(two_instances(&free()), &replaced_by(&["large", "small"])), [""; 0]);
    assert_eq!(
        found(two_instances(&free()), &replaced_by(&["large"])),
        ["instances for 0.2000 are replaced by 1 for 0.2000"]
    );
}

#[test]
fn no_pod_is_forgotten_and_no_instance_that_goes_receives_any() {
    let mut step = a_goes(Method::SingleNode);
    step.destinations[0].node = "a".to_owned();
    assert_eq!(found(two_instances(&free()), &step), ["a goes and receives pods"]);
    step.destinations.clear();
    let homeless = ["a: pod default/x is left without a place"];
    assert_eq!(found(two_instances(&free()), &step), homeless);
}

#[test]
fn a_pod_that_does_not_fit_where_it_is_put_is_noticed() {
    let mut objects = two_instances(&free());
    objects.extend(["y", "z", "u", "v"].map(|name| pod(name, "b")));
    let mut cluster = cluster(objects);
    let step = a_goes(Method::SingleNode);
    cluster.remove(&step.candidates);
    let broken = broken_by_placement(&cluster, &step).expect("the cluster can be read");
    assert_eq!(broken.len(), 1, "{broken:?}");
}
