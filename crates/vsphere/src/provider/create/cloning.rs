//! The clone, and who has its name.

use joiner_cloud::CloudError;
use joiner_vim::{Method, TaskFailed, VimError};

use super::{Inner, LOOK_AGAIN_AFTER, Refused, Work, refusals::name_taken};
use crate::{
    clone_spec::Copying,
    faults::{Outcome, Phase, outcome},
    limiter::Ending,
    provider::{look::Found, troubles::unanswered},
    vm::Vm,
};

impl Inner {
    /// Has the template cloned and answers the clone.
    pub(super) async fn cloned(
        &self,
        work: &Work<'_>,
        copying: &Copying,
        clone: Method,
    ) -> Result<Vm, Refused> {
        let image = &work.resolution.image;
        let host = image.details.host.as_ref().unwrap_or(&image.named.reference);
        let limits = &self.settings.limits;
        let (kind, limit) = match copying {
            Copying::Full => ("full clones", limits.full_clones),
            Copying::Linked(_) => ("linked clones", limits.linked_clones),
        };
        let since = self.clock.running();
        let pass = self.gates.pass(&format!("{kind} of {host}"), limit).await;
        // Somebody may have been quicker while this one waited.
        if self.clock.running() > since
            && let Found::Own(vm) = self.find_own(work).await?
        {
            return Ok(*vm);
        }
        let uid = work.order.claim.uid.clone();
        let ended = match self.vim.start(&image.named.reference, clone).await {
            Ok(task) => {
                self.state().clones.insert(uid.clone(), task.clone());
                let ended = self.vim.wait(&task, self.settings.launch_timeout).await;
                self.state().clones.remove(&uid);
                ended.map(|_| ())
            }
            Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
            Err(error) => {
                return Err(unanswered("asking for a clone")(error).into());
            }
        };
        let judged = match &ended {
            Err(TaskFailed::Fault(fault)) => Some(outcome(fault, Phase::Clone)),
            _ => None,
        };
        pass.end(match (&ended, judged) {
            (Ok(()), _) => Ending::Fine,
            (_, Some(Outcome::Throttled)) => Ending::TooMuch,
            _ => Ending::Failed,
        });
        match (ended, judged) {
            (Ok(()) | Err(TaskFailed::Disappeared), _) => self.own_or_unknown(work).await,
            (Err(TaskFailed::Fault(_)), Some(Outcome::NameTaken)) => self.wait_for_name(work).await,
            (Err(TaskFailed::Fault(fault)), Some(judged)) => {
                Err(self.refused(work, &fault, judged, "cloning"))
            }
            (Err(TaskFailed::Deadline(state)), _) => Err(CloudError::Create {
                reason: "CloneTimeout",
                message: format!(
                    "cloning {} for NodeClaim {} is not done after {:?} ({state:?}); it goes on, \
                     and the machine is used once it is there",
                    image.named.path, work.order.claim.name, self.settings.launch_timeout
                ),
            }
            .into()),
            (Err(other), _) => {
                Err(CloudError::Unknown(format!("waiting for a clone: {other}")).into())
            }
        }
    }

    /// The claim's machine, which has to be there.
    async fn own_or_unknown(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        match self.find_own(work).await? {
            Found::Own(vm) => Ok(*vm),
            Found::Foreign(vm) => Err(name_taken(work, &vm).into()),
            Found::Nothing => Err(CloudError::Unknown(format!(
                "virtual machine {:?} was cloned and is not found",
                work.name
            ))
            .into()),
        }
    }

    /// Waits until it is known who has the name: an earlier attempt of this or of another process,
    /// or somebody else.
    async fn wait_for_name(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        let since = self.clock.running();
        loop {
            match self.find_own(work).await? {
                Found::Own(vm) => return Ok(*vm),
                // A machine that is still being cloned has no configuration yet.
                Found::Foreign(vm) if vm.uuid.is_some() => return Err(name_taken(work, &vm).into()),
                Found::Foreign(_) | Found::Nothing => {}
            }
            if self.clock.running().saturating_sub(since) > self.settings.launch_timeout {
                return Err(CloudError::Create {
                    reason: "CloneTimeout",
                    message: format!(
                        "somebody is making virtual machine {:?}, and it is not there after {:?}",
                        work.name, self.settings.launch_timeout
                    ),
                }
                .into());
            }
            self.clock.sleep(LOOK_AGAIN_AFTER).await;
        }
    }
}
