//! DaemonSets: one pod on every node that suits.
//!
//! A change of a pod or a node is looked at on that node only; the numbers of the status are kept
//! as sums, to which every node adds its share. Looking at all nodes for each pod would make the
//! start of five thousand nodes a matter of hours.

mod node;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Key, Object, Resource, Server, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use self::node::{Placement, Share};
use super::{
    Part,
    facts::{Meta, merge_between, read, selector, share},
    owned::{Owner, Owners, Owning, PodMaker, pod_from_template},
    pods::{Phase, Pod, next_available},
    queue::Queue,
    revisions::{REVISION_LABEL, Revision, Revisions},
    world::{Both, News, Node, World},
};

/// The first pause before a pod that failed is replaced on its node; it doubles each time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// The longest such pause.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(15);

/// The controller of DaemonSets.
pub(super) struct DaemonSets {
    sets: Resource,
    owners: Owners<DaemonSet>,
    /// The pods of each set (by uid) on each node.
    homes: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BTreeSet<Key>>>,
    books: BTreeMap<Key, Book>,
    pauses: BTreeMap<(Key, Arc<str>), (SignedDuration, Timestamp)>,
    revisions: Revisions,
    /// Sets whose pods may have to be taken in or let go.
    claims: BTreeSet<Key>,
    queue: Queue<Key>,
    places: Queue<(Key, Arc<str>)>,
    maker: PodMaker,
}

struct DaemonSet {
    owning: Owning,
    generation: i64,
    min_ready_seconds: i64,
    surges: bool,
    placement: Placement,
    template: Value,
    collisions: i64,
}

/// What each node adds to the numbers of a set, and the sums.
#[derive(Debug, Default)]
struct Book {
    shares: BTreeMap<Arc<str>, Share>,
    total: Share,
}

impl Book {
    fn put(&mut self, node: &Arc<str>, share: Share) {
        let before = if share == Share::default() {
            self.shares.remove(node)
        } else {
            self.shares.insert(Arc::clone(node), share)
        };
        self.total.add(before.unwrap_or_default(), -1);
        self.total.add(share, 1);
    }
}

#[derive(Deserialize)]
struct SetJson {
    metadata: Meta,
    spec: SpecJson,
    status: Option<StatusJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecJson {
    selector: Option<Value>,
    min_ready_seconds: Option<i64>,
    template: Value,
    update_strategy: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusJson {
    collision_count: Option<i64>,
}

impl Owner for DaemonSet {
    fn owning(&self) -> &Owning {
        &self.owning
    }
}

impl DaemonSet {
    fn of(object: &Object) -> Self {
        let SetJson { metadata, spec, status } = read(object);
        let strategy = spec.update_strategy.unwrap_or_default();
        let surge = share(strategy["rollingUpdate"].get("maxSurge"), 100, true);
        Self {
            owning: Owning::new(
                object,
                ("apps/v1", "DaemonSet"),
                &metadata,
                selector(&spec.selector.unwrap_or_default()),
            ),
            generation: metadata.generation.unwrap_or(0),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0),
            surges: surge.is_some_and(|surge| surge > 0),
            placement: Placement::of(&spec.template["spec"]),
            template: spec.template,
            collisions: status.and_then(|status| status.collision_count).unwrap_or(0),
        }
    }

    /// A pod of a revision for a node.
    fn pod(&self, node: &str, revision: &Revision) -> Value {
        let mut pod = pod_from_template(&self.template, &self.owning.about);
        pod["metadata"]["labels"][REVISION_LABEL] = revision.hash.as_str().into();
        pod["metadata"]["labels"]["pod-template-generation"] = self.generation.to_string().into();
        node::bind_to(&mut pod, node);
        pod
    }
}

impl DaemonSets {
    /// The controller of DaemonSets.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            sets: Resource::new("apps", "daemonsets"),
            owners: Owners::default(),
            homes: BTreeMap::new(),
            books: BTreeMap::new(),
            pauses: BTreeMap::new(),
            revisions: Revisions::new(server, "daemonset-controller"),
            claims: BTreeSet::new(),
            queue: Queue::default(),
            places: Queue::default(),
            maker: PodMaker::new(server, "daemonset-controller", "daemonset-controller"),
        }
    }

    fn pods_on(&self, world: &World, uid: &str, node: &str) -> Vec<Arc<Pod>> {
        let keys = self.homes.get(uid).and_then(|nodes| nodes.get(node)).into_iter().flatten();
        keys.filter_map(|key| world.pod(key)).cloned().collect()
    }

    /// Does what is to be done for one set on one node, and says when to look again.
    fn sync_place(
        &mut self,
        world: &World,
        set: &DaemonSet,
        revision: &Revision,
        name: &Arc<str>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let pods = self.pods_on(world, &set.owning.about.uid, name);
        let Some(node) = world.node(name) else {
            self.book(set, name, Share::default());
            self.pauses.remove(&(set.owning.about.key.clone(), Arc::clone(name)));
            return Ok(None);
        };
        let (runs, stays) = set.placement.on(node);
        let share = node::share(runs, &pods, &revision.hash, set.min_ready_seconds, now);
        self.book(set, name, share);
        if set.owning.deleting {
            return Ok(None);
        }
        let todo = node::todo((runs, stays), &pods, set.surges);
        let mut next = next_available(&pods, set.min_ready_seconds, now);
        if todo.create {
            self.maker.create_one(&set.owning.about, set.pod(name, revision), now)?;
        }
        self.maker.delete(&set.owning.about, todo.delete, now)?;
        for pod in todo.replace {
            let (reason, end) = if pod.phase == Phase::Failed {
                ("FailedDaemonPod", "failed")
            } else {
                ("SucceededDaemonPod", "succeeded")
            };
            match self.pause(&set.owning.about.key, name, now) {
                Some(until) => next = Some(next.map_or(until, |next| next.min(until))),
                None => {
                    let message = format!(
                        "Found {end} daemon pod {} on node {name}, will try to kill it",
                        pod.key
                    );
                    self.maker.recorder.warning(&set.owning.about, reason, &message, now);
                    self.maker.delete(&set.owning.about, [pod], now)?;
                }
            }
        }
        Ok(next)
    }

    fn book(&mut self, set: &DaemonSet, node: &Arc<str>, share: Share) {
        self.books.entry(set.owning.about.key.clone()).or_default().put(node, share);
    }

    /// Until when the next replacement on a node has to wait; nothing when it may be now.
    fn pause(&mut self, set: &Key, node: &Arc<str>, now: Timestamp) -> Option<Timestamp> {
        let place = (set.clone(), Arc::clone(node));
        let (pause, since) = self.pauses.get(&place).copied().unwrap_or_default();
        let until = since.saturating_add(pause).unwrap_or(Timestamp::MAX);
        if until > now {
            return Some(until);
        }
        // The pause is reset after twice its maximum without a failure.
        let forgiven = now.duration_since(since) > LONGEST_PAUSE.saturating_mul(2);
        let doubled = if forgiven || pause.is_zero() {
            FIRST_PAUSE
        } else {
            pause.saturating_mul(2).min(LONGEST_PAUSE)
        };
        self.pauses.insert(place, (doubled, now));
        None
    }

    fn sync(&mut self, world: &World, key: &Key, now: Timestamp) -> Result<(), Status> {
        let Some(set) = self.owners.get(key) else { return Ok(()) };
        let about = &set.owning.about;
        let object = self.maker.caller.get(&self.sets, key)?.value();
        let revision = self.revisions.ensure(about, &set.template, set.collisions)?;
        let total = self.books.entry(key.clone()).or_default().total;
        let rolls = object["spec"]["updateStrategy"]["type"] != "OnDelete";
        if rolls && !set.owning.deleting && total.outdated > 0 {
            self.roll(world, &set, &object, &revision, now)?;
        }
        let mut status = object["status"].as_object().cloned().unwrap_or_default();
        let mut put = |field: &str, count: i64| status.insert(field.to_owned(), count.into());
        put("currentNumberScheduled", total.current);
        put("numberMisscheduled", total.misscheduled);
        put("desiredNumberScheduled", total.desired);
        put("numberReady", total.ready);
        put("observedGeneration", set.generation);
        for (field, count) in [
            ("updatedNumberScheduled", total.updated),
            ("numberAvailable", total.available),
            ("numberUnavailable", total.desired - total.available),
        ] {
            super::replicasets::put_count(&mut status, field, usize::try_from(count).unwrap_or(0));
        }
        if let Some(patch) = merge_between(&object["status"], &Value::Object(status)) {
            let patch = json!({"status": patch});
            self.maker.caller.merge(&self.sets, key, Some("status"), patch)?;
        }
        if total.outdated == 0 {
            let kept = object["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10) as usize;
            self.revisions.trim(about, &BTreeSet::from([&*revision.name]), kept)?;
        }
        Ok(())
    }

    /// Replaces pods of an earlier version, as many at a time as the strategy allows.
    fn roll(
        &mut self,
        world: &World,
        set: &DaemonSet,
        object: &Value,
        revision: &Revision,
        now: Timestamp,
    ) -> Result<(), Status> {
        let total = self.books[&set.owning.about.key].total;
        let rolling = &object["spec"]["updateStrategy"]["rollingUpdate"];
        let allowed = |field: &str, default: i64| {
            share(rolling.get(field), total.desired, true).unwrap_or(default).max(0)
        };
        let max_surge = allowed("maxSurge", 0);
        let unavailable_now = total.desired - total.available;
        let mut budget = (allowed("maxUnavailable", 1) - unavailable_now).max(0);
        let mut surge = max_surge;
        let (mut broken, mut working, mut surging) = (Vec::new(), Vec::new(), Vec::new());
        for name in self.books[&set.owning.about.key].shares.keys() {
            let mut pods = self.pods_on(world, &set.owning.about.uid, name);
            pods.retain(|pod| pod.is_active());
            let (new, old): (Vec<_>, Vec<_>) =
                pods.into_iter().partition(|pod| node::is_of(pod, &revision.hash));
            let available = |pod: &Arc<Pod>| pod.is_available(set.min_ready_seconds, now);
            match (old.first(), new.first()) {
                (None, _) => {}
                (Some(old), Some(new)) if max_surge > 0 => {
                    surge -= 1;
                    if available(new) {
                        broken.push(Arc::clone(old));
                    }
                }
                (Some(old), _) if !available(old) => broken.push(Arc::clone(old)),
                (Some(_), None) if max_surge > 0 => surging.push(Arc::clone(name)),
                (Some(old), _) => working.push(Arc::clone(old)),
            }
        }
        self.maker.delete(&set.owning.about, &broken, now)?;
        let next = working.into_iter().take(usize::try_from(budget).unwrap_or(0));
        let next: Vec<_> = next.collect();
        budget -= next.len() as i64;
        self.maker.delete(&set.owning.about, &next, now)?;
        let room = usize::try_from(surge.max(0)).unwrap_or(0);
        for name in surging.into_iter().take(if budget >= 0 { room } else { 0 }) {
            self.maker.create_one(&set.owning.about, set.pod(&name, revision), now)?;
        }
        Ok(())
    }

    fn observe_set(&mut self, world: &World, object: &Object, gone: bool) {
        let key = &object.key;
        if gone {
            self.owners.remove(key);
            self.queue.forget(key);
            self.claims.remove(key);
            self.pauses.retain(|(set, _), _| set != key);
            self.books.remove(key);
            return;
        }
        let set = DaemonSet::of(object);
        let before = self.owners.get(key);
        let same = |before: &Arc<DaemonSet>| {
            before.owning.about.uid == set.owning.about.uid
                && before.generation == set.generation
                && before.owning.deleting == set.owning.deleting
        };
        if !before.as_ref().is_some_and(same) {
            if before.is_none_or(|before| before.owning.about.uid != set.owning.about.uid) {
                self.books.remove(key);
                let homes = self.homes.entry(Arc::clone(&set.owning.about.uid)).or_default();
                for pod in world.pods_of(&set.owning.about.uid) {
                    if let Some(home) = pod.home() {
                        homes.entry(Arc::clone(home)).or_default().insert(pod.key.clone());
                    }
                }
            }
            for node in world.nodes() {
                self.places.add((key.clone(), Arc::clone(&node.name)));
            }
            self.claims.insert(key.clone());
        }
        self.owners.put(set);
        self.queue.add(key.clone());
    }

    fn observe_node(&mut self, node: &Both<Node>) {
        let same = |(before, after): (&Arc<Node>, &Arc<Node>)| {
            before.labels == after.labels && before.taints == after.taints
        };
        if node.before.as_ref().zip(node.after.as_ref()).is_some_and(same) {
            return;
        }
        let Some(name) = node.last().map(|node| Arc::clone(&node.name)) else { return };
        for set in self.owners.iter() {
            self.places.add((set.owning.about.key.clone(), Arc::clone(&name)));
        }
    }

    fn observe_pod(&mut self, pod: &Both<Pod>) {
        for (pod, there) in
            pod.before.iter().map(|pod| (pod, false)).chain(pod.after.iter().map(|pod| (pod, true)))
        {
            let Some(uid) = &pod.controller else {
                self.claims.extend(self.owners.selecting(&pod.key.namespace, &pod.labels));
                continue;
            };
            let known = self.owners.key_of(uid).cloned();
            let (Some(home), true) = (pod.home(), known.is_some() || self.homes.contains_key(uid))
            else {
                continue;
            };
            let nodes = self.homes.entry(Arc::clone(uid)).or_default();
            if there {
                nodes.entry(Arc::clone(home)).or_default().insert(pod.key.clone());
            } else if let Some(pods) = nodes.get_mut(home) {
                pods.remove(&pod.key);
                if pods.is_empty() {
                    nodes.remove(home);
                }
            }
            if nodes.is_empty() {
                self.homes.remove(uid);
            }
            if let Some(key) = known {
                self.places.add((key, Arc::clone(home)));
            }
        }
    }

    /// Takes in and lets go of pods where that may be needed.
    fn claim(&mut self, world: &World, now: Timestamp) {
        for key in std::mem::take(&mut self.claims) {
            let Some(set) = self.owners.get(&key) else { continue };
            if let Err(status) = self.maker.claim(world, &*set) {
                self.queue.settle(key.clone(), now, &Err(status));
                self.claims.insert(key);
            }
        }
    }
}

impl Part for DaemonSets {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("apps", "daemonsets") {
            self.observe_set(world, object, gone);
        }
        self.revisions.observe(news);
        if let Some(node) = &news.node {
            self.observe_node(node);
        }
        if let Some(pod) = &news.pod {
            self.observe_pod(pod);
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        self.claim(world, now);
        let mut revisions: BTreeMap<Key, Revision> = BTreeMap::new();
        for (key, node) in self.places.take(now) {
            let Some(set) = self.owners.get(&key) else { continue };
            let revision = match revisions.get(&key) {
                Some(revision) => Ok(revision.clone()),
                None => self.revisions.ensure(&set.owning.about, &set.template, set.collisions),
            };
            let result = revision.and_then(|revision| {
                revisions.insert(key.clone(), revision.clone());
                self.sync_place(world, &set, &revision, &node, now)
            });
            self.places.settle((key.clone(), node), now, &result);
            self.queue.add(key);
        }
        for key in self.queue.take(now) {
            let result = self.sync(world, &key, now);
            self.queue.settle(key, now, &result.map(|()| None));
        }
        [self.queue.next(), self.places.next()].into_iter().flatten().min()
    }
}
