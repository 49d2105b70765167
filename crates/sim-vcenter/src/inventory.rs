//! What a vCenter looks after when it starts, as a description.

mod behaviour;

pub use behaviour::{About, Behaviour, Durations};

/// Everything a vCenter starts with.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// What it says about itself.
    pub about: About,
    /// Who may log in.
    pub accounts: Vec<Account>,
    /// Its datacenters.
    pub datacenters: Vec<Datacenter>,
    /// Its storage policies.
    pub storage_policies: Vec<StoragePolicy>,
    /// How it behaves where real ones differ, and how long things take.
    pub behaviour: Behaviour,
}

impl Inventory {
    /// One datacenter `dc1` with what a provider needs: a cluster `cluster1` of three hosts, two
    /// datastores and a datastore cluster, networks of every kind, a folder `k8s`, and a template
    /// `ubuntu-2404` with a snapshot. `datastore2` meets the storage policy `gold`.
    /// `administrator@vsphere.local` has the password `secret`.
    pub fn small() -> Self {
        let mut dc = Datacenter::new("dc1");
        dc.folders = vec!["k8s".into(), "templates".into()];
        let mut cluster = Cluster::new("cluster1");
        cluster.hosts = (1..=3).map(|n| Host::new(&format!("esx{n}"), 32, 256)).collect();
        cluster.pools = vec!["workers".into()];
        cluster.vm_groups = vec!["rack1".into()];
        dc.clusters = vec![cluster];
        dc.datastores = vec![
            Datastore::new("datastore1", 2_000),
            Datastore::new("datastore2", 4_000),
            Datastore::new("pod-a", 1_000),
            Datastore::new("pod-b", 1_500),
        ];
        dc.datastore_clusters =
            vec![("pod1".to_owned(), vec!["pod-a".to_owned(), "pod-b".to_owned()])];
        let dvs = |name: &str, uplinks| Network {
            kind: NetworkKind::Distributed { switch: "dvs1".into(), uplinks },
            ..Network::new(name)
        };
        dc.networks = vec![
            Network::new("VM Network"),
            dvs("workers", false),
            dvs("dvs1-uplinks", true),
            Network { kind: NetworkKind::Opaque, ..Network::new("segment1") },
        ];
        let mut template = Vm::template("ubuntu-2404");
        template.folder = "templates".into();
        template.snapshots = vec!["base".into()];
        dc.vms = vec![template];
        Self {
            accounts: vec![Account::administrator("administrator@vsphere.local", "secret")],
            datacenters: vec![dc],
            storage_policies: vec![StoragePolicy {
                name: "gold".into(),
                datastores: vec!["datastore2".into()],
            }],
            ..Self::default()
        }
    }
}

/// A storage policy.
#[derive(Clone, Debug)]
pub struct StoragePolicy {
    /// Its name.
    pub name: String,
    /// The names of the datastores that meet it.
    pub datastores: Vec<String>,
}

/// An account that may log in.
#[derive(Clone, Debug)]
pub struct Account {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
    /// What it may do where; none for everything everywhere.
    pub grants: Option<Vec<Grant>>,
}

impl Account {
    /// An account that may do everything.
    pub fn administrator(user: &str, password: &str) -> Self {
        Self { user: user.to_owned(), password: password.to_owned(), grants: None }
    }

    /// An account that may do nothing yet.
    pub fn new(user: &str, password: &str) -> Self {
        Self { grants: Some(Vec::new()), ..Self::administrator(user, password) }
    }

    /// Lets the account do more. Every grant on an object includes the right to read it.
    pub fn grant(mut self, on: &str, propagate: bool, privileges: &[&str]) -> Self {
        let privileges = privileges.iter().map(|&id| id.to_owned()).collect();
        let grant = Grant { on: on.to_owned(), propagate, privileges };
        self.grants.get_or_insert_default().push(grant);
        self
    }
}

/// What an account may do with an object.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The object's inventory path, such as `/dc1/vm/k8s`; `/` for the root.
    pub on: String,
    /// Whether what lies below is meant too, as far as nothing else is granted there.
    pub propagate: bool,
    /// Ids of privileges, such as `VirtualMachine.Interact.PowerOn`.
    pub privileges: Vec<String>,
}

/// A datacenter.
#[derive(Clone, Debug, Default)]
pub struct Datacenter {
    /// Its name.
    pub name: String,
    /// Folders of VMs, as paths below `vm`.
    pub folders: Vec<String>,
    /// Its clusters.
    pub clusters: Vec<Cluster>,
    /// Its datastores.
    pub datastores: Vec<Datastore>,
    /// Clusters of datastores: a name, and the names of those that belong to it.
    pub datastore_clusters: Vec<(String, Vec<String>)>,
    /// Its networks.
    pub networks: Vec<Network>,
    /// Its VMs and templates.
    pub vms: Vec<Vm>,
}

impl Datacenter {
    /// An empty one.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// A cluster of hosts.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its hosts.
    pub hosts: Vec<Host>,
    /// Resource pools, as paths below `Resources`.
    pub pools: Vec<String>,
    /// Whether a VM may be powered on elsewhere than where it lies (DRS).
    pub drs: bool,
    /// Whether the VMs of a host that fails are started on others (HA).
    pub ha: bool,
    /// How many hosts' worth of memory is kept for failures (HA admission control).
    pub failover_hosts: usize,
    /// Names of groups that VMs can be put into (DRS).
    pub vm_groups: Vec<String>,
}

impl Cluster {
    /// An empty one, with DRS and without HA.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hosts: Vec::new(),
            pools: Vec::new(),
            drs: true,
            ha: false,
            failover_hosts: 0,
            vm_groups: Vec::new(),
        }
    }
}

/// A host.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Cores.
    pub cores: u32,
    /// What a core does.
    pub mhz: u32,
    /// Memory.
    pub memory_mib: u64,
}

impl Host {
    /// A host of this size.
    pub fn new(name: &str, cores: u32, memory_gib: u64) -> Self {
        Self { name: name.to_owned(), cores, mhz: 2_400, memory_mib: memory_gib * 1024 }
    }
}

/// A datastore.
#[derive(Clone, Debug)]
pub struct Datastore {
    /// Its name.
    pub name: String,
    /// How much it holds.
    pub capacity_gib: u64,
    /// What is used by others than the instances of the inventory.
    pub used_gib: u64,
    /// Which hosts have it; all if empty.
    pub hosts: Vec<String>,
}

impl Datastore {
    /// An empty one that all hosts have.
    pub fn new(name: &str, capacity_gib: u64) -> Self {
        Self { name: name.to_owned(), capacity_gib, used_gib: 0, hosts: Vec::new() }
    }
}

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// What makes it.
    pub kind: NetworkKind,
    /// Which hosts have it; all if empty.
    pub hosts: Vec<String>,
}

impl Network {
    /// A standard network that all hosts have.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), kind: NetworkKind::Standard, hosts: Vec::new() }
    }
}

/// What makes a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkKind {
    /// Switches of the hosts.
    Standard,
    /// A switch over all hosts; this is one of its port groups.
    Distributed {
        /// The switch's name.
        switch: String,
        /// Whether the group is the way out of the switch, and not for VMs.
        uplinks: bool,
    },
    /// Something that vCenter does not manage.
    Opaque,
}

/// A VM or a template.
#[derive(Clone, Debug)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// Its folder, as a path below `vm`; empty for `vm` itself.
    pub folder: String,
    /// Its host; the first one if empty.
    pub host: String,
    /// Its datastore; the first one if empty.
    pub datastore: String,
    /// The networks of its NICs; one NIC in the first network if none are named.
    pub networks: Vec<String>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The size of its disk.
    pub disk_gib: u64,
    /// What of the disk is written; a thin disk takes this much.
    pub written_gib: u64,
    /// Whether the disk is thin.
    pub thin: bool,
    /// Whether it is a template.
    pub template: bool,
    /// Names of its snapshots, oldest first.
    pub snapshots: Vec<String>,
    /// Whether it runs.
    pub powered_on: bool,
    /// The guest system.
    pub guest_id: String,
    /// The version of the virtual hardware, as 19.
    pub hardware: u32,
    /// What it boots by: `efi` or `bios`.
    pub firmware: String,
    /// The layout of its mainboard, `acpiHostBridges` or `i440bxHostBridge`; older servers say none.
    pub mainboard: Option<String>,
    /// Whether the guest tools are installed.
    pub tools: bool,
    /// Whether it has vApp properties, as appliances do.
    pub vapp: bool,
    /// Keys of `extraConfig`.
    pub extra_config: Vec<(String, String)>,
}

impl Vm {
    /// A VM that is off.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            folder: String::new(),
            host: String::new(),
            datastore: String::new(),
            networks: Vec::new(),
            cpus: 2,
            memory_mib: 4096,
            disk_gib: 20,
            written_gib: 5,
            thin: true,
            template: false,
            snapshots: Vec::new(),
            powered_on: false,
            guest_id: "ubuntu64Guest".to_owned(),
            hardware: 19,
            firmware: "efi".to_owned(),
            mainboard: None,
            tools: true,
            vapp: false,
            extra_config: Vec::new(),
        }
    }

    /// A template.
    pub fn template(name: &str) -> Self {
        Self { template: true, ..Self::new(name) }
    }
}

/// A description that does not hold together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field} {value:?} {problem}; {remedy}")]
pub struct InventoryError {
    /// What is described wrongly.
    pub object: String,
    /// Which field of it.
    pub field: &'static str,
    /// What stands there.
    pub value: String,
    /// What is wrong with that.
    pub problem: &'static str,
    /// What would be right.
    pub remedy: String,
}
