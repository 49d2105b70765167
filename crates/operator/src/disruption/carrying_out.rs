//! Executes commands step by step, until they are done or taken back.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use joiner_clock::Clock;
use joiner_core::{
    disruption::{self, Command, Method},
    label::{INSTANCE_TYPE, NODE_POOL},
    plan::PlannedClaim,
};

use super::{
    Disruption,
    commands::{BACKOFF, Begun, Commands},
    marking::{self, Marked, take_command},
    pause::sure_of_pauses,
    record::{CommandId, Going, Record, id_on},
    step::{Candidate, Cause, Replacement, Seen, Step, decide},
    telling,
};
use crate::{
    claims::{self, is_deleting, label},
    conditions::{Conditioned, INITIALIZED},
    context::Context,
    controller::{Controller, Next},
    events::Event,
    lifecycle::ready_by,
    marks::DISRUPTION_COMMAND,
    provisioning::{claim, telling::nominate_existing},
    queue::{Backoff, Queue},
    trouble::Trouble,
    world::{Change, Key, World},
};

/// How long it may take to mark the candidates and create the replacements. After that, the
/// decision is too old for the cluster. The value was chosen and not measured separately.
const START_WITHIN: SignedDuration = SignedDuration::from_secs(60);
/// How long deletions may be refused after everything else is done. The value was chosen and not
/// measured separately.
const LEAVE_WITHIN: SignedDuration = SignedDuration::from_secs(60);
/// How long a registered replacement may take to be initialized, where no initialization timeout is
/// set. The value is what Karpenter gives a whole command.
const INITIALIZATION: Duration = Duration::from_mins(10);
/// How many candidates of one command are written at the same time. The value was chosen and not
/// measured separately.
const AT_ONCE: usize = 10;
/// How long a ready replacement is kept after its command was taken back. The next command of its
/// kind can move pods to it. The value was chosen and not measured separately.
const KEEP: SignedDuration = SignedDuration::from_mins(10);

/// The controller that executes commands.
#[derive(Debug)]
pub struct CommandQueue {
    context: Context,
    disruption: Disruption,
}

impl CommandQueue {
    /// A controller that executes the commands of `disruption`.
    pub fn new(context: Context, disruption: Disruption) -> Self {
        Self { context, disruption }
    }
}

impl Controller for CommandQueue {
    type Key = CommandId;

    const NAME: &'static str = "disruption.queue";
    const BACKOFF: Backoff = BACKOFF;
    const AT_ONCE: usize = 100;

    fn queue(&self, _clock: &Clock) -> Arc<Queue<CommandId>> {
        self.disruption.commands.queue()
    }

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(CommandId)) {
        let commands = &self.disruption.commands;
        match change {
            Change::NodeClaim(diff) => {
                let name = claims::name(&diff.latest().metadata);
                commands.of_claim(name).into_iter().for_each(add);
            }
            // The change may pause the command.
            Change::NodePool(_) | Change::Namespace(_) => {
                commands.begun().into_iter().for_each(add);
            }
            _ => {}
        }
    }

    async fn reconcile(&self, id: &CommandId) -> Result<Next, Trouble> {
        let mut last = None;
        loop {
            let Some(begun) = self.disruption.commands.get(id) else { return Ok(Next::Done) };
            if let Some(cause) = &begun.taken_back {
                self.take_back(&begun, cause).await?;
                return Ok(Next::Done);
            }
            let step = decide(&self.look(&begun).await?);
            if last.as_ref() == Some(&step) {
                // The step was done, but another writer reverts it: try again after a delay.
                return Ok(Next::Again);
            }
            match &step {
                Step::Mark(candidates) => self.mark(&begun.record, candidates).await?,
                Step::Make(replacements) => self.make(&begun, replacements).await?,
                Step::Wait(replacements, until) => {
                    self.count_as_leaving(&begun);
                    self.tell_waiting(&begun.record, replacements);
                    let left = Duration::try_from(until.duration_since(self.context.now()));
                    return Ok(Next::After(left.unwrap_or_default()));
                }
                Step::Delete(candidates) => {
                    self.count_as_leaving(&begun);
                    self.delete(&begun, candidates).await?;
                }
                Step::Finish => {
                    self.finish(&begun).await?;
                    return Ok(Next::Done);
                }
                Step::TakeBack(cause) => self.give_up(&begun, cause),
            }
            last = Some(step);
        }
    }
}

impl CommandQueue {
    /// The current state of a command and its claims.
    async fn look(&self, begun: &Begun) -> Result<Seen, Trouble> {
        let record = &begun.record;
        let mut replacements = Vec::new();
        let mut all_ready_by = record.begun();
        for name in &record.replacements {
            let state = match self.find(begun, name).await? {
                Some(claim) => {
                    self.disruption.commands.change(&record.id, |it| {
                        it.seen.insert(name.clone());
                    });
                    let begun = record.begun();
                    let ready_by = ready_by(&self.context, &claim, begun, INITIALIZATION);
                    all_ready_by = all_ready_by.max(ready_by);
                    match &*claim {
                        claim if is_deleting(claim) => Replacement::Lost,
                        claim if claim.holds(INITIALIZED) => Replacement::Ready,
                        _ => Replacement::Comes(ready_by),
                    }
                }
                None if begun.seen.contains(name) => Replacement::Lost,
                None if begun.planned.is_some() => Replacement::ToBeMade,
                None => Replacement::NeverSeen,
            };
            replacements.push((name.clone(), state));
        }
        let (candidates, paused) = self.context.cache.read(|world| {
            let found = record.candidates.iter().map(|going| (going, marking::find(world, going)));
            let instances: Vec<(&Going, Option<Marked>)> = found.collect();
            let pools = instances.iter().filter_map(|(_, it)| claims::pool(&it.as_ref()?.claim));
            let paused = self.disruption.pause.of(world, pools);
            let states = instances.iter().map(|(going, instance)| {
                let state = match instance {
                    Some(instance) if instance.leaves() => Candidate::Leaves,
                    Some(instance) if instance.is_marked_by(record) => Candidate::Marked,
                    Some(_) => Candidate::Unmarked,
                    None => Candidate::Leaves,
                };
                (going.node_claim.clone(), state)
            });
            (states.collect(), paused)
        });
        // Times in a claim may overflow; the sum is capped.
        let after = |moment: Timestamp, time| moment.saturating_add(time).unwrap_or(Timestamp::MAX);
        let start_by = after(record.begun(), START_WITHIN);
        Ok(Seen {
            candidates,
            replacements,
            begun_here: begun.planned.is_some(),
            deleting: begun.deleting,
            paused,
            start_by,
            ready_by: all_ready_by,
            leave_by: after(start_by.max(all_ready_by), LEAVE_WITHIN),
            now: self.context.now(),
        })
    }

    /// A replacement, if it exists. One that the cache lacks is read from the API server, unless it
    /// was not created yet.
    async fn find(&self, begun: &Begun, name: &str) -> Result<Option<Arc<NodeClaim>>, Trouble> {
        let found = self.known(&begun.record, name);
        let is_to_be_made = begun.planned.is_some() && !begun.seen.contains(name);
        if found.is_some() || is_to_be_made {
            return Ok(found);
        }
        self.ask_for(&begun.record, name).await
    }

    /// A replacement from the cache. A claim of the same name from another author does not count.
    fn known(&self, record: &Record, name: &str) -> Option<Arc<NodeClaim>> {
        let found = self.context.cache.read(|world| world.node_claims.named(name).cloned());
        found.filter(|claim| id_on(claim).as_ref() == Some(&record.id))
    }

    /// A replacement from the API server.
    async fn ask_for(
        &self,
        record: &Record,
        name: &str,
    ) -> Result<Option<Arc<NodeClaim>>, Trouble> {
        let found = self.context.cluster.get::<NodeClaim>(name).await?;
        match found.filter(|claim| id_on(claim).as_ref() == Some(&record.id)) {
            Some(claim) => {
                self.context.cache.wrote(claim.clone());
                Ok(Some(Arc::new(claim)))
            }
            None => Ok(None),
        }
    }

    async fn mark(&self, record: &Record, candidates: &[String]) -> Result<(), Trouble> {
        let instances = self.instances(record, candidates).into_iter();
        let marking = instances
            .map(|(going, instance)| instance.mark(&self.context, record, going).boxed())
            .collect();
        together(marking).await
    }

    /// The existing instances among these candidates.
    fn instances<'r>(&self, record: &'r Record, names: &[String]) -> Vec<(&'r Going, Marked)> {
        let names: BTreeSet<&String> = names.iter().collect();
        let wanted = record.candidates.iter().filter(|going| names.contains(&going.node_claim));
        self.context.cache.read(|world| {
            wanted.filter_map(|going| Some((going, marking::find(world, going)?))).collect()
        })
    }

    /// All existing candidates.
    fn candidates(&self, record: &Record) -> Vec<Marked> {
        let all = record.candidates.iter();
        self.context.cache.read(|world| all.filter_map(|it| marking::find(world, it)).collect())
    }

    /// Creates replacements under the names that were chosen before.
    async fn make(&self, begun: &Begun, names: &[String]) -> Result<(), Trouble> {
        let planned = begun.planned.iter().flatten();
        let both = begun.record.replacements.iter().zip(planned);
        for (name, planned) in both.filter(|(name, _)| names.contains(name)) {
            if let Err(why) = self.make_one(&begun.record, name, planned).await? {
                self.give_up(begun, &Cause::NotMade(why));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Creates a replacement, or returns why it cannot be created. After a lost answer the create
    /// is repeated: it then finds the claim under its name.
    async fn make_one(
        &self,
        record: &Record,
        name: &str,
        planned: &PlannedClaim,
    ) -> Result<Result<(), String>, Trouble> {
        let pool = match claim::pool(&self.context.cache, planned) {
            Ok(pool) => pool,
            Err(why) => return Ok(Err(why)),
        };
        let mut object = claim::object(planned, &pool, name.to_owned());
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(DISRUPTION_COMMAND.to_owned(), record.text());
        match self.context.cluster.create(&object).await {
            Ok(made) => {
                self.disruption.commands.made(&record.id);
                telling::made(&self.context, record, &made, planned);
                Ok(Ok(()))
            }
            Err(trouble) if trouble.is_conflict() => match self.ask_for(record, name).await? {
                Some(_) => {
                    self.disruption.commands.made(&record.id);
                    Ok(Ok(()))
                }
                None => Ok(Err(format!("the name {name} is taken"))),
            },
            Err(trouble) if trouble.may_have_worked() || trouble.retry_after().is_some() => {
                Err(trouble)
            }
            Err(trouble) => Ok(Err(trouble.to_string())),
        }
    }

    /// Counts the candidates as leaving, so that plans find places for their pods on the
    /// replacements. Before the replacements exist, a plan would create the same instances again.
    fn count_as_leaving(&self, begun: &Begun) {
        if begun.leaving {
            return;
        }
        self.context.cache.intend(|intended| {
            begun.record.candidates.iter().for_each(|going| intended.leave(&going.node_claim));
        });
        self.disruption.commands.change(&begun.record.id, |it| it.leaving = true);
        nominate_existing(&self.context, &begun.destinations);
    }

    fn tell_waiting(&self, record: &Record, replacements: &[String]) {
        for name in replacements {
            if let Some(claim) = self.known(record, name) {
                telling::waiting(&self.context, record, &claim);
            }
        }
    }

    async fn delete(&self, begun: &Begun, candidates: &[String]) -> Result<(), Trouble> {
        let record = &begun.record;
        if !begun.deleting {
            let waits = format!("no instance of command {} is removed", record.id);
            sure_of_pauses(&self.context, waits)?;
        }
        let instances = self.instances(record, candidates).into_iter();
        let deleting =
            instances.map(|(_, instance)| self.delete_one(record, instance).boxed()).collect();
        together(deleting).await
    }

    async fn delete_one(&self, record: &Record, instance: Marked) -> Result<(), Trouble> {
        self.context.cluster.delete(&*instance.claim).await?;
        self.disruption.commands.change(&record.id, |it| it.deleting = true);
        self.remember(record.method, &instance.claim);
        telling::deleted(&self.context, record, &instance);
        Ok(())
    }

    /// Remembers an instance that is removed.
    fn remember(&self, method: Method, claim: &NodeClaim) {
        let (pool, kind) = (label(claim, NODE_POOL), label(claim, INSTANCE_TYPE));
        let memory = &mut *self.disruption.memory();
        match method {
            Method::MultiNode | Method::SingleNode => {
                memory.moves.made(pool, kind, self.context.now());
            }
            Method::StaticDrift | Method::Drift => memory.drift.succeeded(pool),
            Method::Emptiness => {}
        }
    }

    /// Ends a command that is done: its replacements are ordinary instances from now on.
    async fn finish(&self, begun: &Begun) -> Result<(), Trouble> {
        let record = &begun.record;
        for name in &record.replacements {
            if let Some(claim) = self.known(record, name).filter(|claim| !is_deleting(&**claim)) {
                take_command(&self.context, &claim).await?;
            }
        }
        self.free(record);
        self.disruption.commands.end(&record.id);
        tracing::info!(controller = Self::NAME, command = %record.id, "command is done");
        Ok(())
    }

    /// Decides to take a command back; reports and counts that once.
    fn give_up(&self, begun: &Begun, cause: &Cause) {
        let record = &begun.record;
        self.disruption.commands.change(&record.id, |it| it.taken_back = Some(cause.clone()));
        tracing::warn!(
            controller = Self::NAME,
            command = %record.id,
            "node-names" = telling::node_names(record),
            "command is taken back: {cause}"
        );
        let instances = self.candidates(record);
        let why = cause.to_string();
        for subject in instances.iter().filter(|it| !it.leaves()).flat_map(Marked::subjects) {
            self.context.events.tell(Event::disruption_taken_back(&subject, &why));
        }
        if cause.is_failure() {
            self.remember_failure(record, &instances);
        }
    }

    /// Remembers a failed command: once for each kind of instance, whatever their number.
    fn remember_failure(&self, record: &Record, instances: &[Marked]) {
        let ready = self.context.cache.read(|world| {
            let replacements = record.replacements.iter();
            let found = replacements.filter_map(|name| world.node_claims.named(name));
            found.filter(|claim| claim.holds(INITIALIZED)).count()
        });
        telling::failed(&self.context, record, record.replacements.len() - ready);
        let of = |claim| (label(claim, NODE_POOL), label(claim, INSTANCE_TYPE));
        let kinds: BTreeSet<(&str, &str)> = instances.iter().map(|it| of(&*it.claim)).collect();
        let now = self.context.now();
        let memory = &mut *self.disruption.memory();
        for (pool, kind) in kinds {
            match record.method {
                Method::MultiNode | Method::SingleNode => memory.moves.failed(pool, kind, now),
                Method::StaticDrift | Method::Drift => {
                    memory.drift.failed(pool, now, self.context.random.next());
                }
                Method::Emptiness => {}
            }
        }
    }

    /// Takes a command back. Candidates and replacements are handled independently: a failure with
    /// one does not stop the other.
    async fn take_back(&self, begun: &Begun, cause: &Cause) -> Result<(), Trouble> {
        let record = &begun.record;
        let freed = self.free_candidates(record, cause).await;
        let replacements = record.replacements.iter();
        let removing = replacements.map(|name| self.remove_replacement(record, name).boxed());
        let removed = together(removing.collect()).await;
        freed.and(removed)?;
        self.disruption.commands.end(&record.id);
        Ok(())
    }

    /// Removes the marks from the candidates, unless that was done before.
    async fn free_candidates(&self, record: &Record, cause: &Cause) -> Result<(), Trouble> {
        if record.candidates.is_empty() {
            return Ok(());
        }
        let instances = self.candidates(record).into_iter();
        let freeing = instances.map(|instance| instance.unmark(&self.context).boxed()).collect();
        together(freeing).await?;
        self.free(record);
        tracing::info!(
            controller = Self::NAME,
            command = %record.id,
            "node-names" = telling::node_names(record),
            "candidates are free again: {cause}"
        );
        Ok(())
    }

    /// Deletes a replacement that is not needed. A ready one stays, because the move is tried again
    /// onto it.
    async fn remove_replacement(&self, record: &Record, name: &str) -> Result<(), Trouble> {
        // The cache may lack a replacement whose create succeeded but whose answer was lost.
        let found = match self.known(record, name) {
            Some(claim) => Some(claim),
            None => self.ask_for(record, name).await?,
        };
        match found.filter(|claim| !is_deleting(&**claim)) {
            Some(claim) if claim.holds(INITIALIZED) => {
                let (instance, until) = (claims::instance_name(&claim), self.context.now() + KEEP);
                self.context.cache.intend(|intended| intended.nominate(instance, until));
                take_command(&self.context, &claim).await
            }
            Some(claim) => self.context.cluster.delete(&*claim).await,
            None => Ok(()),
        }
    }

    /// Releases the candidates of a command: they are ordinary instances from now on.
    fn free(&self, record: &Record) {
        self.context.cache.intend(|intended| {
            record.candidates.iter().for_each(|going| intended.forget(&going.node_claim));
        });
        self.disruption.commands.free(&record.id);
    }
}

/// Runs several operations concurrently, within a limit. All are tried before the first failure is
/// returned.
pub(super) async fn together(
    doing: Vec<BoxFuture<'_, Result<(), Trouble>>>,
) -> Result<(), Trouble> {
    let done: Vec<Result<(), Trouble>> = stream::iter(doing).buffered(AT_ONCE).collect().await;
    done.into_iter().collect()
}

/// The part of a command that can begin with its current instances, or what changed for the first
/// one. Without moved pods each instance counts alone. Otherwise places were found for all of their
/// pods together, so all must be unchanged.
pub(super) fn going(
    world: &World,
    commands: &Commands,
    command: &Command,
    now: Timestamp,
) -> Result<(Command, Vec<Going>), String> {
    let nominated = world.intended.nominated(now);
    let is_each_for_itself = command.replacements.is_empty() && command.destinations.is_empty();
    let (mut part, mut instances, mut lost) = (command.clone(), Vec::new(), None);
    part.candidates.retain(|candidate| match as_it_is(world, commands, candidate, &nominated) {
        Ok(instance) => {
            instances.push(instance);
            true
        }
        Err(why) => {
            lost.get_or_insert(why);
            false
        }
    });
    match lost {
        Some(why) if instances.is_empty() || !is_each_for_itself => Err(why),
        _ => Ok((part, instances)),
    }
}

/// An instance of a command, or what changed since the decision.
fn as_it_is(
    world: &World,
    commands: &Commands,
    candidate: &disruption::Candidate,
    nominated: &BTreeMap<String, Timestamp>,
) -> Result<Going, String> {
    if nominated.contains_key(&candidate.node) {
        return Err(format!("a pod was promised a place on {} meanwhile", candidate.node));
    }
    if commands.of_claim(&candidate.node_claim).is_some() {
        return Err(format!("NodeClaim {} is part of another command", candidate.node_claim));
    }
    let claim = world.node_claims.get(&Key::cluster(&candidate.node_claim));
    let claim = claim.filter(|claim| !is_deleting(&***claim));
    let claim = claim.ok_or_else(|| format!("NodeClaim {} is gone", candidate.node_claim))?;
    Ok(Going {
        node_claim: candidate.node_claim.clone(),
        uid: claims::uid(&claim.metadata).to_owned(),
        node: candidate.node.clone(),
    })
}

#[cfg(test)]
mod tests {
    use joiner_core::{
        disruption::Decision,
        plan::ExistingPlacement,
        reason::{Reason, ReasonId},
    };

    use super::*;
    use crate::random::Random;

    fn command(nodes: &[&str]) -> Command {
        let candidate = |node: &&str| disruption::Candidate {
            node_claim: (*node).to_owned(),
            node: (*node).to_owned(),
            node_pool: "general".to_owned(),
            pods: Vec::new(),
        };
        Command {
            method: Method::Emptiness,
            decision: Decision::Delete,
            candidates: nodes.iter().map(candidate).collect(),
            replacements: Vec::new(),
            destinations: Vec::new(),
            reason: Reason::new(ReasonId::PoolNone, "for a test"),
            savings: 0.0,
            score: 0.0,
            scores: Vec::new(),
        }
    }

    /// A cluster with instances, on one of which a pod is expected.
    fn world() -> World {
        let mut world = World::default();
        for name in ["free", "taken", "promised"] {
            let mut claim = NodeClaim::default();
            claim.metadata.name = Some(name.to_owned());
            claim.metadata.resource_version = Some("1".to_owned());
            world.put(claim, true);
        }
        world.intended.nominate("promised", Timestamp::MAX);
        world
    }

    fn going_of(command: &Command) -> Result<Vec<String>, String> {
        going_beside(&Commands::new(&Clock::wall()), command)
    }

    fn going_beside(commands: &Commands, command: &Command) -> Result<Vec<String>, String> {
        let (part, instances) = going(&world(), commands, command, Timestamp::UNIX_EPOCH)?;
        assert_eq!(part.candidates.len(), instances.len());
        Ok(instances.into_iter().map(|instance| instance.node).collect())
    }

    #[test]
    fn where_nothing_moves_an_instance_that_cannot_go_keeps_no_other() {
        let all = command(&["gone", "free", "promised"]);
        assert_eq!(going_of(&all), Ok(vec!["free".to_owned()]));
        let none = going_of(&command(&["gone", "promised"]));
        assert_eq!(none, Err("NodeClaim gone is gone".to_owned()));
    }

    /// Commands of which one is about an instance already.
    fn commands_about(claim: &str) -> Commands {
        let commands = Commands::new(&Clock::wall());
        let going =
            Going { node_claim: claim.to_owned(), uid: String::new(), node: claim.to_owned() };
        let random = Random::seeded(1);
        let (other, now) = (command(&[claim]), Timestamp::UNIX_EPOCH);
        commands.begin(other, vec![going], Vec::new(), now, &random).expect("it is the first");
        commands
    }

    #[test]
    fn where_nothing_moves_an_instance_of_another_command_keeps_no_other() {
        let commands = commands_about("taken");
        let both = going_beside(&commands, &command(&["free", "taken"]));
        assert_eq!(both, Ok(vec!["free".to_owned()]));
        let alone = going_beside(&commands, &command(&["taken"]));
        assert_eq!(alone, Err("NodeClaim taken is part of another command".to_owned()));
    }

    #[test]
    fn what_was_planned_for_all_instances_is_not_begun_for_some() {
        let mut replaced = command(&["free", "promised"]);
        replaced.replacements.push(PlannedClaim::default());
        let mut moved = command(&["free", "promised"]);
        moved.destinations.push(ExistingPlacement::default());
        for command in [replaced, moved] {
            let why = "a pod was promised a place on promised meanwhile";
            assert_eq!(going_of(&command), Err(why.to_owned()));
        }
    }
}
