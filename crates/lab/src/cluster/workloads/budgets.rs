//! PodDisruptionBudgets: how many of its pods may be evicted now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Key, Object, Resource, Server, Status};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Part,
    events::{About, Recorder},
    facts::{
        Condition, Meta, find_condition, merge_between, moment, read, selector, set_condition,
        share,
    },
    pods::Pod,
    queue::Queue,
    selectors::Selectors,
    world::{Both, News, World},
};

/// How long an evicted pod may take until it is being deleted; after that it counts again.
const EVICTION_TAKES: SignedDuration = SignedDuration::from_mins(2);

/// The kinds whose size is known, by group and plural name.
const SCALED: [(&str, &str); 4] = [
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("", "replicationcontrollers"),
];

/// The controller of budgets.
pub(super) struct Budgets {
    caller: Caller,
    recorder: Recorder,
    resource: Resource,
    selectors: Selectors,
    /// The pods that each budget selects.
    members: BTreeMap<Key, BTreeSet<Key>>,
    scales: BTreeMap<Arc<str>, Scale>,
    queue: Queue<Key>,
}

/// How many pods an owner wants, and who owns it.
#[derive(Debug, PartialEq, Eq)]
struct Scale {
    replicas: i64,
    owner: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct ScaledJson {
    metadata: Meta,
    spec: Option<ScaledSpecJson>,
}

#[derive(Deserialize)]
struct ScaledSpecJson {
    replicas: Option<i64>,
}

#[derive(Deserialize)]
struct BudgetJson {
    spec: Option<BudgetSpecJson>,
}

#[derive(Deserialize)]
struct BudgetSpecJson {
    selector: Option<Value>,
}

/// What a budget demands of the pods that it selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Demand {
    expected: i64,
    desired_healthy: i64,
}

/// What a budget demands, given how many pods it selects and how many their owners want. The
/// latter is asked for only where the budget depends on it.
fn demand(
    spec: &Value,
    selected: i64,
    scale: impl FnOnce() -> Result<i64, String>,
) -> Result<Demand, String> {
    if let Some(max_unavailable) = spec.get("maxUnavailable") {
        let expected = scale()?;
        let allowed = share(Some(max_unavailable), expected, true).unwrap_or(0);
        return Ok(Demand { expected, desired_healthy: (expected - allowed).max(0) });
    }
    match spec.get("minAvailable") {
        Some(percentage @ Value::String(_)) => {
            let expected = scale()?;
            let desired_healthy = share(Some(percentage), expected, true).unwrap_or(expected);
            Ok(Demand { expected, desired_healthy })
        }
        number => {
            let desired_healthy = number.and_then(Value::as_i64).unwrap_or(0);
            Ok(Demand { expected: selected, desired_healthy })
        }
    }
}

impl Budgets {
    /// The controller of budgets.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("disruption-controller"),
            recorder: Recorder::new(server, "controllermanager"),
            resource: Resource::new("policy", "poddisruptionbudgets"),
            selectors: Selectors::default(),
            members: BTreeMap::new(),
            scales: BTreeMap::new(),
            queue: Queue::default(),
        }
    }

    /// How many pods the owners of these want, each owner once.
    fn scale(&self, pods: &[&Arc<Pod>]) -> Result<i64, String> {
        let mut owners = BTreeMap::new();
        for pod in pods {
            // Pods without an owner do not count; Kubernetes also warns and goes on.
            let Some(uid) = &pod.controller else { continue };
            let Some(scale) = self.scales.get(uid) else {
                return Err(format!(
                    "found no controllers with a scale for pod {:?}",
                    pod.key.name
                ));
            };
            let above = scale.owner.as_ref().and_then(|uid| Some((uid, self.scales.get(uid)?)));
            let (uid, scale) = above.unwrap_or((uid, scale));
            owners.insert(uid, scale.replicas);
        }
        Ok(owners.values().sum())
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(members) = self.members.get(key) else { return Ok(None) };
        let pods: Vec<&Arc<Pod>> = members.iter().filter_map(|key| world.pod(key)).collect();
        let Ok(object) = self.caller.get(&self.resource, key) else { return Ok(None) };
        let about = About {
            api_version: "policy/v1",
            kind: "PodDisruptionBudget",
            key: key.clone(),
            uid: Arc::clone(&object.uid),
        };
        let object = object.value();
        if pods.is_empty() {
            self.recorder.normal(&about, "NoPods", "No matching pods found", now);
        }
        let demanded = demand(&object["spec"], pods.len() as i64, || self.scale(&pods));
        let (status, next) = match demanded {
            Ok(demand) => status(&object, demand, &pods, now),
            Err(why) => {
                let message = format!("Failed to calculate the number of expected pods: {why}");
                let reason = "CalculateExpectedPodCountFailed";
                self.recorder.warning(&about, reason, &message, now);
                (failed_status(&object, &why, now), None)
            }
        };
        if let Some(patch) = merge_between(&object["status"], &status) {
            // An eviction may have used the budget meanwhile: then this is worked out again.
            let version = &object["metadata"]["resourceVersion"];
            let patch = json!({"metadata": {"resourceVersion": version}, "status": patch});
            self.caller.merge(&self.resource, key, Some("status"), patch)?;
        }
        Ok(next)
    }

    fn observe_budget(&mut self, world: &World, object: &Object, gone: bool) {
        let key = &object.key;
        if gone {
            self.selectors.remove(key);
            self.members.remove(key);
            self.queue.forget(key);
            return;
        }
        let BudgetJson { spec } = read(object);
        let selector = selector(&spec.and_then(|spec| spec.selector).unwrap_or_default());
        if self.selectors.put(key, selector.clone()) || !self.members.contains_key(key) {
            let pods = world.pods_in(&key.namespace);
            let selected = pods.filter(|pod| selector.matches(&pod.labels));
            self.members.insert(key.clone(), selected.map(|pod| pod.key.clone()).collect());
        }
        self.queue.add(key.clone());
    }

    fn observe_pod(&mut self, pod: &Both<Pod>) {
        let selecting = |pod: &Arc<Pod>| self.selectors.selecting(&pod.key.namespace, &pod.labels);
        let before = pod.before.as_ref().map(selecting).unwrap_or_default();
        let after = pod.after.as_ref().map(selecting).unwrap_or_default();
        let Some(key) = pod.last().map(|pod| &pod.key) else { return };
        for budget in &before {
            if !after.contains(budget)
                && let Some(members) = self.members.get_mut(budget)
            {
                members.remove(key);
            }
        }
        for budget in &after {
            self.members.entry(budget.clone()).or_default().insert(key.clone());
        }
        for budget in before.into_iter().chain(after) {
            self.queue.add(budget);
        }
    }

    fn observe_scale(&mut self, world: &World, object: &Object, gone: bool) {
        if gone {
            self.scales.remove(&object.uid);
            return;
        }
        let ScaledJson { metadata, spec } = read(object);
        let scale = Scale {
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            owner: metadata.controller().map(|owner| owner.uid.as_str().into()),
        };
        if self.scales.get(&object.uid) == Some(&scale) {
            return;
        }
        // Siblings have the labels of their template: one pod speaks for all.
        if let Some(pod) = world.pods_of(&object.uid).next() {
            for budget in self.selectors.selecting(&pod.key.namespace, &pod.labels) {
                self.queue.add(budget);
            }
        }
        self.scales.insert(Arc::clone(&object.uid), scale);
    }
}

/// The status of a budget, and when an eviction that came to nothing is to be noticed.
fn status(
    object: &Value,
    demand: Demand,
    pods: &[&Arc<Pod>],
    now: Timestamp,
) -> (Value, Option<Timestamp>) {
    let mut disrupted = Map::new();
    let mut next: Option<Timestamp> = None;
    let evicted = object["status"]["disruptedPods"].as_object();
    for (name, since) in evicted.into_iter().flatten() {
        let waits = pods.iter().any(|pod| &*pod.key.name == name && pod.deleted.is_none());
        let until = moment(since.as_str()).and_then(|since| since.checked_add(EVICTION_TAKES).ok());
        if waits && let Some(until) = until.filter(|until| *until > now) {
            disrupted.insert(name.clone(), since.clone());
            next = Some(next.map_or(until, |next| next.min(until)));
        }
    }
    let healthy = |pod: &&&Arc<Pod>| {
        pod.ready && pod.deleted.is_none() && !disrupted.contains_key(&*pod.key.name)
    };
    let current = pods.iter().filter(healthy).count() as i64;
    let allowed = if demand.expected > 0 { (current - demand.desired_healthy).max(0) } else { 0 };
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    status.insert("expectedPods".into(), demand.expected.into());
    status.insert("desiredHealthy".into(), demand.desired_healthy.into());
    status.insert("currentHealthy".into(), current.into());
    status.insert("disruptionsAllowed".into(), allowed.into());
    if disrupted.is_empty() {
        status.remove("disruptedPods");
    } else {
        status.insert("disruptedPods".into(), disrupted.into());
    }
    let reason = if allowed > 0 { "SufficientPods" } else { "InsufficientPods" };
    say(&mut status, object, allowed > 0, reason, "", now);
    (Value::Object(status), next)
}

/// The status of a budget that cannot be worked out: nothing may be disrupted.
fn failed_status(object: &Value, why: &str, now: Timestamp) -> Value {
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    for field in ["expectedPods", "desiredHealthy", "currentHealthy"] {
        status.entry(field).or_insert(0.into());
    }
    status.insert("disruptionsAllowed".into(), 0.into());
    say(&mut status, object, false, "SyncFailed", why, now);
    Value::Object(status)
}

/// Puts the condition that says whether disruptions are allowed.
fn say(
    status: &mut Map<String, Value>,
    object: &Value,
    allowed: bool,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let generation = &object["metadata"]["generation"];
    status.insert("observedGeneration".into(), generation.clone());
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let text = if allowed { "True" } else { "False" };
    let condition = Condition { kind: "DisruptionAllowed", status: text, reason, message };
    set_condition(conditions, condition, now);
    let seen = find_condition(conditions, "DisruptionAllowed")
        .is_some_and(|condition| condition["observedGeneration"] == *generation);
    if !seen {
        for condition in conditions.as_array_mut().into_iter().flatten() {
            condition["observedGeneration"] = generation.clone();
        }
    }
}

impl Part for Budgets {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("policy", "poddisruptionbudgets") {
            self.observe_budget(world, object, gone);
        }
        for (group, plural) in SCALED {
            if let Some((object, gone)) = news.of(group, plural) {
                self.observe_scale(world, object, gone);
            }
        }
        if let Some(pod) = &news.pod {
            self.observe_pod(pod);
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for key in self.queue.take(now) {
            let result = self.sync(world, &key, now);
            self.queue.settle(key, now, &result);
        }
        self.queue.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_budgets_demand() {
        for (spec, expected) in [
            (json!({"minAvailable": 2}), "2 of 3"),
            (json!({"minAvailable": "50%"}), "5 of 10"),
            (json!({"minAvailable": "55%"}), "6 of 10"),
            (json!({"maxUnavailable": 1}), "9 of 10"),
            (json!({"maxUnavailable": "15%"}), "8 of 10"),
            (json!({"maxUnavailable": 20}), "0 of 10"),
            (json!({}), "0 of 3"),
        ] {
            let demand = demand(&spec, 3, || Ok(10)).unwrap();
            let text = format!("{} of {}", demand.desired_healthy, demand.expected);
            assert_eq!(text, expected, "{spec}");
        }
        let unknown = || Err("nobody knows".to_owned());
        assert!(demand(&json!({"maxUnavailable": 1}), 3, unknown).is_err());
        assert!(demand(&json!({"minAvailable": 1}), 3, unknown).is_ok());
    }
}
