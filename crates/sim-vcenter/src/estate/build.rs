//! From the description of an inventory to the objects of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    Cluster, DatacenterFolders, Datastore, Estate, Host, Network, NetworkKind, Switch, Tree,
    device::{self, Device, Disk, Nic, SCSI_CONTROLLER, What},
    vm::{Allocation, Guest, Power, Snapshot, Vm},
};
use crate::{
    identity::{Identities, uuid},
    inventory::{self, InventoryError},
    reference::{Kind, Ref},
};

const GIB: u64 = 1 << 30;

impl Estate {
    /// The objects that a description stands for.
    pub(crate) fn build(
        datacenters: &[inventory::Datacenter],
        now: Timestamp,
    ) -> Result<Self, InventoryError> {
        let mut estate = Self {
            tree: Tree::default(),
            root: Ref::new(Kind::Folder, 1),
            datacenters: BTreeMap::new(),
            clusters: BTreeMap::new(),
            hosts: BTreeMap::new(),
            datastores: BTreeMap::new(),
            networks: BTreeMap::new(),
            switches: BTreeMap::new(),
            vms: BTreeMap::new(),
            pools: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            policies: Vec::new(),
            last_choice: 0,
            deleted_files: Vec::new(),
            identities: Identities::default(),
            next_number: 1,
        };
        estate.tree.insert(estate.root, "Datacenters", None);
        for datacenter in datacenters {
            estate.add_datacenter(datacenter, now)?;
        }
        Ok(estate)
    }

    fn place(&mut self, kind: Kind, name: &str, parent: Ref) -> Result<Ref, InventoryError> {
        if name.is_empty() || self.tree.child(parent, name).is_some() {
            return Err(InventoryError {
                object: format!("a {} in {:?}", kind.name(), self.name(parent)),
                field: "name",
                value: name.to_owned(),
                problem: if name.is_empty() { "is empty" } else { "is taken" },
                remedy: "give it a name of its own".to_owned(),
            });
        }
        let object = self.next(kind);
        self.tree.insert(object, name, Some(parent));
        Ok(object)
    }

    fn add_datacenter(
        &mut self,
        of: &inventory::Datacenter,
        now: Timestamp,
    ) -> Result<(), InventoryError> {
        let dc = self.place(Kind::Datacenter, &of.name, self.root)?;
        let folders = DatacenterFolders {
            vm: self.place(Kind::Folder, "vm", dc)?,
            host: self.place(Kind::Folder, "host", dc)?,
            datastore: self.place(Kind::Folder, "datastore", dc)?,
            network: self.place(Kind::Folder, "network", dc)?,
        };
        self.datacenters.insert(dc, folders);
        for cluster in &of.clusters {
            self.add_cluster(cluster, folders.host)?;
        }
        for folder in &of.folders {
            self.add_path(Kind::Folder, folder, folders.vm)?;
        }
        let pods = of.datastore_clusters.iter();
        let mut pod_of = BTreeMap::new();
        for (name, members) in pods {
            let pod = self.place(Kind::StoragePod, name, folders.datastore)?;
            pod_of.extend(members.iter().map(|member| (member.as_str(), pod)));
        }
        for datastore in &of.datastores {
            let parent = pod_of.get(datastore.name.as_str()).copied();
            self.add_datastore(datastore, parent.unwrap_or(folders.datastore), dc)?;
        }
        for network in &of.networks {
            self.add_network(network, folders.network, dc)?;
        }
        for instance in &of.vms {
            self.add_vm(instance, dc, now)?;
        }
        Ok(())
    }

    /// Objects of a kind along a path, those that are not there yet.
    fn add_path(&mut self, kind: Kind, path: &str, below: Ref) -> Result<Ref, InventoryError> {
        let mut at = below;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = match self.tree.child(at, name) {
                Some(there) => there,
                None => self.place(kind, name, at)?,
            };
        }
        Ok(at)
    }

    fn add_cluster(&mut self, of: &inventory::Cluster, parent: Ref) -> Result<(), InventoryError> {
        let cluster = self.place(Kind::ClusterComputeResource, &of.name, parent)?;
        let groups = of.vm_groups.iter().map(|name| (name.clone(), BTreeSet::new()));
        let own = Cluster {
            drs: of.drs,
            ha: of.ha,
            failover_hosts: of.failover_hosts,
            vm_groups: groups.collect(),
        };
        self.clusters.insert(cluster, own);
        let pool = self.place(Kind::ResourcePool, "Resources", cluster)?;
        for path in &of.pools {
            self.add_path(Kind::ResourcePool, path, pool)?;
        }
        for host in &of.hosts {
            let reference = self.place(Kind::HostSystem, &host.name, cluster)?;
            let own = Host {
                cores: host.cores,
                mhz: host.mhz,
                memory_mib: host.memory_mib,
                connected: true,
                maintenance: false,
                uuid: uuid(&format!("host {}", host.name)),
            };
            self.hosts.insert(reference, own);
        }
        Ok(())
    }

    fn add_datastore(
        &mut self,
        of: &inventory::Datastore,
        parent: Ref,
        dc: Ref,
    ) -> Result<(), InventoryError> {
        let hosts = self.hosts_named(&of.hosts, dc, &format!("datastore {:?}", of.name))?;
        let datastore = self.place(Kind::Datastore, &of.name, parent)?;
        let own = Datastore {
            capacity_bytes: of.capacity_gib * GIB,
            used_bytes: of.used_gib * GIB,
            hosts,
            accessible: true,
            maintenance: false,
            uuid: uuid(&format!("datastore {}", of.name)),
        };
        self.datastores.insert(datastore, own);
        Ok(())
    }

    fn add_network(
        &mut self,
        of: &inventory::Network,
        parent: Ref,
        dc: Ref,
    ) -> Result<(), InventoryError> {
        let hosts = self.hosts_named(&of.hosts, dc, &format!("network {:?}", of.name))?;
        let (kind, wire) = match &of.kind {
            inventory::NetworkKind::Standard => (NetworkKind::Standard, Kind::Network),
            inventory::NetworkKind::Opaque => {
                let id = uuid(&format!("segment {}", of.name));
                (NetworkKind::Opaque { id }, Kind::OpaqueNetwork)
            }
            inventory::NetworkKind::Distributed { switch: name, uplinks } => {
                let switch = match self.tree.child(parent, name) {
                    Some(switch) => switch,
                    None => {
                        let switch = self.place(Kind::DistributedVirtualSwitch, name, parent)?;
                        // Written as switches have them: two halves, bytes apart.
                        let uuid = uuid(&format!("switch {name}"));
                        self.switches.insert(switch, Switch { uuid });
                        switch
                    }
                };
                let group =
                    NetworkKind::Portgroup { key: String::new(), switch, uplinks: *uplinks };
                (group, Kind::DistributedVirtualPortgroup)
            }
        };
        let network = self.place(wire, &of.name, parent)?;
        let kind = match kind {
            // The key of a port group is its id.
            NetworkKind::Portgroup { switch, uplinks, .. } => {
                NetworkKind::Portgroup { key: network.id(), switch, uplinks }
            }
            other => other,
        };
        self.networks.insert(network, Network { hosts, kind });
        Ok(())
    }

    /// A VM or template as it is described, in a datacenter.
    pub(crate) fn add_vm(
        &mut self,
        of: &inventory::Vm,
        dc: Ref,
        now: Timestamp,
    ) -> Result<Ref, InventoryError> {
        let object = format!("instance {:?}", of.name);
        let Some(folders) = self.datacenters.get(&dc).copied() else {
            return Err(missing(&object, "datacenter", "", "describe a datacenter first"));
        };
        let folder = self.tree.find(folders.vm, &of.folder).ok_or_else(|| {
            missing(&object, "folder", &of.folder, "add it to the datacenter's folders")
        })?;
        let host = self.one_of(Kind::HostSystem, &of.host, dc);
        let host = host
            .ok_or_else(|| missing(&object, "host", &of.host, "add it to one of the clusters"))?;
        let datastore = self.one_of(Kind::Datastore, &of.datastore, dc).ok_or_else(|| {
            missing(&object, "datastore", &of.datastore, "add it to the datacenter's datastores")
        })?;
        let named: Vec<&str> = match of.networks.as_slice() {
            [] => vec![""],
            named => named.iter().map(String::as_str).collect(),
        };
        let mut networks = Vec::new();
        for name in named {
            let network = self.network_named(name, dc).ok_or_else(|| {
                missing(&object, "networks", name, "add it to the datacenter's networks")
            })?;
            networks.push(network);
        }
        let reference = self.place(Kind::VirtualMachine, &of.name, folder)?;
        let devices = self.instance_devices(of, datastore, networks);
        let mut snapshots = Vec::new();
        for name in &of.snapshots {
            let snapshot = self.next(Kind::VirtualMachineSnapshot);
            self.snapshots.insert(snapshot, reference);
            snapshots.push(Snapshot { reference: snapshot, name: name.clone(), created: now });
        }
        let cluster = self.above(host, Kind::ClusterComputeResource);
        let pool = cluster.and_then(|cluster| self.root_pool(cluster));
        let vm = Vm {
            uuid: self.identities.uuid("vm"),
            instance_uuid: self.identities.uuid("instance"),
            created: now,
            template: of.template,
            annotation: String::new(),
            guest_id: of.guest_id.clone(),
            hardware: of.hardware,
            firmware: of.firmware.clone(),
            mainboard: of.mainboard.clone(),
            cpus: of.cpus,
            cores_per_socket: 1,
            memory_mib: of.memory_mib,
            cpu: Allocation::default(),
            memory: Allocation::default(),
            memory_locked: false,
            nested: false,
            disk_uuids: false,
            vapp: of.vapp,
            devices,
            extra: of.extra_config.iter().cloned().collect(),
            power: if of.powered_on { Power::On } else { Power::Off },
            started: None,
            host,
            pool: pool.filter(|_| !of.template),
            datastore,
            home: of.name.clone(),
            policy: None,
            snapshots,
            tools: of.tools,
            guest: None,
            runs: 0,
            lost: None,
            busy: None,
            changes: 0,
        };
        self.vms.insert(reference, vm);
        if of.powered_on && of.tools {
            let guest = self.guest_of(reference);
            if let Some(vm) = self.vms.get_mut(&reference) {
                vm.guest = guest;
            }
        }
        Ok(reference)
    }

    /// The devices of an instance as it is described: controllers, a disk, NICs.
    fn instance_devices(
        &mut self,
        of: &inventory::Vm,
        datastore: Ref,
        networks: Vec<Ref>,
    ) -> Vec<Device> {
        let mut devices = device::controllers();
        let disk = Disk {
            bytes: of.disk_gib * GIB,
            written: of.written_gib.min(of.disk_gib) * GIB,
            thin: of.thin,
            eager: false,
            mode: "persistent".to_owned(),
            file: format!("[{}] {1}/{1}.vmdk", self.name(datastore), of.name),
            datastore,
            uuid: self.identities.uuid("disk"),
            parent: None,
            policy: None,
            first_class: None,
        };
        self.take_space(datastore, disk.takes());
        devices.push(Device {
            key: 2000,
            controller: Some(SCSI_CONTROLLER),
            unit: Some(0),
            label: "Hard disk 1".to_owned(),
            what: What::Disk(disk),
        });
        for (at, network) in networks.into_iter().enumerate() {
            let what = What::Nic(Nic {
                model: "VirtualVmxnet3".to_owned(),
                mac: self.identities.mac(),
                address_type: "assigned".to_owned(),
                network,
                start_connected: true,
            });
            devices.push(Device {
                key: device::free_key(&devices, &what),
                controller: Some(device::PCI_CONTROLLER),
                unit: Some(7 + at as i32),
                label: format!("Network adapter {}", at + 1),
                what,
            });
        }
        devices
    }

    /// What the guest of a VM calls itself.
    pub(crate) fn guest_of(&self, vm: Ref) -> Option<Guest> {
        self.vms.get(&vm).filter(|vm| vm.tools)?;
        let [_, _, high, low] = vm.number.to_be_bytes();
        let host_name = self.name(vm).to_owned();
        Some(Guest { host_name, ip: format!("10.20.{high}.{low}") })
    }

    fn one_of(&self, kind: Kind, name: &str, dc: Ref) -> Option<Ref> {
        let keys: Box<dyn Iterator<Item = &Ref>> = match kind {
            Kind::HostSystem => Box::new(self.hosts.keys()),
            Kind::Datastore => Box::new(self.datastores.keys()),
            _ => return None,
        };
        let mut fits = keys.copied().filter(|object| {
            let inside = self.above(*object, Kind::Datacenter) == Some(dc);
            inside && (name.is_empty() || self.name(*object) == name)
        });
        fits.next()
    }

    /// The network of a name in a datacenter; any that VMs may use if the name is empty.
    fn network_named(&self, name: &str, dc: Ref) -> Option<Ref> {
        let mut fits = self.networks.iter().filter(|(object, network)| {
            let uplinks = matches!(network.kind, NetworkKind::Portgroup { uplinks: true, .. });
            let inside = self.above(**object, Kind::Datacenter) == Some(dc);
            inside && !uplinks && (name.is_empty() || self.name(**object) == name)
        });
        fits.next().map(|(object, _)| *object)
    }

    fn hosts_named(
        &self,
        names: &[String],
        dc: Ref,
        object: &str,
    ) -> Result<BTreeSet<Ref>, InventoryError> {
        if names.is_empty() {
            let inside = |host: &Ref| self.above(*host, Kind::Datacenter) == Some(dc);
            return Ok(self.hosts.keys().copied().filter(inside).collect());
        }
        let find = |name: &String| {
            let host = self.one_of(Kind::HostSystem, name, dc);
            host.ok_or_else(|| missing(object, "hosts", name, "add it to one of the clusters"))
        };
        names.iter().map(find).collect()
    }
}

fn missing(object: &str, field: &'static str, value: &str, remedy: &str) -> InventoryError {
    InventoryError {
        object: object.to_owned(),
        field,
        value: value.to_owned(),
        problem: "is not there",
        remedy: remedy.to_owned(),
    }
}
