//! Making an instance by trying one choice after the other.
//!
//! [`choice`](crate::choice) says in which order; a cloud says in [`Ways`] how one choice is tried;
//! [`first_that_works`] tries them, remembers what was scarce, and tells the claim why.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use joiner_core::label;

use crate::{
    CloudError,
    choice::Choice,
    instance::Instance,
    notes::{Note, Notes},
    order::Order,
    unavailable::Scarce,
};

/// After this many failures of one kind, an order counts as out of capacity, and a stalled instance
/// is made again. Two failures may be chance. Each failure may cost a copy of an image.
pub const TRIES_MAX: u32 = 3;
/// After this many failures of an unknown kind, an instance is made again.
pub const UNKNOWN_TRIES_MAX: u32 = 5;

/// Why one way to make an instance failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Another type or zone may have room.
    NoRoom(String),
    /// Another storage may have space.
    NoSpace(String),
    /// An object that the class names no longer exists.
    Stale(String),
    /// No other choice can succeed now.
    Final(CloudError),
}

impl From<CloudError> for Refused {
    fn from(error: CloudError) -> Self {
        Self::Final(error)
    }
}

impl Refused {
    /// The error where no other choice exists. For example, an adopted instance is not made in
    /// another zone.
    pub fn into_error(self) -> CloudError {
        match self {
            Self::Final(error) => error,
            Self::NoRoom(why) | Self::NoSpace(why) => CloudError::InsufficientCapacity(why),
            Self::Stale(why) => CloudError::NodeClassNotReady(why),
        }
    }
}

/// How often something failed, by the claim's identity.
#[derive(Debug, Default)]
pub struct Tries(BTreeMap<String, u32>);

impl Tries {
    /// Counts one more failure and returns their number.
    pub fn count(&mut self, claim_uid: &str) -> u32 {
        let tries = self.0.entry(claim_uid.to_owned()).or_default();
        *tries += 1;
        *tries
    }

    /// The number of failures.
    pub fn of(&self, claim_uid: &str) -> u32 {
        self.0.get(claim_uid).copied().unwrap_or_default()
    }

    /// Forgets a claim that has its instance, or no longer needs one.
    pub fn forget(&mut self, claim_uid: &str) {
        self.0.remove(claim_uid);
    }
}

/// How a cloud tries one choice.
#[async_trait]
pub trait Ways: Sync {
    /// Where the disks of an instance are. A cloud that has no choice of storage takes `()`.
    type Storage: Send + Sync;

    /// The instance is about to be tried with this choice.
    fn trying(&self, _choice: &Choice<'_>) {}

    /// Storages that may have space for a choice, in the order in which they are tried; none where
    /// the class has no such zone.
    async fn storages(&self, choice: &Choice<'_>)
    -> Result<Option<Vec<Self::Storage>>, CloudError>;

    /// Makes the instance with this choice.
    async fn make(&self, choice: &Choice<'_>, storage: &Self::Storage)
    -> Result<Instance, Refused>;

    /// Remembers that something is scarce, so that it is not offered for a while.
    fn remember(&self, scarce: Scarce);

    /// The space of a storage.
    fn space(&self, storage: &Self::Storage) -> Scarce;

    /// What to do where a choice has no room.
    fn remedy_for_room(&self, choice: &Choice<'_>) -> String;

    /// What to do where a storage has no space.
    fn remedy_for_space(&self, storage: &Self::Storage) -> String;

    /// What to say where no type of the class serves the claim.
    fn no_choice(&self) -> String;
}

/// Tries the choices in order until one succeeds. `class` is the kind and name of the class, for
/// messages.
pub async fn first_that_works<W: Ways>(
    ways: &W,
    order: &Order,
    class: &str,
    choices: &[Choice<'_>],
    notes: &Notes,
) -> Result<Instance, Refused> {
    let mut refusals: Vec<String> = Vec::new();
    let mut remedies: BTreeSet<String> = BTreeSet::new();
    for choice in choices {
        let labels = choice.labels();
        let zone = labels.get(label::ZONE).map(String::as_str);
        ways.trying(choice);
        let Some(storages) = ways.storages(choice).await? else {
            refusals.push(format!("zone {zone:?} is not among spec.zones"));
            continue;
        };
        for storage in storages {
            let (scarce, why, remedy) = match ways.make(choice, &storage).await {
                Ok(instance) => return Ok(instance),
                Err(Refused::NoSpace(why)) => {
                    (ways.space(&storage), why, ways.remedy_for_space(&storage))
                }
                Err(Refused::NoRoom(why)) => {
                    let name = &choice.instance_type.name;
                    let room = Scarce::room(&order.class.name, name, zone);
                    (room, why, ways.remedy_for_room(choice))
                }
                Err(other) => return Err(other),
            };
            let is_room = matches!(scarce, Scarce::Room { .. });
            ways.remember(scarce);
            tell_no_capacity(notes, order, choice, zone, &format!("{why}; {remedy}"));
            refusals.push(why);
            remedies.insert(remedy);
            if is_room {
                break;
            }
        }
    }
    let why = if refusals.is_empty() {
        ways.no_choice()
    } else {
        refusals.extend(remedies);
        refusals.join("; ")
    };
    let claim = &order.claim.name;
    let message = format!("NodeClaim {claim} has no place in {class}: {why}");
    Err(CloudError::InsufficientCapacity(message).into())
}

/// Tells a claim that one choice has no room; another may have.
fn tell_no_capacity(
    notes: &Notes,
    order: &Order,
    choice: &Choice<'_>,
    zone: Option<&str>,
    why: &str,
) {
    let wanted = &choice.instance_type.name;
    let place = zone.map(|zone| format!(" in zone {zone:?}")).unwrap_or_default();
    let message = format!("{wanted} cannot be had{place} now: {why}");
    notes.write(Note::went_wrong(&order.claim, "InsufficientCapacity", message));
}

#[cfg(test)]
mod tests;
