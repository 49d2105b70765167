//! Every command that is proposed or begun.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_core::{
    disruption::{Command, VALIDATION_DELAY},
    plan::{ExistingPlacement, PlannedClaim},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    record::{CommandId, Going, Record},
    step::Cause,
};
use crate::{
    conditions::seconds,
    provisioning::claim,
    queue::{Backoff, Queue},
    random::Random,
    static_pools::Reserved,
};

/// The backoff of a step that failed. The values were chosen and not measured separately.
pub(super) const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(10) };

/// The commands, shared by the loop and the executor. Clones are the same list.
#[derive(Debug, Clone)]
pub struct Commands {
    all: Arc<Mutex<All>>,
    queue: Arc<Queue<CommandId>>,
}

#[derive(Debug, Default)]
struct All {
    proposed: Vec<Proposal>,
    begun: BTreeMap<CommandId, Begun>,
    /// The command that a claim belongs to, as a candidate or as a replacement.
    by_claim: BTreeMap<String, CommandId>,
    /// Reserved room in the limits of static pools, for replacements that are not created yet. It
    /// is released after this list is unlocked: reservations read the cache, and listeners of the
    /// cache lock this list. Otherwise the three could deadlock.
    places: BTreeMap<CommandId, Vec<Reserved>>,
}

/// A command that waits for its validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The command.
    pub command: Command,
    /// When it is validated, by the running time of the clock. A wall clock that is set back delays
    /// no proposal.
    pub due: Duration,
}

/// A command that is being executed.
#[derive(Debug, Clone)]
pub struct Begun {
    /// What its claims say about it.
    pub record: Record,
    /// How to create its replacements, in the order of their names; none if another process began
    /// it.
    pub planned: Option<Vec<PlannedClaim>>,
    /// The existing instances that pods move to.
    pub destinations: Vec<ExistingPlacement>,
    /// Replacements that were observed.
    pub seen: BTreeSet<String>,
    /// Whether its candidates count as leaving.
    pub leaving: bool,
    /// Whether the deletion of its candidates has begun.
    pub deleting: bool,
    /// Why it is taken back, once that is decided.
    pub taken_back: Option<Cause>,
}

impl Commands {
    /// An empty list.
    pub fn new(clock: &Clock) -> Self {
        Self { all: Arc::default(), queue: Arc::new(Queue::new(clock.clone(), BACKOFF)) }
    }

    pub(super) fn queue(&self) -> Arc<Queue<CommandId>> {
        Arc::clone(&self.queue)
    }

    /// Adds a proposal at this running time of the clock; it waits for its validation.
    pub fn propose(&self, command: Command, now: Duration) {
        let due = now + VALIDATION_DELAY.unsigned_abs();
        self.lock().proposed.push(Proposal { command, due });
    }

    /// The proposals.
    pub fn proposed(&self) -> Vec<Proposal> {
        self.lock().proposed.clone()
    }

    /// Removes and returns the proposals that are due at this running time of the clock.
    pub fn take_due(&self, now: Duration) -> Vec<Command> {
        let mut all = self.lock();
        let (due, waiting) = std::mem::take(&mut all.proposed)
            .into_iter()
            .partition(|proposal: &Proposal| proposal.due <= now);
        all.proposed = waiting;
        due.into_iter().map(|proposal| proposal.command).collect()
    }

    /// Begins a command on these instances. It chooses the names of the replacements before
    /// anything is written. Reserved places are kept until the replacements exist or the command
    /// ends. Returns none if an instance is already part of a command.
    pub fn begin(
        &self,
        command: Command,
        candidates: Vec<Going>,
        places: Vec<Reserved>,
        now: Timestamp,
        random: &Random,
    ) -> Option<Record> {
        let names =
            command.replacements.iter().map(|it| claim::name(&it.node_pool, &random.suffix()));
        let record = Record {
            id: CommandId(format!("{:016x}", random.next())),
            method: command.method,
            reason: command.method.budget(),
            decision: command.decision,
            candidates,
            replacements: names.collect(),
            begun: Time(seconds(now)),
            why: command.reason.message,
        };
        let begun = Begun {
            record: record.clone(),
            planned: Some(command.replacements),
            destinations: command.destinations,
            seen: BTreeSet::new(),
            leaving: false,
            deleting: false,
            taken_back: None,
        };
        self.add(begun, places).then_some(record)
    }

    /// Takes over commands of another process, as recorded on claims. Returns their ids.
    pub fn adopt(&self, found: BTreeMap<CommandId, Record>) -> Vec<CommandId> {
        let known: BTreeSet<CommandId> = self.lock().begun.keys().cloned().collect();
        let unknown = found.into_iter().filter(|(id, _)| !known.contains(id));
        let adopted = unknown.filter(|(_, record)| {
            let begun = Begun {
                record: record.clone(),
                planned: None,
                destinations: Vec::new(),
                seen: BTreeSet::new(),
                leaving: false,
                deleting: false,
                taken_back: None,
            };
            // Replacements that the other process did not create are dropped, so they need no room.
            self.add(begun, Vec::new())
        });
        adopted.map(|(id, _)| id).collect()
    }

    fn add(&self, begun: Begun, places: Vec<Reserved>) -> bool {
        let mut all = self.lock();
        let claims: Vec<String> = claims_of(&begun.record).cloned().collect();
        if claims.iter().any(|claim| all.by_claim.contains_key(claim)) {
            return false;
        }
        let id = begun.record.id.clone();
        all.by_claim.extend(claims.into_iter().map(|claim| (claim, id.clone())));
        all.begun.insert(id.clone(), begun);
        all.places.insert(id.clone(), places);
        drop(all);
        self.queue.add(id);
        true
    }

    /// A command that was begun.
    pub fn get(&self, id: &CommandId) -> Option<Begun> {
        self.lock().begun.get(id).cloned()
    }

    /// Commands that were begun, in order of id.
    pub fn begun(&self) -> Vec<CommandId> {
        self.lock().begun.keys().cloned().collect()
    }

    /// Updates the state of a command.
    pub(super) fn change(&self, id: &CommandId, change: impl FnOnce(&mut Begun)) {
        if let Some(begun) = self.lock().begun.get_mut(id) {
            change(begun);
        }
    }

    /// The replacement exists and counts itself, so its reserved room is released.
    pub(super) fn made(&self, id: &CommandId) {
        let place = self.lock().places.get_mut(id).and_then(Vec::pop);
        drop(place);
    }

    /// Releases the candidates of a command, while other steps of it may remain.
    pub(super) fn free(&self, id: &CommandId) {
        let All { begun, by_claim, .. } = &mut *self.lock();
        let candidates = begun.get_mut(id).map(|it| std::mem::take(&mut it.record.candidates));
        for candidate in candidates.into_iter().flatten() {
            by_claim.remove(&candidate.node_claim);
        }
    }

    /// Ends a command.
    pub(super) fn end(&self, id: &CommandId) {
        let places = {
            let mut all = self.lock();
            all.begun.remove(id);
            all.by_claim.retain(|_, other| other != id);
            all.places.remove(id)
        };
        drop(places);
    }

    /// The command that a claim belongs to.
    pub fn of_claim(&self, claim: &str) -> Option<CommandId> {
        self.lock().by_claim.get(claim).cloned()
    }

    /// Names of the claims that begun commands remove.
    pub fn going(&self) -> BTreeSet<String> {
        let all = self.lock();
        let going = all.begun.values().flat_map(|begun| &begun.record.candidates);
        going.map(|candidate| candidate.node_claim.clone()).collect()
    }

    /// Names of the claims that begun commands create.
    pub(super) fn coming(&self) -> BTreeSet<String> {
        let all = self.lock();
        all.begun.values().flat_map(|begun| &begun.record.replacements).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claims_of(record: &Record) -> impl Iterator<Item = &String> {
    let candidates = record.candidates.iter().map(|candidate| &candidate.node_claim);
    candidates.chain(&record.replacements)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{self, Sender},
        thread,
    };

    use joiner_core::{
        disruption::{Decision, Method},
        reason::{Reason, ReasonId},
    };

    use super::*;
    use crate::static_pools::Reservations;

    fn command() -> Command {
        Command {
            method: Method::StaticDrift,
            decision: Decision::Replace,
            candidates: Vec::new(),
            replacements: vec![PlannedClaim::default()],
            destinations: Vec::new(),
            reason: Reason::new(ReasonId::PoolNone, "for a test"),
            savings: 0.0,
            score: 0.0,
            scores: Vec::new(),
        }
    }

    /// Ends a command while somebody reserves a place, who asks for commands meanwhile.
    fn end_while_somebody_reserves(done: &Sender<()>) {
        let (clock, reservations) = (Clock::wall(), Reservations::default());
        let commands = Commands::new(&clock);
        let place = reservations.reserve("batch", 1, None, || 0);
        let record = commands.begin(command(), Vec::new(), place, clock.now(), &Random::seeded(1));
        let id = record.expect("no instance is part of another command").id;
        let ending = {
            let commands = commands.clone();
            move || commands.end(&id)
        };
        let places = reservations.reserve("batch", 1, None, || {
            thread::spawn(ending);
            while !commands.begun().is_empty() {
                thread::yield_now();
            }
            0
        });
        assert_eq!(places.len(), 1);
        done.send(()).expect("somebody waits for it");
    }

    #[test]
    fn who_reserves_a_place_may_ask_for_commands_while_one_ends() {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || end_while_somebody_reserves(&done));
        is_done.recv_timeout(Duration::from_secs(10)).expect("nobody waits for ever");
    }
}
