//! Membership of instances in groups of a cluster.
//!
//! A group can only be written with all of its members, so changes run one after the other.

use std::time::Duration;

use joiner_vim::{Method, MoRef, TaskFailed, VimError};

use super::Inner;
use crate::{
    groups::{GROUPS, changed, members},
    places::Place,
    vm::Vm,
};

/// How often a change is repeated after a concurrent change.
const TRIES: usize = 3;
/// How long telling it may take.
const WITHIN: Duration = Duration::from_mins(2);

/// Why an instance is not in its group, or still there.
pub(super) enum NotGrouped {
    /// There is no such group any more.
    NoGroup,
    /// vCenter did not say.
    Vim(VimError),
    /// vCenter did not do it.
    Task(TaskFailed),
    /// Other programs keep overwriting the group.
    Undone,
}

impl Inner {
    /// Puts an instance into a group of a cluster, or takes it out.
    pub(super) async fn set_member(
        &self,
        cluster: &MoRef,
        group: &str,
        vm: &MoRef,
        is_member: bool,
    ) -> Result<(), NotGrouped> {
        let _turn = self.gates.pass(&format!("groups of {cluster}"), 1).await;
        for _ in 0..TRIES {
            let read = self.vim.read(std::slice::from_ref(cluster), &[GROUPS]).await;
            let read = read.map_err(NotGrouped::Vim)?;
            let groups = read.first().and_then(|own| own.value(GROUPS));
            let known = members(groups, group).ok_or(NotGrouped::NoGroup)?;
            let Some(members) = changed(&known, vm, is_member) else { return Ok(()) };
            let method = Method::SetGroup { name: group.to_owned(), members };
            let task = match self.vim.start(cluster, method).await {
                Ok(task) => task,
                Err(VimError::Fault(fault)) => {
                    return Err(NotGrouped::Task(TaskFailed::Fault(fault)));
                }
                Err(error) => return Err(NotGrouped::Vim(error)),
            };
            self.vim.wait(&task, WITHIN).await.map_err(NotGrouped::Task)?;
        }
        Err(NotGrouped::Undone)
    }

    /// Takes an instance that is about to go out of its group. vCenter removes destroyed instances
    /// from groups itself, so success is not required.
    pub(super) async fn leave_group(&self, vm: &Vm) {
        let Some(place) = self.place_of(vm) else { return };
        let Some(group) = &place.vm_group else { return };
        let cluster = &place.compute.cluster;
        if self.set_member(cluster, group, &vm.reference, false).await.is_err() {
            tracing::info!(instance = vm.name, group, "an instance is left in its group");
        }
    }

    /// Where the class of an instance puts it, as far as this process knows.
    fn place_of(&self, vm: &Vm) -> Option<Place> {
        let mark = vm.mark.as_ref()?;
        let state = self.state();
        let resolution = state.resolutions.named(&mark.class)?;
        let zone = Some(mark.zone.as_str()).filter(|zone| !zone.is_empty());
        resolution.place(zone).cloned()
    }
}
