//! The whole state of a cluster, and how it moves on with time.

use std::{collections::BTreeMap, time::Duration};

use joiner_clock::Clock;
use joiner_sim::{Agenda, log::Log, trouble::Trouble};

use crate::{
    access::Ticket,
    cloud::Complaint,
    estate::Estate,
    guest::GuestEvent,
    inventory::{Behaviour, Inventory, InventoryError, Token, User},
    schema::Schema,
    task::{Locks, TaskNumber, Tasks},
    trouble::ProxmoxTrouble,
};

/// Everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) schema: Schema,
    pub(crate) behaviour: Behaviour,
    pub(crate) estate: Estate,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) tickets: BTreeMap<String, Ticket>,
    pub(crate) tasks: Tasks,
    pub(crate) locks: Locks,
    pub(crate) trouble: Trouble<ProxmoxTrouble>,
    pub(crate) log: Log,
    pub(crate) complaints: Vec<Complaint>,
    /// What happened to guests and was not told yet.
    pub(crate) guest_events: Vec<GuestEvent>,
    pub(crate) agenda: Agenda<Due>,
    /// Counts what happens.
    pub(crate) changes: u64,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A task has waited, at this turn.
    TaskGoesOn(TaskNumber, u32),
    LockTimesOut(TaskNumber, u32),
    LockIsFree(TaskNumber),
    /// Rows learn what changed.
    Broadcast(u32),
    HaActs(u32),
}

impl World {
    pub(crate) fn new(inventory: Inventory, clock: &Clock) -> Result<Self, InventoryError> {
        Ok(Self {
            schema: Schema::new(),
            estate: Estate::build(&inventory)?,
            behaviour: inventory.behaviour,
            users: inventory.users,
            tokens: inventory.tokens,
            tickets: BTreeMap::new(),
            tasks: Tasks::default(),
            locks: Locks::default(),
            trouble: Trouble::default(),
            log: Log::default(),
            complaints: Vec::new(),
            guest_events: Vec::new(),
            agenda: Agenda::new(clock),
            changes: 0,
        })
    }

    fn happen(&mut self, due: Due) {
        self.changes += 1;
        match due {
            Due::TaskGoesOn(task, turn) => self.go_on(task, turn),
            Due::LockTimesOut(task, turn) => self.lock_times_out(task, turn),
            Due::LockIsFree(task) => self.lock_is_free(task),
            Due::Broadcast(vmid) => {
                if let Some(vm) = self.estate.vms.get_mut(&vmid) {
                    vm.broadcast_is_planned = false;
                    vm.seen = Some(vm.now_seen());
                }
            }
            Due::HaActs(vmid) => {
                let wanted = self.estate.vms.get(&vmid).and_then(|vm| vm.ha.clone());
                // A failure stays as it is, as after the last try of a real manager.
                let _ = match wanted.as_deref() {
                    Some("started") => self.start_vm(vmid),
                    Some("stopped") => self.stop_vm(vmid),
                    _ => Ok(()),
                };
            }
        }
    }

    /// Plans that rows learn of a change to a VM.
    pub(crate) fn touch(&mut self, vmid: u32) {
        self.changes += 1;
        if let Some(vm) = self.estate.vms.get_mut(&vmid)
            && !std::mem::replace(&mut vm.broadcast_is_planned, true)
        {
            self.agenda.plan(self.behaviour.durations.broadcast, Due::Broadcast(vmid));
        }
    }

    pub(crate) fn pool_of(&self, vmid: u32) -> Option<&str> {
        let pools = self.estate.pools.iter();
        pools.filter(|(_, members)| members.contains(&vmid)).map(|(name, _)| name.as_str()).next()
    }

    /// A time in seconds since 1970.
    pub(crate) fn seconds(&self, at: Duration) -> i64 {
        self.agenda.moment(at).as_second()
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
        self.changes
    }

    fn take_events(&mut self) -> Vec<GuestEvent> {
        std::mem::take(&mut self.guest_events)
    }
}
