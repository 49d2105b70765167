//! Instances that are named as ours and carry no mark.

use joiner_cloud::notes::Note;

use super::Inner;
use crate::{client::objects::VirtualMachine, marks, vm::Life};

/// What is told about them is told under this name.
const SUSPECTS: &str = "suspects";
/// How many of them are named.
const NAMED_MAX: usize = 10;

impl Inner {
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
