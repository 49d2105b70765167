//! The status of classes: the provider's findings, and what the cluster lacks.

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

/// How often an unchanged class is judged: the cloud may have changed. The value was chosen and not
/// measured separately.
const PERIOD: Duration = Duration::from_mins(5);

/// Keeps the status of each class up to date with its provider's judgement.
#[derive(Debug)]
pub struct ClassResolution {
    context: Context,
    /// Objects that are judged because of a note from a cloud.
    asked: Mutex<BTreeSet<Key>>,
}

impl ClassResolution {
    /// A controller without earlier judgements.
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
    // For classes that are not ready: short enough for a user who repairs one, and long enough to
    // spare the cloud. The values were chosen and not measured separately.
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
        // A note that arrives from now on causes another judgement.
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

/// Whether a class changed in more than its status.
fn says_something_else(diff: &Diff<NodeClass>) -> bool {
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => (&old.uid, old.generation) != (&new.uid, new.generation),
        _ => true,
    }
}

/// Whether an object changed in a way that its classes must be judged again.
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

/// The provider's judgement, after the check that the join data is complete. If it is complete, the
/// provider decides.
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

/// The result of a judgement.
struct Said {
    /// The status patch, if the status changes.
    patch: Option<Value>,
    /// Conditions that became false, or that have a new reason.
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
        // A class without conditions is ready once its `Ready` condition is written.
        if conditions != written && !(found.conditions.is_empty() && is_ready(class)) {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        Self { patch: (!status.is_empty()).then(|| status.into()), turned_false }
    }
}

fn is_ready(class: &NodeClass) -> bool {
    class.ready().is_some_and(|(ready, ..)| ready)
}
