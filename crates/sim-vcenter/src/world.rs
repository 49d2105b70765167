//! The whole state of a vCenter, and how it moves on with time.
//!
//! Nothing here waits. What will happen is on the agenda, and whoever looks at the world first lets
//! it catch up with the clock: everything that was due happens in order, each at its own time. So
//! it does not matter who looked when, only what was asked.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_clock::Clock;

use crate::{
    changes::Changes,
    collect::Collectors,
    estate::Estate,
    guest::GuestEvent,
    inventory::{About, Behaviour, Inventory, InventoryError},
    log::Log,
    policies::Policy,
    reference::Ref,
    rest::{Modules, Tagging},
    session::Sessions,
    task::Tasks,
    trouble::Trouble,
    views::Views,
    wire::schema::Schema,
};

/// By how much a clock has to be off before it was set.
const CLOCK_SET: SignedDuration = SignedDuration::from_secs(1);

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
    pub(crate) trouble: Trouble,
    pub(crate) log: Log,
    /// What happened to guests and was not told yet.
    pub(crate) guest_events: VecDeque<GuestEvent>,
    /// How long the clock has been going.
    pub(crate) now: Duration,
    /// What the clock says at zero.
    epoch: Timestamp,
    agenda: BTreeMap<(Duration, u64), Due>,
    planned: u64,
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
    /// A VM whose host failed is started elsewhere, if nobody has started it since.
    Restart(Ref, u32),
}

impl World {
    pub(crate) fn new(inventory: Inventory, clock: &Clock) -> Result<Self, InventoryError> {
        let mut estate = Estate::build(&inventory.datacenters, clock.now())?;
        estate.policies = Policy::build(&inventory.storage_policies, &mut estate)?;
        let sessions = Sessions::new(&inventory.accounts, &estate)?;
        let mut world = Self {
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
            guest_events: VecDeque::new(),
            now: Duration::ZERO,
            epoch: clock.now(),
            agenda: BTreeMap::new(),
            planned: 0,
            changes: Changes::default(),
        };
        world.catch_up(clock);
        Ok(world)
    }

    /// Lets everything happen that was due by now.
    pub(crate) fn catch_up(&mut self, clock: &Clock) {
        let until = clock.running().max(self.now);
        let passed = SignedDuration::try_from(until).unwrap_or(SignedDuration::MAX);
        let epoch = clock.now().saturating_sub(passed).unwrap_or(Timestamp::MIN);
        // The time of day and the time that passes are read one after the other: a little off is
        // no reason to tell another time of what has happened.
        if epoch.duration_since(self.epoch).abs() > CLOCK_SET {
            self.epoch = epoch;
        }
        while let Some(first) = self.agenda.first_entry() {
            let (at, _) = *first.key();
            if at > until {
                break;
            }
            let due = first.remove();
            self.now = at;
            self.happen(due);
        }
        self.now = until;
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
        self.planned += 1;
        self.agenda.insert((self.now.saturating_add(after), self.planned), due);
    }

    /// How long until something happens; none if nothing will.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.agenda.keys().next().map(|(at, _)| at.saturating_sub(self.now))
    }

    /// What the clock said at a time.
    pub(crate) fn moment(&self, at: Duration) -> Timestamp {
        let passed = SignedDuration::try_from(at).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(passed).unwrap_or(Timestamp::MAX)
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
