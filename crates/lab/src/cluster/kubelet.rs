//! The kubelets of all nodes, in one loop.
//!
//! What happens to a pod is a function of time, see `run`; this file takes note of changes, keeps
//! the one queue of what is due, and writes. A kubelet that does not reach the server writes
//! nothing and catches up later.
//!
//! Annotations of a pod choose how its containers behave. Durations are written as `500ms`, `90s`,
//! `5m` or `1h`.
//!
//! | Annotation | What it chooses |
//! |---|---|
//! | `lab.joiner.dev/start-delay` | how long the pod takes from being admitted to running |
//! | `lab.joiner.dev/ready-delay` | how long it takes from running to being ready |
//! | `lab.joiner.dev/never-ready` | `true`: it runs but never gets ready |
//! | `lab.joiner.dev/run-time` | after how long its containers end by themselves |
//! | `lab.joiner.dev/exit-code` | what they end with then; with a restart policy of `Always` this makes a crash loop |
//! | `lab.joiner.dev/pre-stop-time` | how long preStop hooks take |
//! | `lab.joiner.dev/stop-time` | how long containers take to end after SIGTERM; they are killed when the grace period is over |
//! | `lab.joiner.dev/hang` | `true`: it never ends, not even when it is killed |

mod behaviour;
mod node;
mod node_status;
mod pod_status;
mod run;
mod token;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Change, ChangeKind, DeleteOptions, Key, Object, Resource, Server};
use joiner_core::resources::Resources;
use serde_json::json;

use self::{
    node::Kubelet,
    run::{End, News, Run, Stage},
};
use super::{
    Controller, Wake,
    events::{About, Recorder, Tone},
    instances::{Instances, Order},
    times::{Timers, later},
};
use crate::chance::Chance;

/// How long a kubelet waits after a call that was refused.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// The kubelets of all nodes.
#[derive(Debug)]
pub struct Kubelets {
    instances: Instances,
    api: Api,
    recorder: Recorder,
    chance: Chance,
    hosts: BTreeMap<Arc<str>, Kubelet>,
    /// Every pod that has a node, whether or not the node has a kubelet yet.
    runs: BTreeMap<Key, Run>,
    by_node: BTreeMap<Arc<str>, BTreeSet<Key>>,
    timers: Timers<Due>,
    tickets: u64,
    /// How many instances and pods were given addresses.
    addresses: u32,
    pod_addresses: u32,
    restarts_per_hour: f64,
}

/// The server, and the resources that kubelets write.
#[derive(Debug)]
struct Api {
    caller: Caller,
    pods: Resource,
    nodes: Resource,
    leases: Resource,
    csi_nodes: Resource,
    secrets: Resource,
}

/// What is due. Numbers tell what was meant for an earlier life of a node or pod apart.
#[derive(Clone, Debug)]
enum Due {
    Join(Arc<str>, u64),
    Ready(Arc<str>, u64),
    ProviderId(Arc<str>, u64),
    Lease(Arc<str>, u64),
    Status(Arc<str>, u64),
    Flap(Arc<str>, u64),
    Pod(Key, u64),
}

impl Kubelets {
    /// The kubelets of some instances, and of nodes that say that KWOK simulates them.
    pub(super) fn new(server: &Server, instances: Instances, chance: Chance) -> Self {
        let caller = server.caller("kubelet");
        let recorder = Recorder::new(caller.clone(), "kubelet");
        let api = Api {
            caller,
            pods: Resource::new("", "pods"),
            nodes: Resource::new("", "nodes"),
            leases: Resource::new("coordination.k8s.io", "leases"),
            csi_nodes: Resource::new("storage.k8s.io", "csinodes"),
            secrets: Resource::new("", "secrets"),
        };
        Self {
            instances,
            api,
            recorder,
            chance,
            hosts: BTreeMap::new(),
            runs: BTreeMap::new(),
            by_node: BTreeMap::new(),
            timers: Timers::default(),
            tickets: 0,
            addresses: 0,
            pod_addresses: 0,
            restarts_per_hour: 0.0,
        }
    }

    fn observe_pod(&mut self, change: &Change, now: Timestamp) {
        let object = &change.object;
        if change.kind == ChangeKind::Deleted {
            self.forget(&object.key);
            return;
        }
        if object.field("spec.nodeName").is_empty() {
            return;
        }
        if self.runs.get(&object.key).is_some_and(|run| run.uid != object.uid) {
            self.forget(&object.key);
        }
        if !self.runs.contains_key(&object.key) {
            self.take_on(object, now);
        }
        if object.deleting {
            self.wait(&object.key, now);
        }
    }

    fn take_on(&mut self, object: &Object, now: Timestamp) {
        let chance = self.chance.fork(&object.uid);
        let (mut run, wrong) = Run::new(object, &object.shared(), chance, now);
        run.draw_accident(self.restarts_per_hour, now);
        let about = About::pod(&run.key, &run.uid);
        for message in wrong {
            let reason = "InvalidAnnotation";
            self.recorder.tell(now, &about, Tone::Warning, reason, &message, &run.node);
        }
        self.by_node.entry(Arc::clone(&run.node)).or_default().insert(run.key.clone());
        let due = if run.stage == Stage::Seen { Some(now) } else { run.due() };
        self.runs.insert(object.key.clone(), run);
        if let Some(at) = due {
            self.wait(&object.key, at);
        }
    }

    fn forget(&mut self, key: &Key) {
        let Some(run) = self.runs.remove(key) else { return };
        if let Some(pods) = self.by_node.get_mut(&run.node) {
            pods.remove(key);
            if pods.is_empty() {
                self.by_node.remove(&run.node);
            }
        }
    }

    /// Looks at a pod at a moment, and not before.
    fn wait(&mut self, key: &Key, at: Timestamp) {
        self.tickets += 1;
        if let Some(run) = self.runs.get_mut(key) {
            run.ticket = self.tickets;
            self.timers.add(at, Due::Pod(key.clone(), self.tickets));
        }
    }

    /// Lets time pass for one pod, and writes what that changes.
    fn look_at_pod(&mut self, key: &Key, now: Timestamp) {
        let Some(run) = self.runs.get(key).filter(|run| !run.removed) else { return };
        let Some(kubelet) = self.hosts.get(&run.node) else { return };
        if !kubelet.reaches_server() {
            return;
        }
        let hangs = kubelet.pods_hang;
        let mut news = News::default();
        if run.stage == Stage::Seen {
            self.admit(key, now);
            news.changed = true;
        }
        let grace = self.api.grace_of_deleted(key);
        let Some(run) = self.runs.get_mut(key) else { return };
        if let Some(grace) = grace {
            news.told.extend(run.stop(grace, hangs, now).told);
        }
        let passed = run.advance(self.restarts_per_hour, now);
        news.changed |= passed.changed || std::mem::take(&mut run.stale);
        news.gone |= passed.gone;
        news.told.extend(passed.told);
        if run.address.is_empty() && matches!(run.stage, Stage::Running { .. }) {
            self.pod_addresses += 1;
            let host = self.hosts.get(&run.node).map(|own| own.address.clone());
            run.address = match host {
                Some(host) if run.host_network => host,
                _ => address(128, self.pod_addresses),
            };
        }
        self.report(key, &news, now);
    }

    /// Writes what happened to a pod.
    fn report(&mut self, key: &Key, news: &News, now: Timestamp) {
        let Some(run) = self.runs.get_mut(key) else { return };
        let about = About::pod(&run.key, &run.uid);
        for (tone, reason, message) in &news.told {
            self.recorder.tell(now, &about, *tone, reason, message, &run.node);
        }
        let host = self.hosts.get(&run.node).map_or("", |own| own.address.as_str());
        let mut next = run.due();
        if news.changed && !self.api.write_pod(run, host, now) {
            next = Some(later(now, RETRY_AFTER));
        }
        if news.gone {
            run.removed = self.api.remove_pod(run);
            next = (!run.removed).then(|| later(now, RETRY_AFTER));
        }
        if let Some(at) = next {
            self.wait(key, at);
        }
    }

    /// Takes a pod on, or refuses it when it should never have come here.
    fn admit(&mut self, key: &Key, now: Timestamp) {
        let Some(run) = self.runs.get(key) else { return };
        let Some(kubelet) = self.hosts.get(&run.node) else { return };
        let neighbours = self.by_node.get(&run.node).into_iter().flatten();
        let admitted = neighbours.filter_map(|other| self.runs.get(other));
        let mut used = Resources::new();
        for other in admitted.filter(|other| other.is_admitted()) {
            used.add(&other.requests);
        }
        let refusal = kubelet.refusal(run, &used);
        let Some(run) = self.runs.get_mut(key) else { return };
        match refusal {
            None => run.admit(now),
            Some(end) => {
                let about = About::pod(&run.key, &run.uid);
                let reason = format!("{}{}", end.reason, end.resource);
                self.recorder.tell(now, &about, Tone::Warning, &reason, &end.message, &run.node);
                run.fail(end, now);
            }
        }
    }

    fn evict(&mut self, key: &Key, resource: &str, now: Timestamp) {
        let Some(run) = self.runs.get_mut(key).filter(|run| run.is_admitted()) else { return };
        let message = format!("The node was low on resource: {resource}.");
        run.fail(End { reason: "Evicted", message: message.clone(), ..End::default() }, now);
        let told = vec![(Tone::Warning, "Evicted", message)];
        self.report(key, &News { changed: true, gone: false, told }, now);
    }

    /// Examines all pods of a node again and writes their status: the node controller may have marked
    /// them as not ready.
    fn look_at_pods_of(&mut self, node: &str, now: Timestamp) {
        let pods = self.by_node.get(node).cloned().unwrap_or_default();
        for key in pods {
            if let Some(run) = self.runs.get_mut(&key) {
                run.stale = run.is_admitted();
            }
            self.wait(&key, now);
        }
    }

    fn set_restarts(&mut self, per_hour: f64, now: Timestamp) {
        self.restarts_per_hour = per_hour;
        let keys: Vec<_> = self.runs.keys().cloned().collect();
        for key in keys {
            let Some(run) = self.runs.get_mut(&key) else { continue };
            run.draw_accident(per_hour, now);
            if let Some(at) = run.due() {
                self.wait(&key, at);
            }
        }
    }

    fn obey(&mut self, order: Order, now: Timestamp) {
        match order {
            Order::Boot(spec) => self.boot(*spec, now),
            Order::PowerOn(name) => self.power_on(&name, now),
            Order::PowerOff(name) => self.power_off(&name, now),
            Order::Destroy(name) => {
                self.power_off(&name, now);
                self.hosts.remove(&*name);
            }
            Order::Fault(name, fault) => self.fault(&name, fault, now),
            Order::Heal(name) => self.heal(&name, now),
            Order::Condition(name, condition) => self.report_condition(&name, condition, now),
            Order::EvictPod(key, resource) => self.evict(&key, &resource, now),
            Order::RestartsPerHour(rate) => self.set_restarts(rate, now),
        }
    }

    fn meet(&mut self, due: Due, now: Timestamp) {
        match due {
            Due::Pod(key, ticket)
                if self.runs.get(&key).is_some_and(|run| run.ticket == ticket) =>
            {
                self.look_at_pod(&key, now);
            }
            Due::Join(name, life) if self.is_alive(&name, life) => self.join(&name, now),
            Due::Ready(name, life) if self.is_alive(&name, life) => {
                self.set_ready(&name, true, now);
            }
            Due::ProviderId(name, life) if self.is_alive(&name, life) => {
                self.write_provider_id(&name);
            }
            Due::Lease(name, life) if self.is_alive(&name, life) => self.renew(&name, now),
            Due::Status(name, life) if self.is_alive(&name, life) => {
                self.beat(&name, now);
            }
            Due::Flap(name, life) if self.is_alive(&name, life) => self.flap(&name, now),
            _ => {}
        }
    }

    fn is_alive(&self, name: &str, life: u64) -> bool {
        self.hosts.get(name).is_some_and(|kubelet| kubelet.life == life)
    }
}

impl Api {
    /// How long a pod that is being deleted may take to stop; none if it is not being deleted.
    fn grace_of_deleted(&self, key: &Key) -> Option<SignedDuration> {
        let object = self.caller.get(&self.pods, key).ok().filter(|object| object.deleting)?;
        let seconds = object.shared()["metadata"]["deletionGracePeriodSeconds"].as_i64();
        Some(SignedDuration::from_secs(seconds.unwrap_or_default()))
    }

    /// Writes the status of a pod. Says whether that is settled, be it that the pod is gone.
    fn write_pod(&self, run: &Run, host: &str, now: Timestamp) -> bool {
        let Ok(object) = self.caller.get(&self.pods, &run.key) else { return true };
        if object.uid != run.uid {
            return true;
        }
        let value = object.shared();
        let status = pod_status::status(run, host, &value["status"]["conditions"], now);
        let version = &value["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        match self.caller.merge(&self.pods, &run.key, Some("status"), patch) {
            Ok(_) => true,
            Err(status) => status.code == 404,
        }
    }

    /// Removes the object of a pod that has stopped. Says whether that is settled.
    fn remove_pod(&self, run: &Run) -> bool {
        let uid = Some((*run.uid).into());
        let options = DeleteOptions { grace_period_seconds: Some(0), uid, ..Default::default() };
        match self.caller.delete(&self.pods, &run.key, options) {
            Ok(()) => true,
            // Gone, or another pod of this name.
            Err(status) => status.code == 404 || status.code == 409,
        }
    }
}

/// The n-th address of a network of sixteen bits, `10.0.0.0` and upwards.
fn address(network: u32, n: u32) -> String {
    format!("10.{}.{}.{}", network + ((n >> 16) & 0x7f), (n >> 8) & 0xff, n & 0xff)
}

impl Controller for Kubelets {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn attach(&mut self, wake: &Wake) {
        self.instances.attach(wake);
    }

    fn observe(&mut self, change: &Change, now: Timestamp) {
        match (&*change.resource.group, &*change.resource.plural) {
            ("", "pods") => self.observe_pod(change, now),
            ("", "nodes") => self.observe_node(change, now),
            _ => {}
        }
    }

    fn act(&mut self, now: Timestamp) -> Option<Timestamp> {
        while let Some(order) = self.instances.next_order() {
            self.obey(order, now);
        }
        while let Some(due) = self.timers.pop_due(now) {
            self.meet(due, now);
        }
        self.timers.next()
    }
}
