//! Creates claims without duplicates.
//!
//! A claim's name is chosen before the create call. After a lost answer it is unknown whether the
//! claim exists. Every later decision first resolves that.

use std::sync::{Mutex, MutexGuard, PoisonError};

use joiner_api::node_claim::NodeClaim;

use crate::{context::Context, static_pools::Reserved, trouble::Trouble};

/// Creates claims, and remembers those whose create call had no answer.
#[derive(Debug)]
pub struct ClaimCreation {
    context: Context,
    unsure: Mutex<Vec<Unsure>>,
}

/// A claim that may or may not have been created: the answer was lost.
#[derive(Debug)]
struct Unsure {
    name: String,
    /// The room that it takes from its pool's limit, if it is there.
    _room: Option<Reserved>,
}

impl ClaimCreation {
    /// Creates claims of a cluster.
    pub fn new(context: Context) -> Self {
        Self { context, unsure: Mutex::default() }
    }

    /// Creates a claim in the room that was reserved for it, if any was.
    pub async fn create(
        &self,
        claim: &NodeClaim,
        room: Option<Reserved>,
    ) -> Result<NodeClaim, Trouble> {
        let created = self.context.cluster.create(claim).await;
        if created.as_ref().is_err_and(Trouble::may_have_worked) {
            let name = claim.metadata.name.clone().unwrap_or_default();
            self.lock().push(Unsure { name, _room: room });
        }
        created
    }

    /// Finds out whether claims exist of whose creation no answer came. Until that is known, they
    /// could be decided on a second time.
    pub async fn settle(&self) -> Result<(), Trouble> {
        loop {
            let name = self.lock().first().map(|unsure| unsure.name.clone());
            let Some(name) = name else { return Ok(()) };
            if let Some(claim) = self.context.cluster.get::<NodeClaim>(&name).await? {
                self.context.cache.wrote(claim);
            }
            self.lock().retain(|unsure| unsure.name != name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Unsure>> {
        self.unsure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
