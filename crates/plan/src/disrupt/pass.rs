//! One pass over all instances: what is known, what is decided, and what is still open.

use std::{cmp::Ordering, collections::BTreeMap};

use joiner_core::{
    disruption::{
        Command, Decision, DisruptionReason, DisruptionSettings, Disruptions, Fleet, Method,
        Restless, Score, Staying,
    },
    plan::{ExistingPlacement, PlannedClaim},
    reason::{Reason, ReasonId},
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
};

use super::{
    budget::Ledger,
    candidate::{Removable, Scene, Totals},
    patience::Patience,
    room::Room,
    simulate::{Outcome, Question, Simulator},
};

/// For how many instances a pass explains in detail why their pods have no place. Each explanation is expensive,
/// and most are alike. The value was chosen and not measured separately: more explanations make the pass slower.
const EXPLAINED_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Pass<'s> {
    pub(super) scene: Scene<'s>,
    pub(super) simulator: Simulator<'s>,
    pub(super) ledger: Ledger,
    pub(super) room: Room,
    pub(super) totals: BTreeMap<&'s str, Totals>,
    /// By position, the instances that may be removed so far.
    pub(super) removable: BTreeMap<usize, Removable<'s>>,
    /// Positions of instances by name.
    positions: BTreeMap<&'s str, usize>,
    /// The part of each instance in a command of this pass.
    parts: BTreeMap<usize, Part>,
    /// Why each instance stays.
    stays: BTreeMap<usize, Vec<Reason>>,
    commands: Vec<Command>,
    explained: usize,
}

/// The part of an instance in a command. Each instance has a part in one command at most.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Goes,
    /// It receives pods of this instance, and possibly of others.
    Receives(String),
}

/// A possible command for a set of instances, with its savings.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub(super) replacements: Vec<PlannedClaim>,
    pub(super) destinations: Vec<ExistingPlacement>,
    pub(super) savings: f64,
    pub(super) score: f64,
    pub(super) scores: Vec<Score>,
}

impl Proposal {
    pub(super) fn decision(&self) -> Decision {
        if self.replacements.is_empty() { Decision::Delete } else { Decision::Replace }
    }
}

impl<'s> Pass<'s> {
    pub(super) fn new(
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        planning: &PlanSettings,
        settings: DisruptionSettings,
    ) -> Self {
        Self::asking(Simulator::new(snapshot, fleet, planning), snapshot, fleet, settings)
    }

    pub(super) fn asking(
        simulator: Simulator<'s>,
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        settings: DisruptionSettings,
    ) -> Self {
        let scene = Scene { snapshot, fleet, settings };
        let mut pass = Self {
            scene,
            ledger: Ledger::new(snapshot, fleet),
            room: Room::new(snapshot, fleet),
            totals: scene.totals(),
            removable: BTreeMap::new(),
            positions: snapshot.nodes.iter().map(Node::name).zip(0..).collect(),
            parts: BTreeMap::new(),
            stays: BTreeMap::new(),
            commands: Vec::new(),
            explained: 0,
            simulator,
        };
        for (at, node, ..) in scene.ours() {
            let found = scene.removable(at, &pass.simulator);
            match (scene.paused(node.pool.as_deref()), found) {
                (None, Ok(found)) => _ = pass.removable.insert(at, found),
                (paused, found) => {
                    pass.stays(at, paused.into_iter().chain(found.err()));
                }
            }
        }
        pass
    }

    /// The number of instances that `may` go, ignoring budgets and decisions.
    pub(super) fn eligible(
        &self,
        may: impl Fn(&Removable<'s>) -> Result<(), Option<Reason>>,
    ) -> usize {
        self.removable.values().filter(|each| may(each).is_ok()).count()
    }

    /// Instances that `may` go and have no part in a command yet. The reason of each of the others is recorded.
    pub(super) fn candidates(
        &mut self,
        may: impl Fn(&Removable<'s>) -> Result<(), Option<Reason>>,
    ) -> Vec<Removable<'s>> {
        let mut found = Vec::new();
        let mut kept = Vec::new();
        for (at, each) in &self.removable {
            match may(each) {
                Ok(()) if self.parts.contains_key(at) => {}
                Ok(()) => found.push(each.clone()),
                Err(reason) => kept.extend(reason.map(|reason| (*at, reason))),
            }
        }
        for (at, reason) in kept {
            self.stays(at, [reason]);
        }
        found
    }

    /// Whether an instance has no part in a command yet.
    pub(super) fn is_free(&self, at: usize) -> bool {
        !self.parts.contains_key(&at)
    }

    pub(super) fn stays(&mut self, at: usize, reasons: impl IntoIterator<Item = Reason>) {
        let known = self.stays.entry(at).or_default();
        for reason in reasons {
            // Several methods may find the same reason. The first one is kept: it knows the most details.
            let is_new =
                |other: &Reason| (other.id, &other.message) != (reason.id, &reason.message);
            if known.iter().all(is_new) {
                known.push(reason);
            }
        }
    }

    /// Records that the instance stays because its pool's budgets allow no more disruption.
    pub(super) fn stays_by_budget(&mut self, each: &Removable<'_>, reason: DisruptionReason) {
        let refusal = self.ledger.refusal(each.pool, reason);
        self.stays(each.at, [refusal]);
    }

    /// The reason why the pods of these instances would have no place.
    pub(super) fn homeless(
        &mut self,
        set: &[&Removable<'_>],
        question: Question,
        homeless: &[String],
    ) -> Reason {
        let pod = homeless.first().map_or("", String::as_str);
        let others = match homeless.len() {
            0 | 1 => String::new(),
            count => format!(", as would {} more", count - 1),
        };
        self.explained += 1;
        let instances: Vec<usize> = set.iter().map(|each| each.at).collect();
        let nearest = (self.explained <= EXPLAINED_MAX)
            .then(|| self.simulator.explain_homeless(&instances, question))
            .and_then(|all| all.into_iter().find(|each| each.pod == pod));
        let reason = |message: String| Reason::new(ReasonId::PodWouldNotFit, message);
        let told = match &nearest {
            Some(why) => reason(format!("pod {pod} would have no place{others}: {}", why.message)),
            None => reason(format!("pod {pod} would have no place{others}")),
        };
        let told = told.with("pod", pod).with("pods", homeless.len());
        match nearest.and_then(|why| why.reasons.into_iter().next()) {
            Some(nearest) => told.with("nearest", nearest.id.as_str()),
            None => told,
        }
    }

    /// Adds a command that removes these instances.
    pub(super) fn decide(
        &mut self,
        method: Method,
        set: &[&Removable<'_>],
        question: Question,
        proposal: Proposal,
        reason: Reason,
    ) {
        self.settle(set, question, &proposal.destinations);
        self.commands.push(Command {
            method,
            decision: proposal.decision(),
            candidates: set.iter().map(|each| each.candidate()).collect(),
            replacements: proposal.replacements,
            destinations: proposal.destinations,
            reason,
            savings: proposal.savings,
            score: proposal.score,
            scores: proposal.scores,
        });
    }

    /// Treats the instances as removed. Those that receive their pods stay for the rest of the pass.
    pub(super) fn settle(
        &mut self,
        set: &[&Removable<'_>],
        question: Question,
        destinations: &[ExistingPlacement],
    ) -> Outcome {
        let instances: Vec<usize> = set.iter().map(|each| each.at).collect();
        let outcome = self.simulator.commit(&instances, question);
        self.room.remove(instances.iter().copied());
        for each in set {
            self.ledger.take(each.pool);
            self.parts.insert(each.at, Part::Goes);
        }
        let from = set.first().map_or("", |each| each.name());
        for to in destinations {
            if let Some(at) = self.positions.get(to.name()) {
                self.parts.entry(*at).or_insert_with(|| Part::Receives(from.to_owned()));
            }
        }
        outcome
    }

    pub(super) fn commands(&self) -> &[Command] {
        &self.commands
    }

    pub(super) fn into_commands(self) -> Vec<Command> {
        self.commands
    }

    /// Records that instances which this pass has not judged are judged in a later pass.
    pub(super) fn rest_waits(&mut self) {
        let unseen = self.removable.values().filter(|each| {
            !self.parts.contains_key(&each.at) && !self.stays.contains_key(&each.at)
        });
        let unseen: Vec<(usize, Reason)> = unseen
            .map(|each| {
                let message = format!(
                    "{} is looked at once what goes in this pass is gone: step by step ends better \
                     here than all at once",
                    each.name()
                );
                (each.at, Reason::new(ReasonId::NodeLater, message))
            })
            .collect();
        for (at, reason) in unseen {
            self.stays(at, [reason]);
        }
    }

    /// The result of the pass.
    pub(super) fn finish(mut self, eligible: Vec<(Method, usize)>) -> Disruptions {
        let removable = std::mem::take(&mut self.removable);
        for (at, each) in &removable {
            if let Some(Part::Receives(from)) = self.parts.get(at) {
                let message =
                    format!("{} takes pods of {from}, which goes in this pass", each.name());
                let reason = Reason::new(ReasonId::NodeReceives, message).with("from", from);
                self.stays(*at, [reason]);
            }
            self.stays(*at, each.held.clone());
            self.stays(*at, each.bare().map(|pod| bare(&pod)));
            if each.claim.drifted.is_some()
                && let Some(reasons) = self.stays.get_mut(at)
            {
                // For a drifted instance, reasons that prevent its replacement come first. Reasons about savings
                // come last.
                reasons.sort_by_key(|reason| is_about_saving(reason.id));
            }
        }
        let mut staying: Vec<Staying> = Vec::new();
        for (at, node, ..) in self.scene.ours() {
            if self.parts.get(&at) == Some(&Part::Goes) {
                continue;
            }
            staying.push(Staying {
                node: node.name().to_owned(),
                claim: node.claim.clone().unwrap_or_default(),
                reasons: self.stays.remove(&at).unwrap_or_default(),
            });
        }
        staying.sort_by(|left, right| (&left.node, &left.claim).cmp(&(&right.node, &right.claim)));
        let restless = self.totals.into_iter().filter(|(_, totals)| totals.unrest.is_restless());
        let restless = restless.map(|(pool, totals)| Restless {
            node_pool: pool.to_owned(),
            until: totals.patience.map(Patience::until),
        });
        Disruptions {
            commands: self.commands,
            staying,
            allowances: self.ledger.into_allowances(),
            eligible,
            restless: restless.collect(),
        }
    }
}

/// Whether a reason is only that removal saves nothing, or that the pool does not consolidate.
fn is_about_saving(reason: ReasonId) -> bool {
    matches!(
        reason,
        ReasonId::StaticReplicas | ReasonId::PoolConsolidationOff | ReasonId::PoolWhenEmpty
    )
}

fn bare(pod: &str) -> Reason {
    let message =
        format!("pod {pod} has no owner: if its instance went, nobody would start it again");
    Reason::new(ReasonId::PodBare, message).with("pod", pod)
}

/// The best ratio of savings to eviction cost first; equal ones by name.
pub(super) fn by_ratio(left: &Removable<'_>, right: &Removable<'_>) -> Ordering {
    right.ratio().total_cmp(&left.ratio()).then_with(|| left.name().cmp(right.name()))
}

/// The most expensive first; equal ones by name.
pub(super) fn by_price(left: &Removable<'_>, right: &Removable<'_>) -> Ordering {
    right.price.total_cmp(&left.price).then_with(|| left.name().cmp(right.name()))
}

/// The lowest eviction cost first; equal ones by price, the most expensive first.
pub(super) fn by_cost(left: &Removable<'_>, right: &Removable<'_>) -> Ordering {
    left.cost.total_cmp(&right.cost).then_with(|| by_price(left, right))
}

/// The first candidate of each pool, then the second of each, and so on. Within a pool the order stays. Pools take
/// turns in the order of their first candidates.
pub(super) fn in_turns(candidates: Vec<Removable<'_>>) -> Vec<Removable<'_>> {
    let mut turns: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut keyed = Vec::with_capacity(candidates.len());
    for each in candidates {
        let next = turns.len();
        let (place, turn) = turns.entry(each.pool).or_insert((next, 0));
        keyed.push(((*turn, *place), each));
        *turn += 1;
    }
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, each)| each).collect()
}
