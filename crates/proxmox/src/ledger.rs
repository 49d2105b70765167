//! What instances take that are being made, by claim.
//!
//! A resource list shows an instance only some time after it was asked for. Until then its CPUs,
//! memory, disk, number and addresses are in the ledger, so that nothing is given out twice. An entry
//! begins before the clone is asked for. Room is given back to the list once the instance is seen to
//! run, number and addresses stay with the claim until the instance is gone.
//!
//! Nothing here waits or asks: the ledger is a function of what it was told. After a restart it is
//! [rebuilt](Ledger::rebuilt) from claims and resource lists.

pub mod addresses;
pub mod eui64;
pub mod ip_config;
mod rebuild;
pub mod vmids;

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_cloud::order::ClaimId;

pub use self::rebuild::{ClaimRecord, Lost};
use self::{addresses::Addresses, vmids::Vmids};
use crate::capacity::{
    host::{Demand, Host, NoRoom, Room},
    region::Region,
    storage::{NoSpace, StorageKey},
};

/// What is given out to claims.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// By the claim's identity.
    entries: BTreeMap<String, Entry>,
    /// Numbers that cannot be given out now.
    pub vmids: Vmids,
    /// Addresses.
    pub addresses: Addresses,
}

/// What a claim has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The claim.
    pub claim: ClaimId,
    /// The region of its instance.
    pub region: String,
    /// The zone of its instance.
    pub zone: String,
    /// The number of its virtual machine.
    pub vmid: u32,
    /// What the instance takes of its host.
    pub demand: Demand,
    /// What it takes of a storage.
    pub disk: Option<(StorageKey, u64)>,
    /// Whether the resource list shows it as running, and so counts it.
    pub is_running: bool,
}

/// An instance that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'r> {
    /// The claim.
    pub claim: &'r ClaimId,
    /// The zone.
    pub zone: &'r str,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// The storage of the disk, and its size in bytes.
    pub disk: Option<(&'r str, u64)>,
}

impl Request<'_> {
    fn no_room(&self) -> impl Fn(NoRoom) -> Refusal {
        |why| Refusal::NoRoom { zone: self.zone.to_owned(), why }
    }
}

/// Why an instance cannot be made in a zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The region does not have the zone now.
    #[error("zone {0:?} is not in the region")]
    NoSuchZone(String),
    /// The host has no room.
    #[error("zone {zone:?}: {why}")]
    NoRoom {
        /// The zone.
        zone: String,
        /// Why.
        why: NoRoom,
    },
    /// The storage has no room.
    #[error("zone {zone:?}: {why}")]
    NoSpace {
        /// The zone.
        zone: String,
        /// Why.
        why: NoSpace,
    },
    /// Every number from the lowest on is taken.
    #[error("no number of a virtual machine is free from {0} on; lower --proxmox-vmid")]
    NoVmid(u32),
}

impl Ledger {
    /// An empty ledger that gives out numbers from this one on.
    pub fn new(lowest_vmid: u32) -> Self {
        Self { vmids: Vmids::new(lowest_vmid), ..Self::default() }
    }

    /// What a claim has.
    pub fn entry(&self, claim: &ClaimId) -> Option<&Entry> {
        self.entries.get(&claim.uid)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// What a zone has left.
    ///
    /// What an instance of ours is bound to is known even before its configuration is read again.
    pub fn room(&self, region: &Region, zone: &str) -> Option<Room> {
        let host = region.hosts.get(zone)?;
        let running: BTreeMap<u32, &Demand> = self
            .entries
            .values()
            .filter(|entry| entry.is_running && entry.region == region.name)
            .map(|entry| (entry.vmid, &entry.demand))
            .collect();
        let guests = host.guests.iter().map(|(vmid, seen)| {
            if host.unread.contains(vmid) {
                running.get(vmid).copied().unwrap_or(seen)
            } else {
                seen
            }
        });
        let here = self.counted(region).filter(|entry| entry.zone == zone);
        let unread = host.unread.iter().filter(|vmid| !running.contains_key(vmid)).count();
        Some(host.room_beside(guests.chain(here.map(|entry| &entry.demand)), unread))
    }

    /// Virtual CPUs of instances that are being made in a zone.
    pub fn cpus_in_flight(&self, region: &Region, zone: &str) -> u32 {
        let here = self.counted(region).filter(|entry| entry.zone == zone);
        here.map(|entry| entry.demand.cpus).sum()
    }

    /// Whether an instance fits into a zone.
    pub fn fits(&self, region: &Region, request: &Request<'_>) -> Result<(), Refusal> {
        let (host, room) = self.host(region, request.zone)?;
        host.check(&room, region.policy, request.cpus, request.memory)
            .map_err(request.no_room())?;
        self.disk(region, request)?;
        Ok(())
    }

    /// Takes what an instance needs. A claim that has something already keeps it, whatever is asked
    /// for now: its virtual machine may be there.
    pub fn reserve(
        &mut self,
        region: &Region,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<&Entry, Refusal> {
        let uid = &request.claim.uid;
        if !self.entries.contains_key(uid) {
            let (host, room) = self.host(region, request.zone)?;
            let demand = host
                .place(&room, region.policy, request.cpus, request.memory)
                .map_err(request.no_room())?;
            let disk = self.disk(region, request)?;
            let vmid = self.free_vmid(region, now)?;
            let entry = Entry {
                claim: request.claim.clone(),
                region: region.name.clone(),
                zone: request.zone.to_owned(),
                vmid,
                demand,
                disk,
                is_running: false,
            };
            self.entries.insert(uid.clone(), entry);
        }
        Ok(&self.entries[uid])
    }

    /// The number of a claim is that of a foreign virtual machine: the claim gets the next one.
    pub fn take_next_vmid(
        &mut self,
        region: &Region,
        claim: &ClaimId,
        now: Timestamp,
    ) -> Result<Option<u32>, Refusal> {
        let Some(foreign) = self.entry(claim).map(|entry| entry.vmid) else { return Ok(None) };
        self.vmids.avoid(&region.name, foreign, now);
        let next = self.free_vmid(region, now)?;
        if let Some(entry) = self.entries.get_mut(&claim.uid) {
            entry.vmid = next;
        }
        Ok(Some(next))
    }

    /// Takes note of a region's resource list. Says whether room was given back.
    ///
    /// An instance that runs is counted by the list; it counts where it is now, wherever it was made.
    pub fn see(&mut self, region: &Region) -> bool {
        let mut has_changed = false;
        for entry in self.entries.values_mut().filter(|entry| entry.region == region.name) {
            let row = region.rows.guest(entry.vmid);
            let Some(row) = row.filter(|row| row.name.as_deref() == Some(&entry.claim.name)) else {
                continue;
            };
            entry.zone.clone_from(&row.host);
            has_changed |= row.is_running && !entry.is_running;
            entry.is_running |= row.is_running;
        }
        has_changed
    }

    /// The instance of a claim is gone, or was never asked for: everything can be given out again,
    /// number and addresses after a while. Says whether the claim had anything.
    pub fn release(&mut self, claim: &ClaimId, now: Timestamp) -> bool {
        let had_address = self.addresses.release(&claim.uid, now);
        let Some(entry) = self.entries.remove(&claim.uid) else { return had_address };
        self.vmids.avoid(&entry.region, entry.vmid, now);
        true
    }

    /// A host and what it has left.
    fn host<'r>(&self, region: &'r Region, zone: &str) -> Result<(&'r Host, Room), Refusal> {
        let found = region.hosts.get(zone).zip(self.room(region, zone));
        found.ok_or_else(|| Refusal::NoSuchZone(zone.to_owned()))
    }

    /// Entries that the region's resource list does not count.
    fn counted(&self, region: &Region) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.region == region.name && !entry.is_running)
    }

    /// What a disk takes, if it fits.
    fn disk(
        &self,
        region: &Region,
        request: &Request<'_>,
    ) -> Result<Option<(StorageKey, u64)>, Refusal> {
        let Some((storage, needed)) = request.disk else { return Ok(None) };
        let refused = |why| Refusal::NoSpace { zone: request.zone.to_owned(), why };
        let key = region.storages.of_host(storage, request.zone).map_err(refused)?;
        let reserved = self.counted(region).filter_map(|entry| entry.disk.as_ref());
        let reserved: u64 = reserved.filter(|(own, _)| *own == key).map(|(_, bytes)| bytes).sum();
        let free = region.storages.free(&key).saturating_sub(reserved);
        if needed > free {
            return Err(refused(NoSpace::Full { storage: storage.to_owned(), needed, free }));
        }
        Ok(Some((key, needed)))
    }

    fn free_vmid(&self, region: &Region, now: Timestamp) -> Result<u32, Refusal> {
        let of_region = self.entries.values().filter(|entry| entry.region == region.name);
        let taken = region.rows.guests.iter().map(|guest| guest.vmid);
        let taken = taken.chain(of_region.map(|entry| entry.vmid));
        let free = self.vmids.lowest_free(&region.name, taken, now);
        free.ok_or(Refusal::NoVmid(self.vmids.lowest()))
    }
}
