//! The whole state of a vCenter, and how it moves on with time.
//!
//! Nothing here waits. What will happen is on the agenda, and every access first lets the world catch
//! up with the clock. All due events happen in order, each at its own time. So it does not matter who
//! looked when, only what was asked.

use std::time::Duration;

use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_sim::{Agenda, log::Log, trouble::Trouble};

use crate::{
    changes::Changes,
    collect::Collectors,
    estate::Estate,
    guest::GuestEvent,
    inventory::{About, Behaviour, Inventory, InventoryError},
    policies::Policy,
    reference::Ref,
    rest::{Modules, Tagging},
    session::Sessions,
    task::Tasks,
    trouble::VCenterTrouble,
    views::Views,
    wire::schema::Schema,
};

/// Everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) schema: Schema,
    pub(crate) about: About,
    pub(crate) behaviour: Behaviour,
    pub(crate) estate: Estate,
    pub(crate) sessions: Sessions,
    pub(crate) tasks: Tasks,
    pub(crate) views: Views,
    pub(crate) collectors: Collectors,
    pub(crate) tagging: Tagging,
    pub(crate) modules: Modules,
    pub(crate) trouble: Trouble<VCenterTrouble>,
    pub(crate) log: Log,
    /// What happened to guests and was not told yet.
    pub(crate) guest_events: Vec<GuestEvent>,
    pub(crate) agenda: Agenda<Due>,
    pub(crate) changes: Changes,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A task's turn comes, if its host has room.
    TaskStarts(Ref),
    /// A task has come so far, in percent.
    TaskAdvances(Ref, i32),
    TaskEnds(Ref),
    TaskForgotten(Ref),
    /// A guest is up, if the VM is still in that run.
    GuestUp(Ref, u32),
    /// A guest has shut itself down.
    GuestDown(Ref, u32),
    /// A VM whose host failed is started elsewhere, unless it was started since.
    Restart(Ref, u32),
}

impl World {
    pub(crate) fn new(inventory: Inventory, clock: &Clock) -> Result<Self, InventoryError> {
        let mut estate = Estate::build(&inventory.datacenters, clock.now())?;
        estate.policies = Policy::build(&inventory.storage_policies, &mut estate)?;
        let sessions = Sessions::new(&inventory.accounts, &estate)?;
        Ok(Self {
            schema: Schema::new(),
            about: inventory.about,
            behaviour: inventory.behaviour,
            estate,
            sessions,
            tasks: Tasks::default(),
            views: Views::default(),
            collectors: Collectors::default(),
            tagging: Tagging::default(),
            modules: Modules::default(),
            trouble: Trouble::default(),
            log: Log::default(),
            guest_events: Vec::new(),
            agenda: Agenda::new(clock),
            changes: Changes::default(),
        })
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::TaskStarts(task) => self.start_task(task),
            Due::TaskAdvances(task, percent) => self.advance_task(task, percent),
            Due::TaskEnds(task) => self.end_task(task),
            Due::TaskForgotten(task) => self.forget_task(task),
            Due::GuestUp(vm, run) => self.guest_up(vm, run),
            Due::GuestDown(vm, run) => self.guest_down(vm, run),
            Due::Restart(vm, run) => self.restart(vm, run),
        }
    }

    /// Puts something on the agenda.
    pub(crate) fn plan(&mut self, after: Duration, due: Due) {
        self.agenda.plan(after, due);
    }

    /// What the clock said at a time.
    pub(crate) fn moment(&self, at: Duration) -> Timestamp {
        self.agenda.moment(at)
    }

    /// Takes note that a VM or a task has changed.
    pub(crate) fn touch(&mut self, object: Ref) {
        self.changes.of(object);
        if let Some(vm) = self.estate.vms.get_mut(&object) {
            vm.changes += 1;
        }
    }

    /// Whether an object is there.
    pub(crate) fn has(&self, object: Ref) -> bool {
        self.estate.has(object)
            || self.tasks.get(object).is_some()
            || self.views.has(object)
            || self.collectors.has(object)
            || (object.number == 0 && object.kind.exists_once())
    }
}

impl joiner_sim::World for World {
    type Event = GuestEvent;

    fn catch_up(&mut self, clock: &Clock) {
        let until = self.agenda.read(clock);
        while let Some(due) = self.agenda.take_due(until) {
            self.happen(due);
        }
    }

    fn next_due(&self) -> Option<Duration> {
        self.agenda.next_due()
    }

    fn changes(&self) -> u64 {
        self.changes.now().all
    }

    fn take_events(&mut self) -> Vec<GuestEvent> {
        std::mem::take(&mut self.guest_events)
    }
}
