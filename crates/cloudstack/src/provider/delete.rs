//! Removing instances.
//!
//! The operator asks again until the instance is gone. An instance is removed only where it carries
//! this cluster's mark, for this claim, and is not a copy.

use std::time::Duration;

use joiner_cloud::{
    CloudError, Deletion, attempts::TRIES_MAX, mark::Mark, notes::Note, order::ClaimId,
};

use super::{Expunge, Inner, find::is_unknown, troubles::unanswered};
use crate::{
    client::{
        ClientError, ErrorClass, JobFailed, Refusal,
        objects::{VirtualMachine, Volume},
        requests,
    },
    marks,
    provider_id::uuid_of,
    vm::{Life, is_copy, mark_of},
};

/// How long a removal is waited for. The operator asks again soon.
const WAIT: Duration = Duration::from_secs(20);
/// How long it is used whether removed instances may be expunged.
const RIGHTS_FOR: Duration = Duration::from_hours(1);

impl Inner {
    pub(super) async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        self.cluster_uid()?;
        self.state().deletion(&claim.uid);
        self.check_scope().await?;
        let mut found = match provider_id.and_then(uuid_of) {
            Some(uuid) => self.meant(claim, &uuid).await?,
            None => Vec::new(),
        };
        if found.is_empty() {
            // Attempts that failed may have left instances too.
            found = self.all_of(claim).await?;
        }
        let mut left = false;
        for (vm, mark) in &found {
            if Life::of(vm) != Life::Gone {
                self.destroy(vm, mark).await?;
                left = true;
            }
        }
        if left {
            return Ok(Deletion::Requested);
        }
        let mut state = self.state();
        state.tries.forget(&claim.uid);
        state.told.forget(&told_of(claim));
        Ok(Deletion::Gone)
    }

    /// The instance of an id, if it is the claim's.
    async fn meant(
        &self,
        claim: &ClaimId,
        uuid: &str,
    ) -> Result<Vec<(VirtualMachine, Mark)>, CloudError> {
        let found = self.vm(uuid).await.map_err(unanswered("looking for an instance"))?;
        let Some(vm) = found else { return Ok(Vec::new()) };
        let mark = mark_of(&vm, self.cluster()).filter(|mark| !is_copy(&vm, mark));
        let is_claims = |mark: &Mark| claim.uid.is_empty() || marks::is_of(mark, claim);
        match mark.filter(is_claims) {
            Some(mark) => Ok(vec![(vm, mark)]),
            None => Err(CloudError::Invalid(format!(
                "NotOwned: instance {:?} does not carry the mark of NodeClaim {:?} of this cluster, \
                 so it is not removed; look whose it is",
                vm.name, claim.name
            ))),
        }
    }

    /// Has an instance removed, with the data disks that were made with it.
    pub(super) async fn destroy(&self, vm: &VirtualMachine, mark: &Mark) -> Result<(), CloudError> {
        let unanswered = unanswered("removing an instance");
        let claim = &mark.claim;
        if vm.delete_protection {
            return Err(self.protected(vm, claim));
        }
        if let Some(job) = &vm.job {
            let job = self.client.job(job).await.ok();
            if job.is_some_and(|job| job.is_removal() && job.outcome.is_none()) {
                return Ok(());
            }
        }
        let disks = self.client.list::<Volume>(requests::data_disks(&vm.id)).await;
        let disks = disks.map_err(&unanswered)?;
        let is_own = |disk: &&Volume| {
            disk.tags.iter().any(|tag| tag.key == marks::CLAIM && tag.value == claim.name)
        };
        let own: Vec<String> = disks.iter().filter(is_own).map(|disk| disk.id.clone()).collect();
        let expunge = self.may_expunge().await;
        match self.destroyed(&vm.id, expunge, &own).await {
            Err(failed) if expunge && failed.refusal().is_some_and(Refusal::is_expunge_denied) => {
                let now = self.now();
                self.state().may_expunge = Some((now, false));
                let again = self.destroyed(&vm.id, false, &own).await;
                self.judge_removal(vm, claim, again).await
            }
            other => self.judge_removal(vm, claim, other).await,
        }
    }

    async fn destroyed(&self, id: &str, expunge: bool, disks: &[String]) -> Result<(), JobFailed> {
        let command = requests::destroy(id, expunge, disks);
        let submitted = self.client.submit(command).await.map_err(JobFailed::Client)?;
        self.client.wait(&submitted, WAIT).await.map(drop)
    }

    async fn judge_removal(
        &self,
        vm: &VirtualMachine,
        claim: &ClaimId,
        outcome: Result<(), JobFailed>,
    ) -> Result<(), CloudError> {
        let failed = match outcome {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        match &failed {
            JobFailed::Client(error) if is_absent(error) => Ok(()),
            // The next look tells what became of it.
            JobFailed::Deadline(_) | JobFailed::Disappeared(_) => Ok(()),
            _ if failed.refusal().is_some_and(Refusal::is_delete_protected) => {
                Err(self.protected(vm, claim))
            }
            _ => {
                if failed.class() == ErrorClass::ResourceUnavailable {
                    self.force_stop(vm, claim).await;
                }
                Err(CloudError::Unknown(format!("removing instance {:?}: {failed}", vm.name)))
            }
        }
    }

    /// Stops an instance without asking its guest, once it could not be stopped several times.
    async fn force_stop(&self, vm: &VirtualMachine, claim: &ClaimId) {
        let tries = self.state().tries.count(&claim.uid);
        if tries >= TRIES_MAX
            && let Err(why) = self.client.submit(requests::force_stop(&vm.id)).await
        {
            tracing::info!(instance = vm.name, "it is not stopped: {why}");
        }
    }

    /// Tells, once, that an instance is protected.
    fn protected(&self, vm: &VirtualMachine, claim: &ClaimId) -> CloudError {
        let why = format!(
            "instance {:?} is protected from being removed; set its deleteprotection to false",
            vm.name
        );
        if self.state().told.is_new(&told_of(claim), &why) {
            self.notes.write(Note::went_wrong(claim, "DeleteProtected", why.clone()));
        }
        CloudError::Unknown(why)
    }

    /// Whether removed instances are expunged at once. A server that does not say it keeps them.
    async fn may_expunge(&self) -> bool {
        match self.settings.expunge {
            Expunge::Never => return false,
            Expunge::Always => {
                let denied = self.known_right();
                return denied.unwrap_or(true);
            }
            Expunge::Auto => {}
        }
        if let Some(known) = self.known_right() {
            return known;
        }
        let asked = self.client.capabilities().await;
        let Ok(capabilities) = asked else { return false };
        let now = self.now();
        self.state().may_expunge = Some((now, capabilities.may_expunge));
        capabilities.may_expunge
    }

    fn known_right(&self) -> Option<bool> {
        let (at, known) = self.state().may_expunge?;
        (self.now().duration_since(at).unsigned_abs() < RIGHTS_FOR).then_some(known)
    }
}

fn told_of(claim: &ClaimId) -> String {
    format!("claim {}", claim.uid)
}

/// Whether the server says that the instance is gone.
fn is_absent(error: &ClientError) -> bool {
    let says = |refusal: &Refusal| refusal.text.contains("Unable to find a virtual machine");
    is_unknown(error) || error.refusal().is_some_and(says)
}
