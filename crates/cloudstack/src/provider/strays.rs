//! Instances that are not as they should be, and that people have to look at.

use std::time::Duration;

use joiner_cloud::{mark::Mark, notes::Note};

use super::Inner;
use crate::{client::objects::VirtualMachine, marks, vm::Life};

/// What is told about them is told under this name.
const SUSPECTS: &str = "suspects";
/// How many of them are named.
const NAMED_MAX: usize = 10;

/// For how long an instance may be off before its claim is told.
const OFF_FOR: Duration = Duration::from_mins(10);

impl Inner {
    /// Tells the claims of instances that people have stopped, once for each stop.
    pub(super) fn tell_stopped(&self, found: &[(VirtualMachine, Mark)]) {
        let now = self.now();
        let off = found.iter().filter(|(vm, _)| Life::of(vm) == Life::Off);
        let off: Vec<&(VirtualMachine, Mark)> = off.collect();
        let mut state = self.state();
        state.off.retain(|id, _| off.iter().any(|(vm, _)| vm.id == *id));
        for (vm, mark) in off {
            let own = state.off.entry(vm.id.clone()).or_insert((now, false));
            let is_due = now.duration_since(own.0).unsigned_abs() >= OFF_FOR;
            if is_due && !std::mem::replace(&mut own.1, true) {
                let why = format!(
                    "instance {:?} was stopped; start it, or delete the NodeClaim to have it \
                     replaced",
                    vm.name
                );
                self.notes.write(Note::went_wrong(&mark.claim, "InstanceStopped", why));
            }
        }
    }

    /// Tells, once, of instances that upstream may have left behind, or that are somebody else's. They
    /// are never removed.
    pub(super) fn tell_suspects(&self, found: &[VirtualMachine]) {
        let prefix = &self.settings.name_prefix;
        let is_suspect = |vm: &&VirtualMachine| {
            !prefix.is_empty()
                && vm.name.starts_with(prefix)
                && vm.tags.is_empty()
                && !vm.details.contains_key(marks::CLUSTER)
                && Life::of(vm) != Life::Gone
        };
        let mut names: Vec<&str> =
            found.iter().filter(is_suspect).map(|vm| vm.name.as_str()).collect();
        names.sort_unstable();
        self.metrics.suspects(names.len());
        if names.is_empty() {
            self.state().told.forget(SUSPECTS);
            return;
        }
        let count = names.len();
        names.truncate(NAMED_MAX);
        let why = format!(
            "{count} instances are named {prefix}… and carry no mark: {}; look whose they are, and \
             remove those that upstream left behind",
            names.join(", ")
        );
        if self.state().told.is_new(SUSPECTS, &why) {
            self.notes.write(Note::wrong_with_cloud("SuspectOrphans", why));
        }
    }
}
