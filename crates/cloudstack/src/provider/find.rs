//! Finding the instance of a claim again.
//!
//! A claim's instances have names and jobs that follow from the claim. So an instance is found by
//! the job that made it, then by its name, whatever was written down before a process ended.

use joiner_cloud::{CloudError, mark::Mark, order::ClaimId};

use super::{Inner, troubles::unanswered};
use crate::{
    client::{ClientError, objects::VirtualMachine, requests},
    marks, names,
    vm::{ATTEMPTS_MAX, Life, is_original, mark_of},
};

/// What is known of one attempt to make a claim's instance.
#[derive(Debug)]
pub(super) enum Attempted {
    /// The instance is there.
    Own(Box<VirtualMachine>),
    /// Job and name are used up: the instance is gone, or another instance has the name.
    Used,
    /// Nothing was ever made.
    Free,
}

impl Inner {
    /// Reads an instance by its id. One that the server never had is none, as one that is gone. Before
    /// it is taken for absent, it is looked for in every account and project that the key may see.
    pub(super) async fn vm(&self, id: &str) -> Result<Option<VirtualMachine>, ClientError> {
        for command in [requests::instance(id), requests::instance_anywhere(id)] {
            match self.client.list::<VirtualMachine>(command).await {
                Ok(found) => {
                    let own = found.into_iter().find(|vm| vm.id.eq_ignore_ascii_case(id));
                    if own.is_some() {
                        return Ok(own);
                    }
                }
                Err(error) if is_unknown(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// What is known of an attempt to make a claim's instance.
    pub(super) async fn attempted(
        &self,
        claim: &ClaimId,
        attempt: u32,
    ) -> Result<Attempted, CloudError> {
        let unanswered = unanswered("looking for the claim's instance");
        let mut was_submitted = false;
        if !claim.uid.is_empty() {
            let job = match self.client.job(&names::deploy_job(&claim.uid, attempt)).await {
                Ok(job) => Some(job),
                Err(error) if is_unknown(&error) => None,
                Err(error) => return Err(unanswered(error)),
            };
            was_submitted = job.is_some();
            if let Some(id) = job.and_then(|job| job.object)
                && let Some(vm) = self.vm(&id).await.map_err(&unanswered)?
                && Life::of(&vm) != Life::Gone
            {
                return Ok(match self.own_mark(&vm, claim) {
                    Some(_) => Attempted::Own(Box::new(vm)),
                    None => Attempted::Used,
                });
            }
        }
        let name = names::instance(&self.settings.name_prefix, &claim.name, &claim.uid, attempt);
        let named = self.named(&name).await.map_err(&unanswered)?;
        let is_named = !named.is_empty();
        let own = named.into_iter().filter(|vm| Life::of(vm) != Life::Gone);
        let own = own.filter(|vm| self.own_mark(vm, claim).is_some());
        // Should there be two, the one that was made first is the claim's.
        let first = own.min_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        Ok(match first {
            Some(vm) => Attempted::Own(Box::new(vm)),
            None if is_named || was_submitted => Attempted::Used,
            None => Attempted::Free,
        })
    }

    /// The instances of a name, in the projects of classes too.
    pub(super) async fn named(&self, name: &str) -> Result<Vec<VirtualMachine>, ClientError> {
        let mut found = self.in_all_projects(|| requests::instances_named(name)).await?;
        // Old servers answer with names that contain it.
        found.retain(|vm| vm.name == name);
        Ok(found)
    }

    /// All attempts to make a claim's instance that led to one that is there.
    pub(super) async fn all_of(
        &self,
        claim: &ClaimId,
    ) -> Result<Vec<(VirtualMachine, Mark)>, CloudError> {
        let mut found = Vec::new();
        if claim.name.is_empty() {
            return Ok(found);
        }
        for attempt in 0..ATTEMPTS_MAX {
            match self.attempted(claim, attempt).await? {
                Attempted::Own(vm) => {
                    found.extend(self.own_mark(&vm, claim).map(|mark| (*vm, mark)));
                }
                Attempted::Used => {}
                Attempted::Free => break,
            }
        }
        Ok(found)
    }

    /// The mark of an instance if it is the original that was made for a claim.
    pub(super) fn own_mark(&self, vm: &VirtualMachine, claim: &ClaimId) -> Option<Mark> {
        let mark = mark_of(vm, self.cluster())?;
        // A claim without identity is that of an instance whose mark has none: another claim may have
        // the same name now.
        let is_original = is_original(vm, &mark, &self.settings.name_prefix);
        (marks::is_of(&mark, claim) && is_original).then_some(mark)
    }
}

/// Whether the server does not know an object of an id.
pub(super) fn is_unknown(error: &ClientError) -> bool {
    error.refusal().is_some_and(|refusal| refusal.unknown_entity().is_some())
}
