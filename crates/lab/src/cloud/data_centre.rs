//! Hosts with room for instances, and who owns the instances on them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use joiner_cloud::{instance::Instance, order::ClaimId};
use joiner_core::{
    quantity::Quantity,
    resources::{CPU, MEMORY, Resources},
};

use crate::cluster::{
    instances::{InstanceSpec, Instances},
    times::later,
};

/// A host that instances are made on.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The zone it is in.
    pub zone: String,
    /// What its instances can have together.
    pub capacity: Resources,
}

impl Host {
    /// A host with so many CPUs and so many GiB.
    pub fn new(name: &str, zone: &str, cpus: i64, gib: i64) -> Self {
        let capacity = [(CPU, Quantity::whole(cpus)), (MEMORY, Quantity::bytes(gib << 30))];
        Self {
            name: name.to_owned(),
            zone: zone.to_owned(),
            capacity: Resources::from_iter(capacity),
        }
    }
}

/// A host and what is on it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostView {
    /// The host.
    pub host: Host,
    /// What its instances have together.
    pub used: Resources,
    /// The names of its instances.
    pub instances: Vec<String>,
}

/// An instance with its mark, as its host knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Guest {
    /// The cluster that it belongs to.
    pub cluster: String,
    /// The instance; its mark contains the claim that it was made for.
    pub instance: Instance,
    /// How long it takes to be gone after it was switched off.
    pub removal_delay: SignedDuration,
}

impl Guest {
    /// Whether a cluster's mark on an instance of this name is its own: instances are named after
    /// their claims, and a copy of an instance copies its mark.
    pub(super) fn is_of(&self, cluster: &str, name: &str) -> bool {
        let claim = self.instance.claim.as_ref();
        self.cluster == cluster && claim.is_none_or(|claim| claim.name == name)
    }
}

/// Why no instance was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is another instance of this name.
    NameTaken,
    /// No host of the zone has room.
    NoRoom,
}

/// Where instances are made; clones are the same data centre.
#[derive(Clone, Debug)]
pub struct DataCentre {
    instances: Instances,
    rooms: Arc<Mutex<Rooms>>,
}

#[derive(Debug)]
struct Rooms {
    hosts: Vec<Host>,
    /// By the names of their instances.
    guests: BTreeMap<String, Placed>,
}

#[derive(Debug)]
struct Placed {
    guest: Guest,
    host: String,
    gone_at: Option<Timestamp>,
}

impl DataCentre {
    /// Two zones with two hosts each.
    pub(crate) fn new(instances: Instances) -> Self {
        let host = |name, zone| Host::new(name, zone, 64, 256);
        let hosts = vec![
            host("host-a1", "lab-zone-a"),
            host("host-a2", "lab-zone-a"),
            host("host-b1", "lab-zone-b"),
            host("host-b2", "lab-zone-b"),
        ];
        Self { instances, rooms: Arc::new(Mutex::new(Rooms { hosts, guests: BTreeMap::new() })) }
    }

    /// Has these hosts from now on. Instances on hosts that are not among them go on.
    pub fn furnish(&self, hosts: Vec<Host>) {
        self.rooms().hosts = hosts;
    }

    /// The hosts and what is on them.
    pub fn hosts(&self, now: Timestamp) -> Vec<HostView> {
        let rooms = self.settled(now);
        rooms.hosts.iter().map(|host| rooms.view(host)).collect()
    }

    /// The zones that hosts are in, by name.
    pub fn zones(&self) -> Vec<String> {
        let mut zones: Vec<_> = self.rooms().hosts.iter().map(|host| host.zone.clone()).collect();
        zones.sort();
        zones.dedup();
        zones
    }

    /// Makes an instance with its mark, on the emptiest host of a zone, and switches it on. The same
    /// instance for the same claim of the same cluster is made once.
    pub(super) fn make(
        &self,
        guest: Guest,
        spec: InstanceSpec,
        zone: &str,
        now: Timestamp,
    ) -> Result<(Instance, String), Refusal> {
        let mut rooms = self.settled(now);
        if let Some(known) = rooms.guests.get(&spec.name) {
            let same = known.guest.cluster == guest.cluster
                && known.guest.instance.claim == guest.instance.claim;
            let answer = (known.guest.instance.clone(), known.host.clone());
            return if same { Ok(answer) } else { Err(Refusal::NameTaken) };
        }
        if self.instances.get(&spec.name).is_some() {
            return Err(Refusal::NameTaken);
        }
        let host = rooms.emptiest(zone, &guest.instance.capacity).ok_or(Refusal::NoRoom)?;
        let name = spec.name.clone();
        self.instances.boot(spec).map_err(|_| Refusal::NameTaken)?;
        let instance = guest.instance.clone();
        rooms.guests.insert(name, Placed { guest, host: host.clone(), gone_at: None });
        Ok((instance, host))
    }

    /// Adds a foreign instance with any mark.
    pub fn add(&self, guest: Guest, spec: InstanceSpec, host: &str) -> bool {
        let name = spec.name.clone();
        let booted = self.instances.boot(spec).is_ok();
        if booted {
            let placed = Placed { guest, host: host.to_owned(), gone_at: None };
            self.rooms().guests.insert(name, placed);
        }
        booted
    }

    /// Switches an instance off; it is gone after a while.
    pub(super) fn remove(&self, name: &str, now: Timestamp) {
        let mut rooms = self.settled(now);
        let Some(placed) = rooms.guests.get_mut(name) else { return };
        if placed.gone_at.is_none() {
            placed.guest.instance.deleting = true;
            placed.gone_at = Some(later(now, placed.guest.removal_delay));
            // One that is gone needs no switching off.
            drop(self.instances.power_off(name));
        }
    }

    /// An instance by its name, of any owner.
    pub fn find(&self, name: &str, now: Timestamp) -> Option<Guest> {
        self.settled(now).guests.get(name).map(|placed| placed.guest.clone())
    }

    /// The instance that was made for a claim of a cluster.
    pub(super) fn of_claim(
        &self,
        cluster: &str,
        claim: &ClaimId,
        now: Timestamp,
    ) -> Option<Instance> {
        let rooms = self.settled(now);
        let mut own = rooms.guests.iter().filter(|(name, own)| own.guest.is_of(cluster, name));
        let found = own.find(|(_, placed)| placed.guest.instance.claim.as_ref() == Some(claim));
        found.map(|(_, placed)| placed.guest.instance.clone())
    }

    /// The next instances of a cluster after a name, by name, and the name to go on after.
    pub(super) fn page(
        &self,
        cluster: &str,
        after: &str,
        limit: usize,
        now: Timestamp,
    ) -> (Vec<Instance>, Option<String>) {
        let rooms = self.settled(now);
        let rest = rooms.guests.iter().filter(|(name, _)| name.as_str() > after);
        let mut own = rest.filter(|(name, placed)| placed.guest.is_of(cluster, name));
        let page: Vec<_> = own.by_ref().take(limit).collect();
        let last = own.next().and(page.last()).map(|(name, _)| (*name).clone());
        (page.into_iter().map(|(_, placed)| placed.guest.instance.clone()).collect(), last)
    }

    /// The rooms without the instances that are gone by now.
    fn settled(&self, now: Timestamp) -> MutexGuard<'_, Rooms> {
        let mut rooms = self.rooms();
        rooms.guests.retain(|name, placed| {
            if placed.gone_at.is_some_and(|gone_at| gone_at <= now) {
                // It may already be destroyed.
                drop(self.instances.destroy(name));
            }
            self.instances.get(name).is_some()
        });
        rooms
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    fn view(&self, host: &Host) -> HostView {
        let mut view =
            HostView { host: host.clone(), used: Resources::new(), instances: Vec::new() };
        for (name, placed) in self.guests.iter().filter(|(_, placed)| placed.host == host.name) {
            view.used.add(&counted(&placed.guest.instance.capacity, host));
            view.instances.push(name.clone());
        }
        view
    }

    /// The host of a zone with the most CPUs left, among those with room.
    fn emptiest(&self, zone: &str, wanted: &Resources) -> Option<String> {
        let in_zone = self.hosts.iter().filter(|host| host.zone == zone);
        let free = in_zone.map(|host| (host, host.capacity.minus(&self.view(host).used)));
        let suits = free.filter(|(host, free)| counted(wanted, host).fits(free));
        // The first of equals.
        let emptiest =
            suits.reduce(|best, next| if next.1.get(CPU) > best.1.get(CPU) { next } else { best });
        emptiest.map(|(host, _)| host.name.clone())
    }
}

/// What of an instance's resources a host gives.
fn counted(resources: &Resources, host: &Host) -> Resources {
    resources.iter().filter(|(name, _)| host.capacity.contains(name)).collect()
}
