//! Instances that could be removed, and the reasons why others cannot.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{
    disruption::{
        Candidate, ClaimFacts, ConsolidationPolicy, DisruptionSettings, Fleet, Instance, KeptBy,
        PodFacts, PoolRules,
    },
    instance_type::InstanceType,
    label,
    pod::{Pod, Role},
    reason::{Reason, ReasonId},
    snapshot::{Node, Snapshot},
};

use super::{
    consider,
    patience::{self, Patience, Unrest},
    simulate::{Simulator, is_busy},
};

/// How many kept pods of an instance are listed one by one. The value was chosen so that a message stays short.
const PODS_NAMED_MAX: usize = 5;

/// The input of a pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) fleet: &'s Fleet,
    pub(super) settings: DisruptionSettings,
}

/// An instance of ours that could be removed, as far as the instance and its pool are concerned.
#[derive(Debug, Clone)]
pub(super) struct Removable<'s> {
    /// Its position in the snapshot.
    pub(super) at: usize,
    pub(super) node: &'s Node,
    instance: &'s Instance,
    pub(super) claim: &'s ClaimFacts,
    pub(super) pool: &'s str,
    pub(super) rules: &'s PoolRules,
    pub(super) instance_type: Option<&'s InstanceType>,
    /// Price per hour; 0 if it is unknown.
    pub(super) price: f64,
    /// Eviction cost: 1, plus the cost of each pod that moves.
    pub(super) cost: f64,
    /// The pod of a `CapacityBuffer` that keeps capacity on this instance.
    buffer: Option<&'s Pod>,
    /// The reasons why its pods must stay.
    pub(super) held: Vec<Reason>,
}

impl<'s> Scene<'s> {
    /// Instances with a NodeClaim, with their positions.
    pub(super) fn ours(
        self,
    ) -> impl Iterator<Item = (usize, &'s Node, &'s Instance, &'s ClaimFacts)> {
        let instances = self.snapshot.nodes.iter().zip(&self.fleet.instances).enumerate();
        instances.filter_map(|(at, (node, instance))| {
            Some((at, node, instance, instance.claim.as_ref()?))
        })
    }

    /// The instance at a position, or the first reason why it cannot be removed.
    pub(super) fn removable(
        self,
        at: usize,
        simulator: &Simulator<'_>,
    ) -> Result<Removable<'s>, Reason> {
        let (node, instance) = (&self.snapshot.nodes[at], &self.fleet.instances[at]);
        let stays = |id: ReasonId, message: String| Err(Reason::new(id, message));
        let name = node.name();
        if instance.queued {
            return stays(
                ReasonId::NodeQueued,
                format!("{name} is part of a command that is being carried out"),
            );
        }
        let Some(claim) = &instance.claim else {
            let message = format!("{name} has no NodeClaim, so it is not ours to remove");
            return stays(ReasonId::NodeMissing, message);
        };
        if node.node.is_none() {
            let message = format!("NodeClaim {name} has no Node yet");
            return stays(ReasonId::NodeMissing, message);
        }
        if claim.rebooting {
            return stays(ReasonId::NodeRebooting, format!("{name} is being rebooted"));
        }
        if !node.initialized {
            return stays(ReasonId::NodeUninitialized, format!("{name} is not initialized"));
        }
        if node.leaving || claim.instance_terminating {
            return stays(ReasonId::NodeLeaving, format!("{name} is on its way out already"));
        }
        if instance.shared {
            let message = format!(
                "another Node has the provider ID of {name}, so that nobody knows what runs on the \
                 instance"
            );
            return stays(ReasonId::NodeShared, message);
        }
        if let Some(expired) = claim.expires.filter(|at| *at <= self.fleet.now) {
            let message = format!(
                "{name} has expired at {expired}: its NodeClaim is deleted without a plan, and its \
                 pods wait for places then"
            );
            return Err(Reason::new(ReasonId::NodeExpired, message).with("expired", expired));
        }
        let guests = || simulator.guests(at).iter().map(|pod| &self.snapshot.pods[*pod as usize]);
        if let Some(pod) = guests().find(|pod| pod.role != Role::Buffer) {
            let reason = Reason::new(
                ReasonId::NodeNominated,
                format!("{name} is where pod {} goes, which waits for a node", pod.key()),
            );
            return Err(reason.with("pod", pod.key()));
        }
        if instance.nominated {
            let message = format!("{name} was promised to a pod that waits for a node");
            return stays(ReasonId::NodeNominated, message);
        }
        if instance.do_not_disrupt {
            return stays(
                ReasonId::NodeDoNotDisrupt,
                format!("Node {name} has the annotation {}", label::DO_NOT_DISRUPT),
            );
        }
        let Some(pool) = node.pool.as_deref() else {
            let message = format!("{name} lacks the label {}", label::NODE_POOL);
            return stays(ReasonId::NodeNoPool, message);
        };
        let known = self.snapshot.pools.iter().any(|each| each.name == pool);
        let Some(rules) = self.fleet.pools.get(pool).filter(|_| known) else {
            // COMPAT: upstream gives no reason for such instances (defect 20).
            let reason = Reason::new(
                ReasonId::PoolNotFound,
                format!("{name} belongs to NodePool {pool:?}, which does not exist"),
            );
            return Err(reason.in_pool(pool).with("nodePool", pool));
        };
        let types = self.snapshot.catalog.types(pool);
        if types.is_empty() {
            let message = format!(
                "nothing is known of the instance types of NodePool {pool:?}: its provider gave \
                 none, or could not be asked"
            );
            return Err(Reason::new(ReasonId::PoolNoTypes, message).in_pool(pool));
        }
        let named = node.labels.get(label::INSTANCE_TYPE);
        let instance_type = types.iter().find(|each| Some(&each.name) == named).map(|each| &**each);
        Ok(Removable {
            at,
            node,
            instance,
            claim,
            pool,
            rules,
            instance_type,
            price: instance_type.map_or(0.0, |each| price(node, each)),
            cost: moving_cost(instance),
            buffer: guests().next(),
            held: held(node, instance),
        })
    }

    /// The reason if the removal of a pool's instances is paused.
    pub(super) fn paused(self, pool: Option<&str>) -> Option<Reason> {
        let of_pool = || self.fleet.pools.get(pool?)?.paused.as_ref();
        let paused = self.fleet.paused.as_ref().or_else(of_pool)?;
        let reason = Reason::new(ReasonId::DisruptionPaused, paused.to_string());
        Some(reason.with("by", &paused.by).with("on", &paused.on))
    }

    /// The price and eviction cost of each pool's instances.
    pub(super) fn totals(self) -> BTreeMap<&'s str, Totals> {
        let mut totals: BTreeMap<&str, Totals> = BTreeMap::new();
        for (_, node, instance, _) in self.ours().filter(|(_, node, ..)| !node.leaving) {
            let Some(pool) = node.pool.as_deref() else { continue };
            let rules = self.fleet.pools.get(pool);
            let total = totals.entry(pool).or_default();
            total.unrest.instances += 1;
            // An instance that cannot be consolidated yet is busy too: later it may allow better moves.
            let may_go_later = instance.claim.as_ref().is_some_and(|claim| !claim.consolidatable);
            let is_busy = |rules: &PoolRules| {
                is_busy(instance, rules, self.fleet.now)
                    || (rules.consolidate_after.is_some() && may_go_later)
            };
            if let Some(rules) = rules.filter(|rules| is_busy(rules)) {
                total.unrest.busy += 1;
                let goes_soon = goes_soon(node, instance, rules, self.fleet.now);
                total.unrest.emptied += usize::from(goes_soon);
            }
            total.price += consider::price(self.snapshot, node).unwrap_or_default();
            total.cost += moving_cost(instance);
        }
        for (pool, total) in &mut totals {
            let Some(rules) = self.fleet.pools.get(*pool) else { continue };
            let now = self.fleet.now;
            let since = rules.restless_since.unwrap_or(now);
            total.patience = Patience::with(total.unrest, since, now);
        }
        totals
    }
}

/// Whether an instance is busy, empty, and about to be removed.
fn goes_soon(node: &Node, instance: &Instance, rules: &PoolRules, now: Timestamp) -> bool {
    let soon = now.checked_add(patience::WAIT).unwrap_or(Timestamp::MAX);
    let is_quiet_soon = node.initialized && !is_busy(instance, rules, soon);
    let is_needed = rules.replicas.is_some() || instance.do_not_disrupt || instance.nominated;
    let is_empty = !instance.pods.iter().any(|facts| facts.reschedulable);
    is_empty && is_quiet_soon && !is_needed
}

/// The totals over all instances of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Totals {
    pub(super) price: f64,
    pub(super) cost: f64,
    pub(super) unrest: Unrest,
    /// How the pool is treated because of `unrest`.
    pub(super) patience: Option<Patience>,
}

impl<'s> Removable<'s> {
    pub(super) fn name(&self) -> &'s str {
        self.node.name()
    }

    /// Price divided by eviction cost. The highest ratio comes first.
    pub(super) fn ratio(&self) -> f64 {
        self.price / self.cost
    }

    pub(super) fn is_static(&self) -> bool {
        self.rules.replicas.is_some()
    }

    /// Whether no pod would have to start again elsewhere.
    ///
    /// COMPAT: upstream also treats an instance as empty if none of its pods has a positive eviction cost. Such pods
    /// would be evicted without a place.
    pub(super) fn is_empty(&self) -> bool {
        !self.instance.pods.iter().any(|facts| facts.reschedulable)
    }

    pub(super) fn capacity_type(&self) -> Option<&'s str> {
        self.node.labels.get(label::CAPACITY_TYPE).map(String::as_str)
    }

    pub(super) fn zone(&self) -> Option<&'s str> {
        self.node.labels.get(label::ZONE).map(String::as_str)
    }

    /// The pods that need a place.
    pub(super) fn moving(&self) -> impl Iterator<Item = &'s Pod> {
        self.pods().filter(|(_, facts)| facts.movable).map(|(pod, _)| pod)
    }

    /// `namespace/name` of the pods without a controller. Nothing starts them again.
    pub(super) fn bare(&self) -> impl Iterator<Item = String> {
        self.pods().filter(|(_, facts)| facts.bare && facts.reschedulable).map(|(pod, _)| pod.key())
    }

    fn pods(&self) -> impl Iterator<Item = (&'s Pod, &'s PodFacts)> {
        self.node.pods.iter().zip(&self.instance.pods)
    }

    pub(super) fn candidate(&self) -> Candidate {
        Candidate {
            node_claim: self.node.claim.clone().unwrap_or_default(),
            node: self.node.node.clone().unwrap_or_default(),
            node_pool: self.pool.to_owned(),
            pods: self.moving().map(Pod::key).collect(),
        }
    }

    /// Whether it may be removed because it is empty. An instance that is not empty is refused without a reason.
    pub(super) fn may_go_empty(&self, fleet: &Fleet) -> Result<(), Option<Reason>> {
        if !self.is_empty() {
            return Err(None);
        }
        let reason = self.held.first().cloned().or_else(|| self.kept_by_pool());
        let reason = reason.or_else(|| self.buffer_reason()).or_else(|| self.too_young(fleet));
        reason.map_or(Ok(()), |reason| Err(Some(reason)))
    }

    /// Whether it may be removed because its pods fit elsewhere. An empty instance is refused without a reason.
    pub(super) fn may_be_consolidated(&self, fleet: &Fleet) -> Result<(), Option<Reason>> {
        if self.is_empty() {
            return Err(None);
        }
        let reason = self.held.first().cloned().or_else(|| self.kept_by_pool());
        let reason = reason.or_else(|| self.price_unknown()).or_else(|| self.when_empty());
        let reason = reason.or_else(|| self.too_young(fleet)).or_else(|| self.reverted(fleet));
        reason.map_or(Ok(()), |reason| Err(Some(reason)))
    }

    /// Whether it may be replaced because it has drifted. It is refused without a reason if it has not drifted, or
    /// if its pool is of the other kind.
    pub(super) fn may_drift(&self, of_static_pool: bool) -> Result<(), Option<Reason>> {
        if self.claim.drifted.is_none() || self.is_static() != of_static_pool {
            return Err(None);
        }
        // Protected pods only delay the removal if the claim has a terminationGracePeriod: they are evicted by
        // force in the end.
        match self.held.first() {
            Some(reason) if !self.claim.has_grace_period => Err(Some(reason.clone())),
            _ => Ok(()),
        }
    }

    /// Static pools and pools without consolidation keep all their instances.
    fn kept_by_pool(&self) -> Option<Reason> {
        let pool = self.pool;
        let (id, message) = if let Some(replicas) = self.rules.replicas {
            (
                ReasonId::StaticReplicas,
                format!(
                    "NodePool {pool:?} keeps {replicas} instances, whether they are used or not"
                ),
            )
        } else if self.rules.consolidate_after.is_none() {
            (
                ReasonId::PoolConsolidationOff,
                format!("NodePool {pool:?} has consolidation disabled (consolidateAfter: Never)"),
            )
        } else {
            return None;
        };
        Some(Reason::new(id, message).in_pool(pool))
    }

    fn buffer_reason(&self) -> Option<Reason> {
        let pod = self.buffer?;
        let message = format!("{} keeps room for {}", self.name(), pod.key());
        Some(Reason::new(ReasonId::BufferProtects, message).with("pod", pod.key()))
    }

    fn price_unknown(&self) -> Option<Reason> {
        let name = self.name();
        let missing = [label::INSTANCE_TYPE, label::CAPACITY_TYPE, label::ZONE];
        if let Some(key) = missing.into_iter().find(|key| !self.node.labels.contains_key(*key)) {
            let message = format!("Node {name} lacks the label {key}, so its price is not known");
            return Some(Reason::new(ReasonId::NodeLabelMissing, message).with("key", key));
        }
        if self.instance_type.is_some() {
            return None;
        }
        let named = &self.node.labels[label::INSTANCE_TYPE];
        let message = format!("NodePool {:?} has no instance type {named:?}", self.pool);
        let reason = Reason::new(ReasonId::NodeTypeUnknown, message).in_pool(self.pool);
        Some(reason.with("instanceType", named))
    }

    fn when_empty(&self) -> Option<Reason> {
        if self.rules.policy != ConsolidationPolicy::WhenEmpty {
            return None;
        }
        let message = format!(
            "NodePool {:?} has consolidation policy WhenEmpty, and {} is not empty",
            self.pool,
            self.name()
        );
        Some(Reason::new(ReasonId::PoolWhenEmpty, message).in_pool(self.pool))
    }

    fn too_young(&self, fleet: &Fleet) -> Option<Reason> {
        let busy = is_busy(self.instance, self.rules, fleet.now);
        if self.claim.consolidatable && !busy {
            return None;
        }
        let name = self.name();
        let reason = |message: String| Some(Reason::new(ReasonId::NodeTooYoung, message));
        let ends = self.claim.quiet_since.zip(self.rules.consolidate_after);
        match ends.and_then(|(since, after)| Some((since, after, since.checked_add(after).ok()?))) {
            Some((since, after, until)) if busy => {
                let message = format!(
                    "something happened to the pods of {name} at {since}; NodePool {:?} waits \
                     {after:#}, until {until}",
                    self.pool
                );
                Some(reason(message)?.in_pool(self.pool).with("until", until))
            }
            _ => reason(format!("NodeClaim {} is not Consolidatable yet", self.claim_name())),
        }
    }

    fn reverted(&self, fleet: &Fleet) -> Option<Reason> {
        let named = self.node.labels.get(label::INSTANCE_TYPE)?;
        let held = fleet.held_back.iter().find(|held| {
            held.pool == self.pool && held.instance_type == *named && held.until > fleet.now
        })?;
        let message = format!(
            "a {named} of NodePool {:?} was removed and soon needed again, or its replacement has \
             failed; such instances are left alone until {}",
            self.pool, held.until
        );
        let reason = Reason::new(ReasonId::RevertedRecently, message).in_pool(self.pool);
        Some(reason.with("instanceType", named).with("until", held.until))
    }

    fn claim_name(&self) -> &'s str {
        self.node.claim.as_deref().unwrap_or_default()
    }
}

/// The hourly price of an instance, whether its offering is available now or not.
pub(super) fn price(node: &Node, instance_type: &InstanceType) -> f64 {
    let is = |requirements: &joiner_core::requirement::Requirements, key: &str| {
        let value = requirements.get(key).and_then(|required| required.single());
        value.is_some() && value == node.labels.get(key).map(String::as_str)
    };
    let mut offerings = instance_type.offerings.iter();
    let offering = offerings
        .find(|each| {
            is(&each.requirements, label::ZONE) && is(&each.requirements, label::CAPACITY_TYPE)
        })
        .map(|offering| offering.price);
    offering.filter(|price| price.is_finite()).unwrap_or_default()
}

fn moving_cost(instance: &Instance) -> f64 {
    let moving = instance.pods.iter().filter(|facts| facts.reschedulable);
    moving.fold(1.0, |sum, facts| sum + facts.eviction_cost.max(0.0))
}

/// The reasons why pods must stay, pod by pod.
fn held(node: &Node, instance: &Instance) -> Vec<Reason> {
    let pods = node.pods.iter().zip(&instance.pods);
    let kept = pods.filter_map(|(pod, facts)| Some((pod.key(), facts.kept_by.as_ref()?)));
    kept.take(PODS_NAMED_MAX).map(|(pod, kept_by)| keeps(&pod, kept_by)).collect()
}

fn keeps(pod: &str, kept_by: &KeptBy) -> Reason {
    let annotation = label::DO_NOT_DISRUPT;
    match kept_by {
        KeptBy::DoNotDisrupt(None) => Reason::new(
            ReasonId::PodDoNotDisrupt,
            format!("pod {pod} has the annotation {annotation}"),
        ),
        KeptBy::DoNotDisrupt(Some(until)) => Reason::new(
            ReasonId::PodDoNotDisrupt,
            format!("pod {pod} has the annotation {annotation}, which ends at {until}"),
        )
        .with("until", until),
        KeptBy::Budget(budget) => Reason::new(
            ReasonId::PodPdb,
            format!("PodDisruptionBudget {budget} allows no eviction of pod {pod} now"),
        )
        .with("pdb", budget),
        KeptBy::Budgets(budgets) => {
            let budgets = budgets.join(", ");
            let message = format!(
                "pod {pod} has several PodDisruptionBudgets ({budgets}), and Kubernetes evicts no \
                 such pod"
            );
            Reason::new(ReasonId::PodPdb, message).with("pdb", budgets)
        }
    }
    .with("pod", pod)
}
