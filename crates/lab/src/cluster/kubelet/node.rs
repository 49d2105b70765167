//! Kubelets as nodes: joining, heartbeats, and what goes wrong with them.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Change, ChangeKind, Key};
use joiner_core::{label::Labels, resources::Resources};
use serde_json::{Value, json};

use super::{
    Due, Kubelets, RETRY_AFTER, address,
    node_status::{instance_of, instance_status, node, node_conditions, says_amounts},
    run::{End, Run},
    token,
};
use crate::cluster::{
    events::{About, Tone},
    instances::{Fate, Fault, InstanceSpec, NodeCondition},
    requests::resources,
    selection::{labels, list},
    times::{later, micros},
};

/// Nodes with this annotation are simulated by KWOK.
const FAKE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");
/// Where the leases of nodes are.
const LEASES: &str = "kube-node-lease";

/// For how long a kubelet renews its lease.
const LEASE_SECONDS: i64 = 40;
/// How often a renewal is written. Kubelets renew every 10 seconds; here every fourth renewal is
/// written, and the last one before a kubelet falls silent. Silence is detected after 50 seconds, so
/// the detection time is the same with a quarter of the writes.
const LEASE_WRITTEN_EVERY: SignedDuration = SignedDuration::from_secs(40);
/// How often a kubelet writes a status in which nothing changed.
const STATUS_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// The kubelet of a node.
#[derive(Debug)]
pub(super) struct Kubelet {
    spec: InstanceSpec,
    /// A Node of KWOK's instead of an instance.
    fake: bool,
    /// Which life this is: an instance that is switched off and on starts another one.
    pub(super) life: u64,
    boots: u32,
    pub(super) address: String,
    joined: bool,
    /// Whether it was let in before: from then on it has a certificate of its own.
    known: bool,
    ready: bool,
    stopped: bool,
    partitioned: bool,
    pub(super) pods_hang: bool,
    flapping: Option<SignedDuration>,
    reported: BTreeMap<String, NodeCondition>,
    /// Conditions to take back.
    healed: Vec<String>,
    /// What the Node object says, while there is one.
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    labels: Labels,
    allocatable: Resources,
}

impl Kubelet {
    /// Whether it runs and its calls get through.
    pub(super) fn reaches_server(&self) -> bool {
        self.joined && !self.stopped && !self.partitioned
    }

    /// Why a pod cannot run here beside pods that use this much. It may have been bound without a
    /// check.
    pub(super) fn refusal(&self, run: &Run, used: &Resources) -> Option<End> {
        let seen = self.seen.as_ref()?;
        if !run.selection.allows(&self.spec.name, &seen.labels) {
            let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node \
                           affinity/selector";
            return Some(End {
                reason: "NodeAffinity",
                message: message.to_owned(),
                ..End::default()
            });
        }
        let room = seen.allocatable.minus(used);
        let (name, wanted) = run.requests.iter().find(|(name, wanted)| *wanted > room.get(name))?;
        let amount = |quantity: joiner_core::quantity::Quantity| match name {
            "cpu" => quantity.nanos() / 1_000_000,
            _ => i128::from(quantity.floor()),
        };
        let message = format!(
            "Node didn't have enough resource: {name}, requested: {}, used: {}, capacity: {}",
            amount(wanted),
            amount(used.get(name)),
            amount(seen.allocatable.get(name))
        );
        Some(End { reason: "OutOf", resource: name.to_owned(), message, ..End::default() })
    }
}

impl Kubelets {
    /// Takes note of a Node: what it offers, and whether it is one that KWOK simulates.
    pub(super) fn observe_node(&mut self, change: &Change, now: Timestamp) {
        let object = &change.object;
        let name = &object.key.name;
        let value = object.shared();
        let is_gone = change.kind == ChangeKind::Deleted;
        let is_fake = !is_gone && value["metadata"]["annotations"][FAKE.0] == FAKE.1;
        if !is_fake && self.hosts.get(name).is_some_and(|kubelet| kubelet.fake) {
            self.hosts.remove(name);
        }
        if is_gone {
            if let Some(kubelet) = self.hosts.get_mut(name) {
                kubelet.seen = None;
            }
            return;
        }
        if is_fake && !self.hosts.contains_key(name) {
            self.simulate(name, &value, now);
        }
        if let Some(kubelet) = self.hosts.get_mut(name) {
            let status = &value["status"];
            let own = if status["allocatable"].is_object() { "allocatable" } else { "capacity" };
            kubelet.seen = Some(Seen {
                labels: labels(&value["metadata"]["labels"]),
                allocatable: resources(&status[own]),
            });
        }
    }

    fn simulate(&mut self, name: &Arc<str>, node: &Value, now: Timestamp) {
        let mut kubelet = self.kubelet(instance_of(name, node));
        kubelet.fake = true;
        if let Some(boot) = self.instances.simulated_boot() {
            let mut chance = self.chance.fork(name);
            let mut draw = |range: &RangeInclusive<u32>| {
                let more = u64::from(range.end().saturating_sub(*range.start()));
                SignedDuration::from_secs(i64::from(*range.start()) + chance.below(more + 1) as i64)
            };
            kubelet.spec.boot_delay = draw(&boot.boot_seconds);
            kubelet.spec.join_delay = SignedDuration::ZERO;
            kubelet.spec.ready_delay = draw(&boot.ready_seconds);
            self.hosts.insert(Arc::clone(name), kubelet);
            self.keep_pods_away(name, node);
            self.start(name, now);
            return;
        }
        kubelet.joined = true;
        kubelet.ready = true;
        let life = kubelet.life;
        self.hosts.insert(Arc::clone(name), kubelet);
        self.timers.add(now, Due::Status(Arc::clone(name), life));
        self.timers.add(now, Due::Lease(Arc::clone(name), life));
        self.look_at_pods_of(name, now);
    }

    /// Taints a node that has no kubelet yet, as an API server does when a Node is created.
    fn keep_pods_away(&self, name: &Arc<str>, node: &Value) {
        let mut taints = list(&node["spec"]["taints"]).to_vec();
        taints.push(json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}));
        let patch = json!({"spec": {"taints": taints}});
        // One that is gone already keeps pods away by itself.
        drop(self.api.caller.merge(&self.api.nodes, &Key::new("", name), None, patch));
    }

    fn kubelet(&mut self, spec: InstanceSpec) -> Kubelet {
        self.addresses += 1;
        self.tickets += 1;
        Kubelet {
            spec,
            fake: false,
            life: self.tickets,
            boots: 0,
            address: address(0, self.addresses),
            joined: false,
            known: false,
            ready: false,
            stopped: false,
            partitioned: false,
            pods_hang: false,
            flapping: None,
            reported: BTreeMap::new(),
            healed: Vec::new(),
            seen: None,
        }
    }

    /// A new instance is switched on.
    pub(super) fn boot(&mut self, spec: InstanceSpec, now: Timestamp) {
        let name: Arc<str> = spec.name.as_str().into();
        let kubelet = self.kubelet(spec);
        self.hosts.insert(Arc::clone(&name), kubelet);
        self.start(&name, now);
    }

    /// An instance that is there is switched on, or starts anew.
    pub(super) fn power_on(&mut self, name: &str, now: Timestamp) {
        self.power_off(name, now);
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        kubelet.boots += 1;
        kubelet.stopped = false;
        self.start(&Arc::from(name), now);
    }

    /// An instance is switched off.
    pub(super) fn power_off(&mut self, name: &str, now: Timestamp) {
        self.fall_silent(name, now);
        self.tickets += 1;
        if let Some(kubelet) = self.hosts.get_mut(name) {
            kubelet.life = self.tickets;
            kubelet.joined = false;
            kubelet.ready = false;
        }
    }

    fn start(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let spec = &kubelet.spec;
        if spec.fate != Fate::NeverJoins {
            let at = later(now, spec.boot_delay.saturating_add(spec.join_delay));
            self.timers.add(at, Due::Join(Arc::clone(name), kubelet.life));
        }
    }

    /// Registers a node, if its instance is let in.
    pub(super) fn join(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let life = kubelet.life;
        let reached = !kubelet.stopped && !kubelet.partitioned && self.is_let_in(kubelet, now);
        let registered = reached
            && match self.api.caller.create(&self.api.nodes, node(&kubelet.spec)) {
                Ok(_) => true,
                // The Node existed before, or another program created it.
                Err(status) => status.reason == "AlreadyExists",
            };
        if !registered {
            self.timers.add(later(now, RETRY_AFTER), Due::Join(Arc::clone(name), life));
            return;
        }
        self.instances.set_joined(name);
        let about = Key::new("", name);
        let message = "Starting kubelet.";
        self.recorder.tell(now, &About::node(&about), Tone::Normal, "Starting", message, name);
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        kubelet.joined = true;
        kubelet.known = true;
        let ready = later(now, kubelet.spec.ready_delay);
        if kubelet.spec.fate != Fate::NeverReady {
            self.timers.add(ready, Due::Ready(Arc::clone(name), life));
        }
        if let Fate::LateProviderId(after) = kubelet.spec.fate {
            self.timers.add(later(now, after), Due::ProviderId(Arc::clone(name), life));
        }
        let (rebooted, fake) = (kubelet.boots > 0, kubelet.fake);
        let spread = SignedDuration::from_secs(self.chance.below(300) as i64);
        self.timers.add(later(now, spread), Due::Status(Arc::clone(name), life));
        if !fake {
            self.write_csi_node(name);
        }
        self.write_status(name, true, now);
        self.renew(name, now);
        if rebooted {
            for key in self.by_node.get(name).into_iter().flatten() {
                if let Some(run) = self.runs.get_mut(key) {
                    run.reboot(now);
                }
            }
        }
        self.look_at_pods_of(name, now);
    }

    fn is_let_in(&self, kubelet: &Kubelet, now: Timestamp) -> bool {
        let Some(presented) = kubelet.spec.join_token.as_ref().filter(|_| !kubelet.known) else {
            return true;
        };
        let Some((id, secret)) = token::parts(presented) else { return false };
        let key = Key::new("kube-system", &format!("bootstrap-token-{id}"));
        let object = self.api.caller.get(&self.api.secrets, &key);
        object.is_ok_and(|object| token::admits(&object.value(), id, secret, now))
    }

    fn write_csi_node(&self, name: &Arc<str>) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let drivers: Vec<_> = kubelet
            .spec
            .volume_drivers
            .iter()
            .map(|driver| {
                let mut own = json!({
                    "name": driver.name, "nodeID": &**name, "topologyKeys": driver.topology_keys,
                });
                if let Some(limit) = driver.limit {
                    own["allocatable"] = json!({"count": limit});
                }
                own
            })
            .collect();
        let mut object = json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": &**name},
            "spec": {"drivers": drivers},
        });
        if let Ok(node) = self.api.caller.get(&self.api.nodes, &Key::new("", name)) {
            object["metadata"]["ownerReferences"] = json!([owner(name, &node.uid)]);
        }
        // One that is there from before the instance was started anew says the same.
        drop(self.api.caller.create(&self.api.csi_nodes, object));
    }

    /// Renews the lease, or makes it when there is a Node to own it.
    pub(super) fn renew(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let first = Due::Lease(Arc::clone(name), kubelet.life);
        if !kubelet.reaches_server() {
            self.timers.add(later(now, LEASE_WRITTEN_EVERY), first);
            return;
        }
        let renewed = self.write_renewal(name, now);
        let mut next = LEASE_WRITTEN_EVERY;
        if renewed.is_err_and(|status| status.code == 404)
            && let Ok(node) = self.api.caller.get(&self.api.nodes, &Key::new("", name))
        {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "namespace": LEASES, "name": &**name,
                    "ownerReferences": [owner(name, &node.uid)],
                },
                "spec": {
                    "holderIdentity": &**name,
                    "leaseDurationSeconds": LEASE_SECONDS,
                    "renewTime": micros(now),
                },
            });
            drop(self.api.caller.create(&self.api.leases, lease));
            // From here on the kubelets of nodes that came together renew at different seconds.
            next = SignedDuration::from_secs(1 + self.chance.below(40) as i64);
        }
        self.timers.add(later(now, next), first);
    }

    /// The regular status.
    pub(super) fn beat(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let (life, fake) = (kubelet.life, kubelet.fake);
        self.write_status(name, fake, now);
        self.timers.add(later(now, STATUS_EVERY), Due::Status(Arc::clone(name), life));
    }

    /// Writes the status of a node: its conditions, and all the rest when it is new.
    fn write_status(&mut self, name: &Arc<str>, whole: bool, now: Timestamp) {
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        let key = Key::new("", name);
        if !kubelet.reaches_server() {
            return;
        }
        let Ok(object) = self.api.caller.get(&self.api.nodes, &key) else { return };
        let value = object.shared();
        let current = &value["status"];
        let healed = std::mem::take(&mut kubelet.healed);
        let ready = kubelet.ready;
        let list = node_conditions(&current["conditions"], ready, &kubelet.reported, &healed, now);
        let mut status = json!({"conditions": list});
        if whole {
            let instance = instance_status(&kubelet.spec, &kubelet.address, kubelet.boots);
            for (field, own) in instance.as_object().into_iter().flatten() {
                // The values of a simulated node's manifest stay.
                let missing = match field.as_str() {
                    "nodeInfo" => {
                        current[field]["kubeletVersion"].as_str().is_none_or(str::is_empty)
                    }
                    "capacity" | "allocatable" => !says_amounts(&current[field]),
                    _ => current[field].is_null(),
                };
                if !kubelet.fake || missing {
                    status[field] = own.clone();
                }
            }
            if kubelet.fake {
                // A kubelet leaves this old field alone; KWOK does not.
                status["phase"] = json!("Running");
            }
        }
        let version = &value["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        if self.api.caller.merge(&self.api.nodes, &key, Some("status"), patch).is_err() {
            kubelet.healed = healed;
        }
    }

    pub(super) fn write_provider_id(&self, name: &Arc<str>) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        if kubelet.reaches_server() {
            let patch = json!({"spec": {"providerID": kubelet.spec.provider_id}});
            // A Node that is gone needs none.
            drop(self.api.caller.merge(&self.api.nodes, &Key::new("", name), None, patch));
        }
    }

    /// Lets a node be ready, or no longer.
    pub(super) fn set_ready(&mut self, name: &Arc<str>, ready: bool, now: Timestamp) {
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        if kubelet.ready == ready {
            return;
        }
        kubelet.ready = ready;
        let reason = if ready { "NodeReady" } else { "NodeNotReady" };
        let message = format!("Node {name} status is now: {reason}");
        if kubelet.reaches_server() {
            let key = Key::new("", name);
            self.recorder.tell(now, &About::node(&key), Tone::Normal, reason, &message, name);
        }
        self.write_status(name, false, now);
        if ready {
            self.look_at_pods_of(name, now);
        }
    }

    /// Writes the renewals that a kubelet kept to itself, before nothing gets through any more.
    fn fall_silent(&self, name: &str, now: Timestamp) {
        if self.hosts.get(name).is_some_and(Kubelet::reaches_server) {
            // A lease that is gone needs no renewal.
            drop(self.write_renewal(name, now));
        }
    }

    fn write_renewal(&self, name: &str, now: Timestamp) -> Result<(), joiner_apiserver::Status> {
        let patch = json!({"spec": {"renewTime": micros(now)}});
        let key = Key::new(LEASES, name);
        self.api.caller.merge(&self.api.leases, &key, None, patch).map(drop)
    }

    /// Something goes wrong on a node.
    pub(super) fn fault(&mut self, name: &str, fault: Fault, now: Timestamp) {
        if matches!(fault, Fault::KubeletStopped | Fault::Partitioned) {
            self.fall_silent(name, now);
        }
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        match fault {
            Fault::KubeletStopped => kubelet.stopped = true,
            Fault::Partitioned => kubelet.partitioned = true,
            Fault::PodsHang => kubelet.pods_hang = true,
            Fault::Flapping(period) => {
                kubelet.flapping = Some(period);
                self.timers.add(later(now, period), Due::Flap(name.into(), kubelet.life));
            }
        }
    }

    pub(super) fn flap(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(kubelet) = self.hosts.get(name) else { return };
        let Some(period) = kubelet.flapping else { return };
        let (life, ready) = (kubelet.life, kubelet.ready);
        self.set_ready(name, !ready, now);
        self.timers.add(later(now, period), Due::Flap(Arc::clone(name), life));
    }

    /// Everything that goes wrong on a node ends.
    pub(super) fn heal(&mut self, name: &str, now: Timestamp) {
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        kubelet.stopped = false;
        kubelet.partitioned = false;
        kubelet.pods_hang = false;
        if kubelet.flapping.take().is_some() {
            kubelet.ready = kubelet.joined;
        }
        kubelet.healed.extend(std::mem::take(&mut kubelet.reported).into_keys());
        let name: Arc<str> = name.into();
        if kubelet.reaches_server() {
            let patch = json!({"spec": {"renewTime": micros(now)}});
            // A lease that is gone is made anew with the next regular renewal.
            let key = Key::new(LEASES, &name);
            drop(self.api.caller.merge(&self.api.leases, &key, None, patch));
        }
        self.write_status(&name, false, now);
        self.look_at_pods_of(&name, now);
    }

    /// Lets a node report a condition.
    pub(super) fn report_condition(
        &mut self,
        name: &str,
        condition: NodeCondition,
        now: Timestamp,
    ) {
        let Some(kubelet) = self.hosts.get_mut(name) else { return };
        kubelet.reported.insert(condition.kind.clone(), condition);
        self.write_status(&name.into(), false, now);
    }
}

fn owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid})
}
