//! From an instance that exists to one that runs.

use std::time::Duration;

use joiner_cloud::{
    CloudError,
    attempts::{Refused, TRIES_MAX, UNKNOWN_TRIES_MAX},
    instance::Instance,
};
use joiner_vim::{Fault, Method, TaskFailed, VimError, tags::TagError};

use super::{Inner, LOOK_AGAIN_AFTER, Work};
use crate::{
    faults::{Outcome, Phase, outcome},
    provider::{grouping::NotGrouped, troubles::unanswered},
    tags,
    vm::{Power, Vm},
    vm_settings::AntiAffinity,
};

/// How long switching an instance on, or one step on the way there, may take.
const CHANGE_WITHIN: Duration = Duration::from_mins(5);

impl Inner {
    /// Brings an instance that exists to where it has to be: complete, with its tags on, and running.
    pub(super) async fn finish(&self, work: &Work<'_>, vm: Vm) -> Result<Instance, Refused> {
        self.prepare(work, &vm).await?;
        self.join_others(work, &vm).await?;
        self.put_tags(work, &vm).await?;
        if vm.power != Power::On {
            self.switch_on(work, &vm).await?;
        }
        let read = self.read_instances(std::slice::from_ref(&vm.reference)).await;
        let read = read.map_err(unanswered("looking at the new instance"))?;
        let instance = read.first().and_then(|vm| self.instance(vm)).ok_or_else(|| {
            CloudError::Unknown(format!("virtual machine {:?} cannot be read", work.name))
        })?;
        let mut state = self.state();
        state.forget(&work.order.claim.uid);
        state.invalid_orders.forget(&work.order.class.name);
        drop(state);
        Ok(instance)
    }

    /// Puts an instance that does not run yet among those that rules of its cluster are about: where it
    /// may run is decided when it is switched on.
    async fn join_others(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        let zone = vm.mark.as_ref().map(|mark| mark.zone.as_str()).filter(|zone| !zone.is_empty());
        let Some(place) = work.resolution.place(zone) else { return Ok(()) };
        if vm.power == Power::On {
            return Ok(());
        }
        let cluster = &place.compute.cluster;
        let anti_affinity = work.class.spec.anti_affinity.as_deref();
        if AntiAffinity::read(anti_affinity) == Ok(AntiAffinity::Preferred) {
            self.keep_apart(vm, cluster).await;
        }
        let Some(group) = &place.vm_group else { return Ok(()) };
        match self.set_member(cluster, group, &vm.reference, true).await {
            Ok(()) => Ok(()),
            Err(NotGrouped::NoGroup) => Err(Refused::Stale(format!(
                "{} has no group {group:?} of virtual machines any more",
                place.compute.named.path
            ))),
            Err(NotGrouped::Vim(error)) => {
                Err(unanswered("putting an instance into its group")(error).into())
            }
            Err(NotGrouped::Task(TaskFailed::Fault(fault))) => {
                let judged = outcome(&fault, Phase::Instance);
                Err(self.given_up(work, vm, &fault, judged, "putting into its group").await?)
            }
            Err(NotGrouped::Task(error)) => {
                let what = format!("putting an instance into its group: {error}");
                Err(CloudError::Unknown(what).into())
            }
            Err(NotGrouped::Undone) => Err(CloudError::Create {
                reason: "NotGrouped",
                message: format!(
                    "virtual machine {:?} does not stay in group {group:?} of {}: look who else \
                     changes it",
                    work.name, place.compute.named.path
                ),
            }
            .into()),
        }
    }

    /// Tags an instance. Those that the cloud controller reads when the guest starts have to be there
    /// before it does; others may fail.
    async fn put_tags(&self, work: &Work<'_>, vm: &Vm) -> Result<(), CloudError> {
        let mark = vm.mark.clone().unwrap_or_default();
        let wanted =
            tags::of_instance(&mark, work.class.spec.tags.as_ref(), &self.settings.topology);
        let Err(error) = self.tags.attach(&vm.reference, &wanted).await else { return Ok(()) };
        let what = format!("tagging virtual machine {:?}: {error}", work.name);
        if vm.power != Power::On && wanted.iter().any(|tag| tag.before_boot) {
            if matches!(error, TagError::Refused(_) | TagError::Forbidden(_)) {
                // A retry could only succeed with a new instance without tags.
                self.destroy(vm).await?;
            }
            let tags: Vec<String> =
                wanted.iter().map(|tag| format!("{}={}", tag.category, tag.tag)).collect();
            let message = format!(
                "{what}; it is to carry {}, and is not started before: see whether the categories \
                 are for virtual machines, and whether the account may attach them",
                tags.join(", ")
            );
            return Err(CloudError::Create { reason: "TaggingFailed", message });
        }
        tracing::warn!("{what}");
        Ok(())
    }

    /// Switches an instance on. If another process does the same, a running instance is success.
    async fn switch_on(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        let pass = self.gates.pass("power on", self.settings.limits.power_ons).await;
        let method = Method::PowerOn { host: None };
        self.carry_out(work, vm, method, "switching on").await?;
        drop(pass);
        Ok(())
    }

    /// Has something done with an instance that exists and does not run yet.
    pub(super) async fn carry_out(
        &self,
        work: &Work<'_>,
        vm: &Vm,
        method: Method,
        doing: &str,
    ) -> Result<(), Refused> {
        let since = self.clock.running();
        let (fault, judged) = loop {
            let ended = match self.vim.start(&vm.reference, method.clone()).await {
                Ok(task) => self.vim.wait(&task, CHANGE_WITHIN).await.map(|_| ()),
                Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
                Err(error) => {
                    return Err(unanswered(&format!("{doing} an instance"))(error).into());
                }
            };
            let fault = match ended {
                Ok(()) => return Ok(()),
                Err(TaskFailed::Fault(fault)) => fault,
                Err(other) => {
                    let what = format!("{doing} an instance: {other}");
                    return Err(CloudError::Unknown(what).into());
                }
            };
            let judged = outcome(&fault, Phase::Instance);
            let passed = self.clock.running().saturating_sub(since);
            match judged {
                Outcome::Done => return Ok(()),
                // After a concurrent change, the instance is read again before the next change.
                Outcome::Busy if passed < CHANGE_WITHIN && !fault.is("ConcurrentAccess") => {
                    self.clock.sleep(LOOK_AGAIN_AFTER).await;
                }
                _ => break (fault, judged),
            }
        };
        Err(self.given_up(work, vm, &fault, judged, doing).await?)
    }

    /// The result of an order after a fault about its instance. An instance that can never run is
    /// destroyed.
    async fn given_up(
        &self,
        work: &Work<'_>,
        vm: &Vm,
        fault: &Fault,
        judged: Outcome,
        doing: &str,
    ) -> Result<Refused, CloudError> {
        let refused = self.refused(work, fault, judged, doing);
        let tries = self.state().tries.of(&work.order.claim.uid);
        let is_given_up = match judged {
            Outcome::NotReady | Outcome::Invalid | Outcome::Unlicensed => true,
            Outcome::Stuck => tries >= TRIES_MAX,
            Outcome::Unknown => tries >= UNKNOWN_TRIES_MAX,
            _ => matches!(refused, Refused::NoRoom(_) | Refused::NoSpace(_)),
        };
        if is_given_up {
            // A claim that may be given up must not leave an unfinished instance.
            self.destroy(vm).await?;
        }
        Ok(refused)
    }
}
