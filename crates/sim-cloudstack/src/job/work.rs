//! What jobs do.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    access::Caller,
    commands::Parts,
    estate::{Number, VmState},
    refusal::{Refusal, code},
    world::World,
};

/// What a job does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Deploy {
        start: bool,
    },
    Start,
    Stop,
    Reboot,
    Destroy {
        expunge: bool,
        may_expunge: bool,
        volumes: Vec<Number>,
    },
    Expunge,
    DestroyVolume {
        volume: Number,
        expunge: bool,
    },
    CreateTags {
        kind: String,
        ids: Vec<String>,
        tags: Vec<(String, String)>,
        caller: Caller,
    },
    DeleteTags {
        kind: String,
        ids: Vec<String>,
        tags: Vec<(String, Option<String>)>,
        caller: Caller,
    },
    CreateAffinityGroup(Number),
    DeleteAffinityGroup(Number),
}

impl Work {
    /// The Java class that answers name the command by.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Deploy { .. } => "org.apache.cloudstack.api.command.user.vm.DeployVMCmd",
            Self::Start => "org.apache.cloudstack.api.command.user.vm.StartVMCmd",
            Self::Stop => "org.apache.cloudstack.api.command.user.vm.StopVMCmd",
            Self::Reboot => "org.apache.cloudstack.api.command.user.vm.RebootVMCmd",
            Self::Destroy { .. } => "org.apache.cloudstack.api.command.user.vm.DestroyVMCmd",
            Self::Expunge => "org.apache.cloudstack.api.command.admin.vm.ExpungeVMCmd",
            Self::DestroyVolume { .. } => {
                "org.apache.cloudstack.api.command.user.volume.DestroyVolumeCmd"
            }
            Self::CreateTags { .. } => "org.apache.cloudstack.api.command.user.tag.CreateTagsCmd",
            Self::DeleteTags { .. } => "org.apache.cloudstack.api.command.user.tag.DeleteTagsCmd",
            Self::CreateAffinityGroup(_) => {
                "org.apache.cloudstack.api.command.user.affinitygroup.CreateAffinityGroupCmd"
            }
            Self::DeleteAffinityGroup(_) => {
                "org.apache.cloudstack.api.command.user.affinitygroup.DeleteAffinityGroupCmd"
            }
        }
    }
}

impl World {
    pub(super) fn duration_of(&self, work: &Work) -> Duration {
        let durations = &self.behaviour.durations;
        match work {
            Work::Deploy { start: true } | Work::Start | Work::Reboot => durations.start,
            Work::Stop | Work::Destroy { expunge: false, .. } => durations.stop,
            Work::Destroy { expunge: true, .. } => durations.stop + durations.expunge,
            Work::Expunge => durations.expunge,
            _ => durations.write,
        }
    }

    /// What a job does as soon as it begins.
    pub(super) fn begin_work(&mut self, work: &Work, vm: Option<Number>) -> Result<(), Refusal> {
        let vm = vm.unwrap_or_default();
        match work {
            Work::Deploy { start: true } => self.begin_deployment(vm),
            Work::Start => self.begin_start(vm),
            Work::Destroy { expunge: true, may_expunge: false, .. } => Err(Refusal::plain(
                code::INTERNAL,
                "Account does not have permission for expunging.",
            )),
            Work::Stop | Work::Destroy { .. } => {
                self.begin_stop(vm);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a job does in the end.
    pub(super) fn end_work(
        &mut self,
        work: &Work,
        vm: Option<Number>,
        caller: Caller,
    ) -> Result<Value, Refusal> {
        let number = vm.unwrap_or_default();
        match work {
            Work::Deploy { start } => self.end_deployment(number, *start)?,
            Work::Start => self.end_start(number)?,
            Work::Stop => self.end_stop(number),
            Work::Reboot => {
                self.tell_stopped(number);
                self.tell_started(number);
            }
            Work::Destroy { expunge, volumes, .. } => {
                // The answer shows the VM as it was last.
                return Ok(self.end_destruction(number, *expunge, volumes, caller));
            }
            Work::Expunge => {
                self.expunge(number);
                return Ok(json!({ "success": true }));
            }
            Work::DestroyVolume { volume, expunge } => {
                return Ok(self.end_volume(*volume, *expunge));
            }
            Work::CreateTags { kind, ids, tags, caller } => {
                return self.put_tags(kind, ids, tags, *caller);
            }
            Work::DeleteTags { kind, ids, tags, caller } => {
                return self.take_tags(kind, ids, tags, *caller);
            }
            Work::CreateAffinityGroup(group) => {
                let group = &self.estate.affinity_groups[group];
                return Ok(json!({ "affinitygroup": self.affinity_group_row(group, &[]) }));
            }
            Work::DeleteAffinityGroup(group) => return self.remove_affinity_group(*group),
        }
        let vm = &self.estate.vms[&number];
        Ok(json!({ "virtualmachine": self.vm_row(number, vm, Parts::ALL, caller) }))
    }

    /// What is left when a job does not come to its end. A deployment that fails leaves a VM in
    /// `Error`; after a restart of the server the VM is off.
    pub(super) fn abandon_work(&mut self, work: &Work, vm: Option<Number>, failed: bool) {
        let Some(number) = vm else { return };
        match work {
            Work::Deploy { .. } if failed => self.fail_vm(number),
            Work::Deploy { .. } | Work::Start => self.turn_off(number),
            Work::Stop | Work::Destroy { .. } => {
                if let Some(vm) = self.estate.vms.get_mut(&number)
                    && vm.state == VmState::Stopping
                {
                    vm.state = VmState::Running;
                }
            }
            _ => {}
        }
    }

    fn end_volume(&mut self, volume: Number, expunge: bool) -> Value {
        if expunge {
            self.remove_volume(volume);
            return json!({ "success": true });
        }
        self.destroy_volume_later(volume);
        match self.estate.volumes.get(&volume) {
            Some(found) => json!({ "volume": self.volume_row(volume, found) }),
            None => json!({ "success": true }),
        }
    }

    /// All tags or none.
    fn put_tags(
        &mut self,
        kind: &str,
        ids: &[String],
        tags: &[(String, String)],
        caller: Caller,
    ) -> Result<Value, Refusal> {
        let (kind, objects) = self.tagged_objects(kind, ids, caller)?;
        for (key, value) in tags {
            if key.is_empty() || value.is_empty() {
                let text = format!("Value for the key {key} is either null or empty");
                return Err(Refusal::value(text));
            }
            for (number, id) in &objects {
                if self.estate.tags.get(kind.kind, *number, key).is_some() {
                    let text = format!("tag {key} already on {} with id {id}", kind.name);
                    return Err(Refusal::plain(code::INTERNAL, text));
                }
            }
        }
        for (number, _) in &objects {
            for (key, value) in tags {
                self.estate.tags.put(kind.kind, *number, key, value);
            }
        }
        Ok(json!({ "success": true }))
    }

    /// Takes tags away; all of the objects' tags if none are named.
    fn take_tags(
        &mut self,
        kind: &str,
        ids: &[String],
        tags: &[(String, Option<String>)],
        caller: Caller,
    ) -> Result<Value, Refusal> {
        let (kind, objects) = self.tagged_objects(kind, ids, caller)?;
        for (number, _) in objects {
            if tags.is_empty() {
                self.estate.tags.forget(kind.kind, number);
            }
            for (key, value) in tags {
                let known = self.estate.tags.get(kind.kind, number, key);
                if known.is_some() && value.as_deref().is_none_or(|value| known == Some(value)) {
                    self.estate.tags.remove(kind.kind, number, key);
                }
            }
        }
        Ok(json!({ "success": true }))
    }

    fn remove_affinity_group(&mut self, group: Number) -> Result<Value, Refusal> {
        if self.estate.vms.values().any(|vm| vm.affinity_groups.contains(&group)) {
            let text = "Cannot delete affinity group when VMs are using it";
            return Err(Refusal::in_use(text));
        }
        self.estate.affinity_groups.remove(&group);
        Ok(json!({ "success": true }))
    }
}
