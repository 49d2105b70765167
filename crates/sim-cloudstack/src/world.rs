//! The whole state of a management server, and how it moves on with time.

use std::time::Duration;

use joiner_clock::Clock;
use joiner_sim::{Agenda, log::Log, trouble::Trouble};

use crate::{
    access::Throttles,
    cloud::Complaint,
    commands::table::Commands,
    estate::{Estate, Number},
    guest::GuestEvent,
    inventory::{Behaviour, Inventory, InventoryError},
    job::Jobs,
    trouble::CloudStackTrouble,
};

/// Everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) commands: Commands,
    pub(crate) behaviour: Behaviour,
    pub(crate) estate: Estate,
    pub(crate) jobs: Jobs,
    pub(crate) throttles: Throttles,
    pub(crate) trouble: Trouble<CloudStackTrouble>,
    pub(crate) log: Log,
    pub(crate) complaints: Vec<Complaint>,
    /// What happened to guests and was not told yet.
    pub(crate) guest_events: Vec<GuestEvent>,
    pub(crate) agenda: Agenda<Due>,
    /// Counts what happens to VMs and jobs.
    pub(crate) changes: u64,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The turn of a job comes.
    JobBegins(Number),
    JobEnds(Number),
    /// The server gives a job up that does not end.
    JobIsCancelled(Number),
    JobIsForgotten(Number),
    /// A destroyed VM is expunged, if nothing else became of it.
    Expunged(Number),
    /// Hosts are connected again after the server was restarted.
    HostsReconnect,
}

impl World {
    pub(crate) fn new(inventory: Inventory, clock: &Clock) -> Result<Self, InventoryError> {
        let estate = Estate::build(&inventory)?;
        Ok(Self {
            commands: Commands::new(),
            behaviour: inventory.behaviour,
            estate,
            jobs: Jobs::default(),
            throttles: Throttles::default(),
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
            Due::JobBegins(job) => self.begin_job(job),
            Due::JobEnds(job) => self.end_job(job),
            Due::JobIsCancelled(job) => self.cancel_job(job),
            Due::JobIsForgotten(job) => self.jobs.forget(job),
            Due::Expunged(vm) => self.expunge_if_destroyed(vm),
            Due::HostsReconnect => {
                self.estate.hosts.values_mut().for_each(|host| host.connected = true);
            }
        }
    }

    /// A time as answers have it.
    pub(crate) fn time(&self, at: Duration) -> String {
        crate::answer::time(self.agenda.moment(at))
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
