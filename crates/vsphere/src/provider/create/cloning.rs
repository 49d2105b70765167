//! Cloning, and conflicts over the name.

use joiner_cloud::{
    CloudError, attempts::Refused, deadline::reporting_progress, limiter::Ending, notes::Note,
    order::ClaimId,
};
use joiner_vim::{Method, MoRef, Task, TaskFailed, TaskState, VimError, spec::ExtraConfig};

use super::{Inner, LOOK_AGAIN_AFTER, Work};
use crate::{
    clone_spec::Copying,
    faults::{Outcome, Phase, outcome},
    marks,
    provider::{look::Found, troubles::unanswered},
    vm::{Stray, Vm},
};

/// A clone that can be given up when its claim is.
struct CloneUnderWay<'p> {
    inner: &'p Inner,
    uid: String,
}

impl Drop for CloneUnderWay<'_> {
    fn drop(&mut self) {
        self.inner.state().clones.remove(&self.uid);
    }
}

/// What is said of a task; nothing while nothing is known of it.
fn progress(what: &str, state: TaskState) -> Option<String> {
    match state {
        TaskState::Queued => Some(format!("{what} waits for its turn in vCenter")),
        TaskState::Running { progress: Some(percent) } => Some(format!("{what}: {percent} %")),
        TaskState::Running { progress: None } => Some(format!("{what} is under way")),
        TaskState::Unknown | TaskState::Success | TaskState::Error => None,
    }
}

impl Inner {
    /// Has the template cloned and answers the clone.
    pub(super) async fn cloned(
        &self,
        work: &Work<'_>,
        copying: &Copying,
        clone: Method,
    ) -> Result<Vm, Refused> {
        let (image, claim) = (&work.resolution.image, &work.order.claim);
        let host = image.details.host.as_ref().unwrap_or(&image.named.reference);
        let limits = &self.settings.limits;
        let (kind, limit) = match copying {
            Copying::Full => ("full clones", limits.full_clones),
            Copying::Linked(_) => ("linked clones", limits.linked_clones),
        };
        let since = self.clock.running();
        let pass = {
            let _waits = self.metrics.clone_waits(&image.named.path);
            let waiting = format!("waits until other clones of {} are done", image.named.path);
            let gate = format!("{kind} of {host}");
            let turn = self.gates.pass(&gate, limit);
            reporting_progress(&self.clock, &self.notes, claim, || Some(waiting.clone()), turn)
                .await
        };
        // Another process may have been faster during the wait.
        if self.clock.running() > since
            && let Found::Own(vm) = self.find_own(work).await?
        {
            return Ok(*vm);
        }
        let ended = match self.vim.start(&image.named.reference, clone).await {
            Ok(task) => {
                let what = format!("cloning {} to {:?}", image.named.path, work.name);
                self.notes.write(Note::happened(claim, "CloneStarted", &what));
                let _under_way = self.clone_under_way(claim, &task);
                let ended = self.vim.wait(&task, self.settings.launch_timeout);
                let progress = || progress(&what, task.state());
                let ended = reporting_progress(&self.clock, &self.notes, claim, progress, ended);
                ended.await.map(|done| done.object())
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
            (Ok(_), _) => Ending::Fine,
            (_, Some(Outcome::Throttled)) => Ending::TooMuch,
            _ => Ending::Failed,
        });
        match (ended, judged) {
            (Ok(Some(made)), _) => self.identified(work, &made).await,
            (Ok(None) | Err(TaskFailed::Disappeared), _) => self.own_or_unknown(work).await,
            (Err(TaskFailed::Fault(_)), Some(Outcome::NameTaken)) => self.wait_for_name(work).await,
            (Err(TaskFailed::Fault(fault)), Some(judged)) => {
                Err(self.refused(work, &fault, judged, "cloning"))
            }
            (Err(TaskFailed::Deadline(state)), _) => {
                let message = format!(
                    "cloning {} for NodeClaim {} is not done after {:?} ({state:?}); it goes on, \
                     and the instance is used once it is there",
                    image.named.path, claim.name, self.settings.launch_timeout
                );
                self.notes.write(Note::went_wrong(claim, "CloneFailed", &message));
                Err(CloudError::Create { reason: "CloneTimeout", message }.into())
            }
            (Err(other), _) => {
                Err(CloudError::Unknown(format!("waiting for a clone: {other}")).into())
            }
        }
    }

    /// Remembers a clone until the returned guard is dropped.
    fn clone_under_way(&self, claim: &ClaimId, task: &Task) -> CloneUnderWay<'_> {
        self.state().clones.insert(claim.uid.clone(), task.clone());
        CloneUnderWay { inner: self, uid: claim.uid.clone() }
    }

    /// The instance that our own clone has made. vCenter knows it by something else than the claim's
    /// identity where another virtual machine has that. Nothing but the answer to the clone tells it
    /// from a copy then, so what vCenter knows it by is written down at once.
    async fn identified(&self, work: &Work<'_>, made: &MoRef) -> Result<Vm, Refused> {
        let read = self.read_instances(std::slice::from_ref(made)).await;
        let read = read.map_err(unanswered("looking at what was cloned"))?;
        let Some(vm) = read.into_iter().next() else { return self.own_or_unknown(work).await };
        let is_copy = vm.stray() == Some(Stray::Copy);
        let Some(uuid) = vm.instance_uuid.clone().filter(|_| is_copy) else { return Ok(vm) };
        tracing::warn!(
            instance = vm.name,
            "another virtual machine has the instance UUID {}, so this one has {uuid}",
            work.order.claim.uid
        );
        let what = format!("writing down what vCenter knows virtual machine {:?} by", vm.name);
        self.write_settings(&vm, vec![ExtraConfig::new(marks::instance_uuid(), uuid)], &what)
            .await?;
        self.own_or_unknown(work).await
    }

    /// The claim's instance, which has to be there.
    async fn own_or_unknown(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        match self.find_own(work).await? {
            Found::Own(vm) => Ok(*vm),
            Found::Foreign(vm) => Err(self.name_taken(work, &vm).into()),
            Found::Nothing => Err(CloudError::Unknown(format!(
                "virtual machine {:?} was cloned and is not found",
                work.name
            ))
            .into()),
        }
    }

    /// Waits until the owner of the name is known: an earlier attempt of any of our processes, or a
    /// foreign instance.
    async fn wait_for_name(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        let since = self.clock.running();
        loop {
            match self.find_own(work).await? {
                Found::Own(vm) => return Ok(*vm),
                // An instance that is still being cloned has no configuration yet.
                Found::Foreign(vm) if vm.uuid.is_some() => {
                    return Err(self.name_taken(work, &vm).into());
                }
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
