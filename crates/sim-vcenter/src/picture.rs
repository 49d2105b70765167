//! A picture of a vCenter at one moment, for views and for tests.

use serde::Serialize;

use crate::{
    VCenter,
    estate::vm::Power,
    reference::{Kind, Ref},
    world::World,
};

/// Everything that is worth drawing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// All hosts.
    pub hosts: Vec<HostPicture>,
    /// All datastores.
    pub datastores: Vec<DatastorePicture>,
    /// All VMs and templates.
    pub vms: Vec<VmPicture>,
    /// Tasks that have not ended, oldest first.
    pub tasks: Vec<TaskPicture>,
    /// Tasks that failed and are not forgotten yet, oldest first.
    pub failed: Vec<FailedTask>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPicture {
    /// Its name.
    pub name: String,
    /// Its cluster's name.
    pub cluster: String,
    /// Whether it can be spoken to.
    pub connected: bool,
    /// Whether it is in maintenance mode.
    pub maintenance: bool,
    /// Cores.
    pub cores: u32,
    /// Virtual CPUs that run on it.
    pub cpus_used: u64,
    /// Memory.
    pub memory_mib: u64,
    /// Memory of the VMs that run on it.
    pub memory_used_mib: u64,
    /// How many VMs run on it.
    pub vms: usize,
}

/// A datastore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatastorePicture {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub capacity_bytes: u64,
    /// What is used of it.
    pub used_bytes: u64,
    /// Whether it is accessible and not in maintenance.
    pub usable: bool,
}

/// A VM or a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VmPicture {
    /// Its name.
    pub name: String,
    /// Its id, as `vm-42`.
    pub id: String,
    /// The inventory path of its folder.
    pub folder: String,
    /// Its BIOS uuid.
    pub uuid: String,
    /// The uuid of the instance.
    pub instance_uuid: String,
    /// Whether it is a template.
    pub template: bool,
    /// Whether it runs.
    pub powered_on: bool,
    /// Whether its guest is up.
    pub booted: bool,
    /// Its host's name.
    pub host: String,
    /// Its resource pool's name; none for a template.
    pub pool: Option<String>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// Its tags, as category and name.
    pub tags: Vec<(String, String)>,
    /// The name of the datastore that it lies on.
    pub datastore: String,
    /// The files of its disks.
    pub disks: Vec<String>,
    /// Storage policies of its own files and of each disk; none where none was requested.
    pub policies: Vec<Option<String>>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskPicture {
    /// Its id, as `task-7`.
    pub id: String,
    /// What is done.
    pub method: String,
    /// To what.
    pub entity: String,
    /// What comes of it: the name of a clone.
    pub makes: Option<String>,
    /// `queued` or `running`.
    pub state: String,
    /// How far it is, in percent.
    pub progress: i32,
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedTask {
    /// Its id, as `task-7`.
    pub id: String,
    /// What was to be done.
    pub method: String,
    /// To what.
    pub entity: String,
    /// What would have come of it: the name of a clone.
    pub makes: Option<String>,
    /// The type of the fault.
    pub fault: String,
    /// The sentence for people.
    pub message: String,
}

impl VCenter {
    /// What it looks like now.
    pub fn picture(&self) -> Picture {
        self.look(|world| Picture {
            hosts: hosts(world),
            datastores: datastores(world),
            vms: world.estate.vms.keys().map(|vm| vm_picture(world, *vm)).collect(),
            tasks: tasks(world),
            failed: failed(world),
        })
    }

    /// What a VM looks like; none if there is none of that name.
    pub fn vm(&self, name: &str) -> Option<VmPicture> {
        self.look(|world| Some(vm_picture(world, world.estate.vm_named(name)?)))
    }
}

fn hosts(world: &World) -> Vec<HostPicture> {
    let estate = &world.estate;
    let loads = estate.loads();
    let hosts = estate.hosts.iter().map(|(reference, host)| {
        let load = loads.get(reference).copied().unwrap_or_default();
        let cluster = estate.above(*reference, Kind::ClusterComputeResource);
        HostPicture {
            name: estate.name(*reference).to_owned(),
            cluster: cluster.map(|cluster| estate.name(cluster).to_owned()).unwrap_or_default(),
            connected: host.connected,
            maintenance: host.maintenance,
            cores: host.cores,
            cpus_used: load.cpus,
            memory_mib: host.memory_mib,
            memory_used_mib: load.memory_mib,
            vms: load.vms,
        }
    });
    hosts.collect()
}

fn datastores(world: &World) -> Vec<DatastorePicture> {
    let datastores = world.estate.datastores.iter().map(|(reference, own)| DatastorePicture {
        name: world.estate.name(*reference).to_owned(),
        capacity_bytes: own.capacity_bytes,
        used_bytes: own.used_bytes,
        usable: own.is_usable(),
    });
    datastores.collect()
}

fn vm_picture(world: &World, reference: Ref) -> VmPicture {
    let estate = &world.estate;
    let own = &estate.vms[&reference];
    let mut folders: Vec<&str> =
        estate.tree.upwards(reference).skip(1).map(|at| estate.name(at)).collect();
    // The root has no part in paths.
    folders.pop();
    folders.reverse();
    VmPicture {
        name: estate.name(reference).to_owned(),
        id: reference.id(),
        folder: format!("/{}", folders.join("/")),
        uuid: own.uuid.clone(),
        instance_uuid: own.instance_uuid.clone(),
        template: own.template,
        powered_on: own.power == Power::On,
        booted: own.guest.is_some(),
        host: estate.name(own.host).to_owned(),
        pool: own.pool.map(|pool| estate.name(pool).to_owned()),
        cpus: own.cpus,
        memory_mib: own.memory_mib,
        tags: world.tagging.of(reference),
        datastore: estate.name(own.datastore).to_owned(),
        disks: own.disks().map(|disk| disk.file.clone()).collect(),
        policies: std::iter::once(&own.policy)
            .chain(own.disks().map(|disk| &disk.policy))
            .cloned()
            .collect(),
    }
}

fn tasks(world: &World) -> Vec<TaskPicture> {
    let tasks = world.tasks.open().map(|(reference, task)| TaskPicture {
        id: reference.id(),
        method: task.method.to_owned(),
        entity: task.entity_name.clone(),
        makes: task.makes.clone(),
        state: task.state.word().to_owned(),
        progress: task.progress().unwrap_or(0),
    });
    tasks.collect()
}

fn failed(world: &World) -> Vec<FailedTask> {
    let failed = world.tasks.failed().map(|(reference, task, fault)| FailedTask {
        id: reference.id(),
        method: task.method.to_owned(),
        entity: task.entity_name.clone(),
        makes: task.makes.clone(),
        fault: fault.kind.to_string(),
        message: fault.message.clone(),
    });
    failed.collect()
}
