//! Making a VM from another one.

use std::{collections::BTreeMap, time::Duration};

use super::instance::{needs, takes};
use crate::{
    change,
    estate::{
        device::What,
        vm::{Power, Vm},
    },
    fault::Fault,
    reference::{Kind, Ref},
    wire::element::Element,
    world::World,
};

/// What a linked clone writes before it is used.
const DELTA_BYTES: u64 = 16 << 20;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct CloneOrder {
    pub(crate) source: Ref,
    pub(crate) name: String,
    pub(crate) folder: Ref,
    pub(crate) pool: Ref,
    pub(crate) host: Option<Ref>,
    pub(crate) datastore: Ref,
    /// The name of the storage policy of its own files.
    pub(crate) policy: Option<String>,
    /// Per disk of the source: what becomes of it.
    pub(crate) disks: BTreeMap<i32, CloneDisk>,
    pub(crate) linked: bool,
    pub(crate) template: bool,
    pub(crate) power_on: bool,
    pub(crate) spec: Option<Element>,
    /// Changes of devices that stand in the location.
    pub(crate) location: Element,
    /// What is being made, from the beginning to the end.
    pub(crate) made: Option<Box<Vm>>,
}

/// What becomes of a disk of the source.
#[derive(Debug)]
pub(crate) struct CloneDisk {
    pub(crate) datastore: Ref,
    /// Whether it becomes thin; none if it is as it was.
    pub(crate) thin: Option<bool>,
    /// The name of its storage policy.
    pub(crate) policy: Option<String>,
}

impl CloneOrder {
    /// Begins: everything that can be refused is refused now, and space is put aside.
    pub(super) fn begin(&mut self, world: &mut World) -> Result<Duration, Fault> {
        if !world.has(self.source) {
            return Err(Fault::gone(self.source));
        }
        let made = self.make(world)?;
        for (datastore, bytes) in needs(&made.devices) {
            world.space_for(datastore, bytes)?;
        }
        let durations = &world.behaviour.durations;
        let written: u64 = made.disks().map(|disk| disk.written).sum();
        let copying = if self.linked {
            Duration::ZERO
        } else {
            durations.copy_gib.mul_f64(written as f64 / (1_u64 << 30) as f64)
        };
        let lasts = durations.clone + copying;
        for (datastore, bytes) in takes(&made.devices) {
            world.estate.take_space(datastore, bytes);
        }
        self.made = Some(Box::new(made));
        Ok(lasts)
    }

    /// Puts what was made into the inventory; the first owner of a name keeps it.
    pub(super) fn finish(&mut self, world: &mut World) -> Result<Ref, Fault> {
        self.check_name(world)?;
        if !world.has(self.folder) {
            return Err(Fault::gone(self.folder));
        }
        let Some(made) = self.made.take() else { return Err(Fault::gone(self.source)) };
        let vm = world.estate.next(Kind::VirtualMachine);
        let mut made = *made;
        made.created = world.moment(world.agenda.now());
        world.estate.tree.insert(vm, &self.name, Some(self.folder));
        world.estate.vms.insert(vm, made);
        world.touch(vm);
        world.changes.structure();
        if self.power_on {
            world.power_on(vm, None)?;
        }
        Ok(vm)
    }

    /// Gives back the space that was put aside.
    pub(super) fn give_up(&mut self, world: &mut World) {
        let Some(made) = self.made.take() else { return };
        for (datastore, bytes) in takes(&made.devices) {
            world.estate.give_space(datastore, bytes);
        }
    }

    pub(crate) fn check_name(&self, world: &World) -> Result<(), Fault> {
        match world.estate.tree.child(self.folder, &self.name) {
            Some(other) => Err(Fault::duplicate_name(&self.name, other)),
            None => Ok(()),
        }
    }

    /// The VM that is going to be.
    fn make(&self, world: &mut World) -> Result<Vm, Fault> {
        let Some(source) = world.estate.vms.get(&self.source) else {
            return Err(Fault::gone(self.source));
        };
        let mut made = Vm {
            template: self.template,
            power: Power::Off,
            started: None,
            guest: None,
            lost: None,
            busy: None,
            runs: 0,
            changes: 0,
            snapshots: Vec::new(),
            datastore: self.datastore,
            pool: Some(self.pool).filter(|_| !self.template),
            home: self.name.clone(),
            policy: self.policy.clone(),
            ..source.clone()
        };
        made.uuid = world.estate.identities.uuid("vm");
        made.instance_uuid = world.estate.identities.uuid("instance");
        let mut count = 0;
        for device in &mut made.devices {
            match &mut device.what {
                What::Disk(disk) => {
                    let place = self.disks.get(&device.key);
                    disk.datastore = place.map_or(self.datastore, |place| place.datastore);
                    disk.policy = place.and_then(|place| place.policy.clone());
                    disk.uuid = world.estate.identities.uuid("disk");
                    disk.parent = self.linked.then(|| disk.file.clone());
                    disk.first_class = None;
                    let suffix = if count == 0 { String::new() } else { format!("_{count}") };
                    let datastore = world.estate.name(disk.datastore);
                    disk.file = format!("[{datastore}] {0}/{0}{suffix}.vmdk", self.name);
                    if self.linked {
                        disk.thin = true;
                        disk.written = DELTA_BYTES;
                    } else if let Some(thin) = place.and_then(|place| place.thin) {
                        disk.thin = thin;
                    }
                    count += 1;
                }
                What::Nic(nic) => nic.mac = world.estate.identities.mac(),
                What::Pci | What::Scsi | What::Passthrough(_) => {}
            }
        }
        let about = change::About { vm: None, linked: self.linked };
        change::apply_devices(&mut world.estate, &mut made, &self.location, about)?;
        if let Some(spec) = &self.spec {
            change::apply(&mut world.estate, &mut made, spec, about)?;
        }
        made.host = self.choose_host(world, &made)?;
        Ok(made)
    }

    /// The host that was asked for, or one of those that suit, each in its turn.
    fn choose_host(&self, world: &mut World, made: &Vm) -> Result<Ref, Fault> {
        if let Some(host) = self.host {
            if !world.estate.hosts.get(&host).is_some_and(|host| host.connected) {
                return Err(Fault::host_not_connected(world.estate.name(host)));
            }
            if !world.estate.can_host(host, made) {
                return Err(Fault::no_compatible_host());
            }
            return Ok(host);
        }
        let cluster = world.estate.above(self.pool, Kind::ClusterComputeResource);
        let hosts: Vec<Ref> =
            cluster.map(|cluster| world.estate.hosts_of(cluster).collect()).unwrap_or_default();
        let suits: Vec<Ref> =
            hosts.into_iter().filter(|host| world.estate.can_host(*host, made)).collect();
        if suits.is_empty() {
            return Err(Fault::no_compatible_host());
        }
        world.estate.last_choice += 1;
        Ok(suits[world.estate.last_choice % suits.len()])
    }
}
