//! The index of changes, so that waiting clients examine changed objects only.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::reference::{Kind, Ref};

/// How many changes are remembered one by one. Who has not looked for longer looks at everything.
const REMEMBERED_MAX: usize = 20_000;

/// A moment between two changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Changes of any kind.
    pub(crate) all: u64,
    /// Changes of anything but tasks.
    pub(crate) beside_tasks: u64,
    /// Changes of what there is, and of what views have in them.
    pub(crate) structure: u64,
}

/// The record of changes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    now: Moment,
    /// When each VM and each task changed last; for looking up only.
    last: HashMap<Ref, u64>,
    recent: VecDeque<(u64, Ref)>,
}

impl Changes {
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    /// A VM or a task has changed.
    pub(crate) fn of(&mut self, object: Ref) {
        self.now.all += 1;
        if object.kind != Kind::Task {
            self.now.beside_tasks += 1;
        }
        self.last.insert(object, self.now.all);
        if self.recent.len() == REMEMBERED_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((self.now.all, object));
    }

    /// An object is gone.
    pub(crate) fn gone(&mut self, object: Ref) {
        self.now.all += 1;
        self.last.remove(&object);
        if object.kind != Kind::Task {
            self.structure();
        }
    }

    /// There is something new, or a view has other things in it, or something of which there are
    /// few has changed.
    pub(crate) fn structure(&mut self) {
        self.now.all += 1;
        self.now.beside_tasks += 1;
        self.now.structure += 1;
    }

    /// When an object changed last, as a number that grows.
    pub(crate) fn last(&self, object: Ref) -> u64 {
        self.last.get(&object).copied().unwrap_or(0)
    }

    /// The VMs and tasks that have changed since a moment; none if that is too long ago to say.
    pub(crate) fn since(&self, moment: Moment) -> Option<BTreeSet<Ref>> {
        let complete = self.recent.len() < REMEMBERED_MAX
            || self.recent.front().is_some_and(|(first, _)| *first <= moment.all + 1);
        let from = self.recent.partition_point(|(at, _)| *at <= moment.all);
        complete.then(|| self.recent.range(from..).map(|(_, object)| *object).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_a_moment_is_known_for_a_while() {
        let (vm, task) = (Ref::new(Kind::VirtualMachine, 1), Ref::new(Kind::Task, 1));
        let mut changes = Changes::default();
        let start = changes.now();
        changes.of(vm);
        let then = changes.now();
        changes.of(task);
        assert_eq!(changes.since(start), Some(BTreeSet::from([vm, task])));
        assert_eq!(changes.since(then), Some(BTreeSet::from([task])));
        assert_eq!(changes.now().beside_tasks, then.beside_tasks);
        for _ in 0..REMEMBERED_MAX {
            changes.of(task);
        }
        assert_eq!(changes.since(start), None);
        assert_eq!(changes.since(changes.now()), Some(BTreeSet::new()));
    }
}
