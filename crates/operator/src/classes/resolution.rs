//! What is said of classes: whatever their provider finds out about them, and what is missing in the
//! cluster.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_api::condition::{Condition, find as find_condition};
use joiner_cloud::{
    class::{BOOTSTRAP_READY, ClassCondition, ClassStatus, NodeClass},
    needs::Needs,
};
use serde_json::{Value, json};

use super::{Part, find_served, patch, users_of};
use crate::{
    cluster::Lock,
    conditions::{ConditionSet, READY, Status},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    inputs::{Fetched, Missing},
    queue::Backoff,
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// How often a class is looked at although nothing in the cluster has changed: what it refers to is
/// in the cloud.
const PERIOD: Duration = Duration::from_mins(5);

/// Keeps the status of each class as its provider sees it.
#[derive(Debug)]
pub struct ClassResolution {
    context: Context,
    /// Objects that are judged because a cloud said that something has changed there.
    asked: Mutex<BTreeSet<Key>>,
}

impl ClassResolution {
    /// A controller that has judged nothing yet.
    pub fn new(context: Context) -> Self {
        Self { context, asked: Mutex::default() }
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for ClassResolution {
    type Key = Key;

    const NAME: &'static str = "nodeclass.status";
    // For classes that cannot be used: somebody may be mending them, and clouds are to be spared.
    const BACKOFF: Backoff = Backoff { first: Duration::from_secs(30), longest: PERIOD };

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodeClass(diff) => {
                if says_something_else(diff) {
                    diff.new.iter().for_each(|class| add(class.key()));
                }
                if is_different_to_users(diff) {
                    let users = users_of(&self.context, world, diff.latest());
                    users.for_each(|class| add(class.key()));
                }
            }
            Change::LookAgain(key) => {
                self.asked().insert(key.clone());
                add(key.clone());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let context = &self.context;
        // What a cloud says from here on has it judged once more.
        let asked = self.asked().remove(key);
        let Some((class, provider)) = find_served(context, key) else { return Ok(Next::Done) };
        if class.deleting.is_some() {
            return Ok(Next::Done);
        }
        let needs = provider.needs(&class);
        let fetched = context.class_inputs(provider.as_ref(), &class, &needs).await;
        let inputs = fetched.as_ref().ok().map(|fetched| &fetched.inputs);
        let found = match provider.resolve_class(&class, inputs).await {
            Ok(found) => with_bootstrap(found, &needs, &fetched),
            Err(error) => {
                self.asked().extend(asked.then(|| key.clone()));
                return Err(error.into());
            }
        };
        let healthy = found.conditions.iter().all(|part| part.holds == Some(true));
        let look_again = found.look_again;
        let said = Said::of(&class, found, context.now());
        if let Some(status) = said.patch {
            let status = json!({ "status": status });
            patch(context, &**provider, &class, Part::Status, status, Lock::None).await?;
        }
        for condition in &said.turned_false {
            let about = Subject::of_class(&class);
            context.events.tell(Event::class_condition(&about, condition));
        }
        if asked {
            context.cache.announce(&Change::Replan);
        }
        Ok(match look_again {
            Some(wait) => Next::After(wait),
            None if healthy => Next::After(PERIOD),
            None => Next::Again,
        })
    }
}

/// Whether a class says something else than before, besides what is said of it.
fn says_something_else(diff: &Diff<NodeClass>) -> bool {
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => (&old.uid, old.generation) != (&new.uid, new.generation),
        _ => true,
    }
}

/// Whether classes that are made of an object have to be judged because of a change of it.
fn is_different_to_users(diff: &Diff<NodeClass>) -> bool {
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => {
            says_something_else(diff)
                || old.status != new.status
                || old.deleting.is_some() != new.deleting.is_some()
        }
        _ => true,
    }
}

/// What the provider says, and whether everything is there that instances join with. Where it is, the
/// provider has the last word.
fn with_bootstrap(
    mut found: ClassStatus,
    needs: &Needs,
    fetched: &Result<Fetched, Missing>,
) -> ClassStatus {
    let own = found.conditions.iter().position(|part| part.type_ == BOOTSTRAP_READY);
    let (holds, reason, message) = match fetched {
        Ok(_) if own.is_some() || !needs.asks_of_cluster() => return found,
        Ok(fetched) => (Some(true), String::new(), fetched.warnings.join("; ")),
        Err(Missing::Problem { reason, message }) => {
            (Some(false), (*reason).to_owned(), message.clone())
        }
        Err(Missing::Unknown(why)) => (None, String::new(), why.clone()),
    };
    if let Some(own) = own {
        found.conditions.remove(own);
    }
    let type_ = BOOTSTRAP_READY;
    found.conditions.push(ClassCondition { type_, holds, blocks: true, reason, message });
    found
}

/// What there is to write and to tell.
struct Said {
    /// What changes in the status, if anything does.
    patch: Option<Value>,
    /// Conditions that are false now and were not before, or for another reason.
    turned_false: Vec<Condition>,
}

impl Said {
    fn of(class: &NodeClass, found: ClassStatus, now: jiff::Timestamp) -> Self {
        let written: Vec<Condition> =
            serde_json::from_value(class.status["conditions"].clone()).unwrap_or_default();
        let mut conditions = written.clone();
        let blocking = found.conditions.iter().filter(|part| part.blocks);
        let parts: Vec<&'static str> = blocking.map(|part| part.type_).collect();
        let mut set = ConditionSet::new(&mut conditions, parts, class.generation, now);
        for part in &found.conditions {
            let (status, default) = match part.holds {
                Some(true) => (Status::True, part.type_),
                Some(false) => (Status::False, "NotReady"),
                None => (Status::Unknown, "Unknown"),
            };
            let reason = if part.reason.is_empty() { default } else { &part.reason };
            set.set(part.type_, status, reason, &part.message);
        }
        set.sum_up();
        let turned_false = conditions.iter().filter(|condition| {
            let is_as_before = find_condition(&written, &condition.type_).is_some_and(|before| {
                before.status == condition.status && before.reason == condition.reason
            });
            condition.status == "False" && condition.type_ != READY && !is_as_before
        });
        let turned_false = turned_false.cloned().collect();
        let mut status = found.fields;
        status.retain(|field, value| class.status[field.as_str()] != *value);
        // A class of which there is nothing to say is ready as soon as it says so.
        if conditions != written && !(found.conditions.is_empty() && is_ready(class)) {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        Self { patch: (!status.is_empty()).then(|| status.into()), turned_false }
    }
}

fn is_ready(class: &NodeClass) -> bool {
    class.ready().is_some_and(|(ready, ..)| ready)
}
