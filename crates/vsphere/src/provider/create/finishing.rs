//! From a machine that exists to one that runs.

use std::time::Duration;

use joiner_cloud::{CloudError, machine::Machine};
use joiner_vim::{Method, TaskFailed, VimError};

use super::{Inner, LOOK_AGAIN_AFTER, Refused, Work, refusals::TRIES_MAX};
use crate::{
    faults::{Outcome, Phase, outcome},
    provider::troubles::unanswered,
    tags,
    vm::{Power, Vm},
};

/// How long switching a machine on may take.
const POWER_ON_WITHIN: Duration = Duration::from_mins(5);
impl Inner {
    /// Brings a machine that exists to where it has to be: with its tags on, and running.
    pub(super) async fn finish(&self, work: &Work<'_>, vm: Vm) -> Result<Machine, Refused> {
        self.put_tags(work, &vm).await?;
        if vm.power != Power::On {
            self.switch_on(work, &vm).await?;
        }
        let read = self.read_machines(std::slice::from_ref(&vm.reference)).await;
        let read = read.map_err(unanswered("looking at the new machine"))?;
        let machine = read.first().and_then(|vm| self.machine(vm)).ok_or_else(|| {
            CloudError::Unknown(format!("virtual machine {:?} cannot be read", work.name))
        })?;
        let mut state = self.state();
        state.forget(&work.order.claim.uid);
        state.invalid_orders.remove(&work.order.class.name);
        drop(state);
        Ok(machine)
    }

    /// Tags a machine. Those that the cloud controller reads when the guest starts have to be there
    /// before it does; others may fail.
    async fn put_tags(&self, work: &Work<'_>, vm: &Vm) -> Result<(), CloudError> {
        let mark = vm.mark.clone().unwrap_or_default();
        let wanted =
            tags::of_machine(&mark, work.class.spec.tags.as_ref(), &self.settings.topology);
        let Err(error) = self.tags.attach(&vm.reference, &wanted).await else { return Ok(()) };
        let what = format!("tagging virtual machine {:?}: {error}", work.name);
        if vm.power != Power::On && wanted.iter().any(|tag| tag.before_boot) {
            return Err(CloudError::Create { reason: "TaggingFailed", message: what });
        }
        tracing::warn!("{what}");
        Ok(())
    }

    /// Switches a machine on. Somebody may be doing the same: then it is enough that it runs.
    async fn switch_on(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        let pass = self.gates.pass("power on", self.settings.limits.power_ons).await;
        let since = self.clock.running();
        let (fault, judged) = loop {
            let ended = match self.vim.start(&vm.reference, Method::PowerOn { host: None }).await {
                Ok(task) => self.vim.wait(&task, POWER_ON_WITHIN).await.map(|_| ()),
                Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
                Err(error) => return Err(unanswered("switching a machine on")(error).into()),
            };
            let fault = match ended {
                Ok(()) => return Ok(()),
                Err(TaskFailed::Fault(fault)) => fault,
                Err(other) => {
                    let what = format!("switching a machine on: {other}");
                    return Err(CloudError::Unknown(what).into());
                }
            };
            let judged = outcome(&fault, Phase::Machine);
            let passed = self.clock.running().saturating_sub(since);
            match judged {
                Outcome::Done => return Ok(()),
                Outcome::Busy if passed < POWER_ON_WITHIN => {
                    self.clock.sleep(LOOK_AGAIN_AFTER).await;
                }
                _ => break (fault, judged),
            }
        };
        drop(pass);
        let refused = self.refused(work, &fault, judged, "switching on");
        let tries = self.state().tries.get(&work.order.claim.uid).copied().unwrap_or_default();
        let is_given_up = match judged {
            Outcome::NotReady | Outcome::Invalid | Outcome::Unlicensed => true,
            Outcome::Stuck => tries >= TRIES_MAX,
            _ => matches!(refused, Refused::NoRoom(_) | Refused::NoSpace(_)),
        };
        if is_given_up {
            // Nothing half made may be left for a claim that may be given up.
            self.destroy(vm).await?;
        }
        Err(refused)
    }
}
