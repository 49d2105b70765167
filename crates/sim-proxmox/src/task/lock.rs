//! Locks of VMs and storages.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use super::TaskNumber;

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Vm(u32),
    /// A storage, and the node whose part of it; none of a shared one.
    Storage(String, String),
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vm(vmid) => write!(f, "/var/lock/qemu-server/lock-{vmid}.conf"),
            Self::Storage(name, _) => write!(f, "/var/lock/pve-manager/pve-storage-{name}"),
        }
    }
}

/// Whether others may have the lock too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

#[derive(Debug, Default)]
struct State {
    holders: Vec<(TaskNumber, Mode)>,
    queue: VecDeque<(TaskNumber, Mode)>,
}

/// All locks.
#[derive(Debug, Default)]
pub(crate) struct Locks(BTreeMap<Resource, State>);

impl Locks {
    /// Takes a lock or gets in line; whether it was taken.
    pub(super) fn acquire(&mut self, task: TaskNumber, resource: &Resource, mode: Mode) -> bool {
        let state = self.0.entry(resource.clone()).or_default();
        if state.holders.iter().any(|(holder, _)| *holder == task) {
            return true;
        }
        let shared = state.holders.iter().all(|(_, held)| *held == Mode::Shared);
        let free = state.holders.is_empty() || (mode == Mode::Shared && shared);
        if free && state.queue.is_empty() {
            state.holders.push((task, mode));
            return true;
        }
        if !state.queue.iter().any(|(waiting, _)| *waiting == task) {
            state.queue.push_back((task, mode));
        }
        false
    }

    /// Gives a lock back; the tasks that have it now.
    pub(super) fn release(&mut self, task: TaskNumber, resource: &Resource) -> Vec<TaskNumber> {
        let Some(state) = self.0.get_mut(resource) else { return Vec::new() };
        state.holders.retain(|(holder, _)| *holder != task);
        state.queue.retain(|(waiting, _)| *waiting != task);
        let mut granted = Vec::new();
        while let Some((next, mode)) = state.queue.front().copied() {
            let shared = state.holders.iter().all(|(_, held)| *held == Mode::Shared);
            if !(state.holders.is_empty() || (mode == Mode::Shared && shared)) {
                break;
            }
            state.queue.pop_front();
            state.holders.push((next, mode));
            granted.push(next);
        }
        if state.holders.is_empty() {
            self.0.remove(resource);
        }
        granted
    }

    /// Gives all locks of a task back.
    pub(super) fn release_all(&mut self, task: TaskNumber) -> Vec<TaskNumber> {
        let resources: Vec<Resource> = self.0.keys().cloned().collect();
        resources.iter().flat_map(|resource| self.release(task, resource)).collect()
    }
}
