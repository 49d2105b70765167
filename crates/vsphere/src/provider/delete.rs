//! Removing an instance.

use std::time::Duration;

use joiner_cloud::{
    CloudError, Deletion, limiter::Ending, mark::Mark, notes::Note, order::ClaimId,
};
use joiner_vim::{
    Method, MoRef, TaskFailed, VimError,
    spec::{ConfigSpec, Device, DeviceChange, DeviceKind},
};

use super::{
    Inner,
    look::Found,
    troubles::{is_gone, task_is_gone, unanswered},
};
use crate::{
    clone_spec::disks_to_detach,
    faults::{Outcome, Phase, outcome},
    inventory::{Disk, disks},
    vm::{Power, Vm},
    vm_settings::PowerOff,
};

/// How long switching an instance off, or taking a disk off it, may take.
pub(super) const CHANGE_WITHIN: Duration = Duration::from_mins(2);
/// How long a worker waits for an instance to be destroyed; it is asked for again otherwise.
const DESTROY_WITHIN: Duration = Duration::from_mins(1);

/// vCenter's task manager. Its reference is the same in every vCenter.
const TASK_MANAGER: (&str, &str) = ("TaskManager", "TaskManager");

/// How far an instance has come on its way out.
enum Going {
    /// It is not there any more.
    Gone,
    /// It is on its way.
    UnderWay,
}

impl Inner {
    pub(super) async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let trouble = unanswered("looking for the instance to remove");
        self.cluster_uid()?;
        let vm = match provider_id {
            Some(id) => {
                let found = self.with_id(id).await.map_err(&trouble)?;
                self.meant(claim, found).await?
            }
            None => {
                let folders = self.folders().await.map_err(&trouble)?;
                match self.find(claim, &folders).await.map_err(&trouble)? {
                    Found::Own(vm) => Some(*vm),
                    // The instance belongs to another owner.
                    Found::Foreign(_) | Found::Nothing => {
                        return self.without_instance(claim).await;
                    }
                }
            }
        };
        let Some(vm) = vm else {
            self.own_folders().await?;
            self.state().forget(&claim.uid);
            return Ok(Deletion::Gone);
        };
        refuse_copies(&vm, claim)?;
        match self.remove(&vm).await? {
            Going::UnderWay => Ok(Deletion::Requested),
            Going::Gone => {
                self.state().forget(&claim.uid);
                Ok(Deletion::Gone)
            }
        }
    }

    /// The instance that is meant, of those that have the provider id. One that is not this claim's
    /// is never touched.
    async fn meant(&self, claim: &ClaimId, found: Vec<Vm>) -> Result<Option<Vm>, CloudError> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for vm in found {
            // The instance that it was is gone.
            if self.is_stray(&vm) {
                continue;
            }
            if !self.is_ours(&vm).await? {
                others.push(format!("{:?} does not carry this cluster's mark", vm.name));
                continue;
            }
            let owner = vm.mark.as_ref().and_then(Mark::claim);
            match owner {
                Some(owner) if owner.uid != claim.uid => {
                    others.push(format!("{:?} was made for NodeClaim {}", vm.name, owner.name));
                }
                // Without a claim nothing says which cluster of the name it is of.
                _ if claim.uid.is_empty() && vm.is_unproven() => {
                    others.push(format!("{:?} does not say which cluster it is of", vm.name));
                }
                _ => own.push(vm),
            }
        }
        if own.len() > 1 {
            // One of them is a copy, and the original is unknown.
            others.extend(own.drain(..).map(|vm| format!("{:?} is one of several", vm.name)));
        }
        if others.is_empty() || !own.is_empty() {
            return Ok(own.pop());
        }
        let why = format!(
            "NodeClaim {} has the provider id of a virtual machine that is not its own ({}), which \
             is left alone; remove the NodeClaim's finalizer if nothing else of it is left",
            claim.name,
            others.join("; ")
        );
        self.notes.write(Note::went_wrong(claim, "NotOwned", &why));
        Err(CloudError::Invalid(format!("NotOwned: {why}")))
    }

    /// A claim that has no instance may have one on its way.
    async fn without_instance(&self, claim: &ClaimId) -> Result<Deletion, CloudError> {
        let task = self.state().clones.get(&claim.uid).cloned();
        if let Some(task) = task {
            // One that cannot be given up is waited for and then removed.
            if let Err(error) = self.vim.cancel(&task).await {
                tracing::debug!("a clone cannot be given up: {error}");
            }
            return Ok(Deletion::Requested);
        }
        let now = self.now();
        let since = *self.state().deletions.entry(claim.uid.clone()).or_insert(now);
        if self.clones_run(since).await? {
            return Ok(Deletion::Requested);
        }
        // A clone that ended between the two looks has left its instance.
        let trouble = unanswered("looking for the instance to remove");
        let folders = self.folders().await.map_err(&trouble)?;
        if let Found::Own(_) = self.find(claim, &folders).await.map_err(&trouble)? {
            return Ok(Deletion::Requested);
        }
        self.own_folders().await?;
        self.state().forget(&claim.uid);
        Ok(Deletion::Gone)
    }

    /// Whether a clone of any process that began before this time is in progress. Its instance may be
    /// the one to remove, and cannot be found yet.
    async fn clones_run(&self, before: jiff::Timestamp) -> Result<bool, CloudError> {
        let trouble = unanswered("looking for clones under way");
        let manager = MoRef::new(TASK_MANAGER.0, TASK_MANAGER.1);
        let recent = self.vim.read(&[manager], &["recentTask"]).await.map_err(&trouble)?;
        let recent: Vec<MoRef> =
            recent.first().map(|own| own.references("recentTask")).unwrap_or_default();
        for task in recent {
            let paths = ["info.descriptionId", "info.state", "info.queueTime"];
            let read = match self.vim.read(std::slice::from_ref(&task), &paths).await {
                Ok(read) => read,
                // It ended some time ago.
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(trouble(error)),
            };
            let Some(info) = read.first() else { continue };
            let is_clone = info.text("info.descriptionId") == Some("VirtualMachine.clone");
            let runs = matches!(info.text("info.state"), Some("queued" | "running"));
            let queued: Option<jiff::Timestamp> = info.parse("info.queueTime");
            if is_clone && runs && queued.is_none_or(|queued| queued <= before) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Switches an instance off, takes off what is not its own, and has it destroyed.
    async fn remove(&self, vm: &Vm) -> Result<Going, CloudError> {
        if vm.power != Power::Off
            && let Going::UnderWay = self.switch_off(vm).await?
        {
            return Ok(Going::UnderWay);
        }
        self.destroy_switched_off(vm).await
    }

    /// Removes an instance that has just been made.
    pub(super) async fn destroy(&self, vm: &Vm) -> Result<(), CloudError> {
        refuse_copies(vm, &vm.mark.as_ref().map(|mark| mark.claim.clone()).unwrap_or_default())?;
        match self.destroy_switched_off(vm).await? {
            Going::Gone => Ok(()),
            Going::UnderWay => Err(CloudError::Unknown(format!(
                "virtual machine {:?} is being removed, because there is no room for it",
                vm.name
            ))),
        }
    }

    /// Switches an instance off; says that it is under way while its guest shuts down.
    async fn switch_off(&self, vm: &Vm) -> Result<Going, CloudError> {
        if vm.power == Power::On && self.may_shut_down(vm).await? {
            return Ok(Going::UnderWay);
        }
        match self.change(vm, Method::PowerOff, "switching an instance off").await? {
            Change::Done | Change::NotThere => Ok(Going::Gone),
            Change::Later => Ok(Going::UnderWay),
        }
    }

    /// Whether the guest is shutting down, and may go on with it.
    async fn may_shut_down(&self, vm: &Vm) -> Result<bool, CloudError> {
        let class = vm.mark.as_ref().map(|mark| mark.class.clone()).unwrap_or_default();
        let mode = self.state().classes.get(&class).map(|own| own.power_off).unwrap_or_default();
        let PowerOff::Soft(patience) = mode else { return Ok(false) };
        let now = self.now();
        let asked = self.state().shutdowns.get(&vm.reference).copied();
        if let Some(asked) = asked {
            return Ok(now.duration_since(asked).unsigned_abs() < patience);
        }
        let paths = ["guest.toolsRunningStatus", "guest.guestStateChangeSupported"];
        let read = self.vim.read(std::slice::from_ref(&vm.reference), &paths).await;
        let read = read.map_err(unanswered("asking whether a guest can shut down"))?;
        let can = read.first().is_some_and(|guest| {
            guest.text("guest.toolsRunningStatus") == Some("guestToolsRunning")
                && guest.parse("guest.guestStateChangeSupported") != Some(false)
        });
        if !can {
            return Ok(false);
        }
        match self.vim.shutdown_guest(&vm.reference).await {
            Ok(()) => {
                self.state().shutdowns.insert(vm.reference.clone(), now);
                Ok(true)
            }
            Err(VimError::Fault(fault)) => {
                tracing::debug!("a guest cannot be asked to shut down: {fault}");
                Ok(false)
            }
            Err(error) => Err(unanswered("asking a guest to shut down")(error)),
        }
    }

    async fn destroy_switched_off(&self, vm: &Vm) -> Result<Going, CloudError> {
        if let Change::Later = self.take_off_disks(vm).await? {
            return Ok(Going::UnderWay);
        }
        self.leave_group(vm).await;
        self.leave_module(vm).await;
        let pass = self.gates.pass("destroy", self.settings.limits.destroys).await;
        let going = match self.vim.start(&vm.reference, Method::Destroy).await {
            Ok(task) => {
                self.state().destroyed.insert(vm.reference.clone());
                match self.vim.wait(&task, DESTROY_WITHIN).await {
                    Ok(_) => Going::Gone,
                    Err(error) if task_is_gone(&error) => Going::Gone,
                    Err(error) => {
                        tracing::info!(
                            instance = vm.name,
                            "an instance is not removed yet: {error}"
                        );
                        Going::UnderWay
                    }
                }
            }
            Err(VimError::Fault(fault)) => match outcome(&fault, Phase::Destroy) {
                Outcome::Gone => Going::Gone,
                // Another task is changing it, perhaps an earlier attempt to destroy it.
                Outcome::Busy | Outcome::Throttled => Going::UnderWay,
                _ => {
                    let what = format!("destroying virtual machine {:?}: {fault}", vm.name);
                    return Err(CloudError::Unknown(what));
                }
            },
            Err(error) => return Err(unanswered("destroying an instance")(error)),
        };
        pass.end(Ending::Fine);
        let mut state = self.state();
        state.destroyed.remove(&vm.reference);
        if let Going::Gone = going {
            state.shutdowns.remove(&vm.reference);
            state.known.remove(&vm.reference);
        }
        Ok(going)
    }

    /// Detaches volumes and other foreign disks: destroying an instance destroys every attached disk.
    async fn take_off_disks(&self, vm: &Vm) -> Result<Change, CloudError> {
        let paths = ["config.hardware.device", "config.files.vmPathName"];
        let read = match self.vim.read(std::slice::from_ref(&vm.reference), &paths).await {
            Ok(read) => read,
            Err(error) if is_gone(&error) => return Ok(Change::NotThere),
            Err(error) => return Err(unanswered("looking at an instance's disks")(error)),
        };
        let Some(object) = read.first() else { return Ok(Change::NotThere) };
        let attached: Vec<Disk> =
            object.value("config.hardware.device").map(disks).unwrap_or_default();
        let file = object.text("config.files.vmPathName").unwrap_or_default();
        let foreign = disks_to_detach(&attached, file);
        if foreign.is_empty() {
            return Ok(Change::Done);
        }
        let names: Vec<&str> = foreign.iter().map(|disk| disk.file_name.as_str()).collect();
        tracing::info!(instance = vm.name, disks = ?names, "taking disks off that are not the instance's own");
        let changes = foreign.iter().map(|disk| {
            // Without a word about its file, which stays.
            DeviceChange::remove(Device {
                backing: disk.backing.clone(),
                controller_key: disk.controller_key,
                unit_number: disk.unit_number,
                ..Device::new(disk.key, DeviceKind::Disk { capacity_in_bytes: disk.bytes })
            })
        });
        let spec = ConfigSpec { device_changes: changes.collect(), ..ConfigSpec::default() };
        self.change(vm, Method::Reconfigure(Box::new(spec)), "taking disks off an instance").await
    }

    /// Changes an instance on its way out.
    async fn change(&self, vm: &Vm, method: Method, what: &str) -> Result<Change, CloudError> {
        let fault = match self.vim.start(&vm.reference, method).await {
            Ok(task) => match self.vim.wait(&task, CHANGE_WITHIN).await {
                Ok(_) => return Ok(Change::Done),
                Err(TaskFailed::Fault(fault)) => fault,
                Err(error) => return Err(CloudError::Unknown(format!("{what}: {error}"))),
            },
            Err(VimError::Fault(fault)) => fault,
            Err(error) => return Err(unanswered(what)(error)),
        };
        match outcome(&fault, Phase::Destroy) {
            Outcome::Done => Ok(Change::Done),
            Outcome::Gone => Ok(Change::NotThere),
            Outcome::Busy | Outcome::Throttled | Outcome::Canceled => Ok(Change::Later),
            _ => Err(CloudError::Unknown(format!("{what} ({:?}): {fault}", vm.name))),
        }
    }
}

/// Refuses to remove what may be a copy of a claim's instance.
fn refuse_copies(vm: &Vm, claim: &ClaimId) -> Result<(), CloudError> {
    if vm.may_go_for(claim) {
        return Ok(());
    }
    Err(CloudError::Unknown(format!(
        "virtual machine {:?} may be a copy of the instance of NodeClaim {}, since its instance UUID \
         or the one in its mark is not known: it is not removed; if it is the instance, write its \
         instance UUID into its setting joiner.instance-uuid",
        vm.name, claim.name
    )))
}

/// What came of a change to an instance on its way out.
enum Change {
    Done,
    NotThere,
    Later,
}
