//! What a simulated CloudStack looks after at first, in words.
//!
//! Objects refer to each other by name. Ids follow from the inventory's seed.

mod behaviour;
mod small;

use std::collections::BTreeMap;

pub use behaviour::{Behaviour, Durations, Throttle};

/// An inventory that refers to something that is not in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the inventory has no {kind} {name:?}, to which {referrer} refers")]
pub struct InventoryError {
    /// Of which kind it would be.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What refers to it.
    pub referrer: String,
}

/// Everything that there is.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Domains beside `ROOT`.
    pub domains: Vec<String>,
    /// Accounts, each with one user.
    pub accounts: Vec<Account>,
    /// Projects.
    pub projects: Vec<Project>,
    /// Zones.
    pub zones: Vec<Zone>,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Guest networks.
    pub networks: Vec<Network>,
    /// Templates.
    pub templates: Vec<Template>,
    /// Service offerings.
    pub service_offerings: Vec<ServiceOffering>,
    /// Disk offerings.
    pub disk_offerings: Vec<DiskOffering>,
    /// SSH key pairs: account and name.
    pub key_pairs: Vec<(String, String)>,
    /// Affinity groups: account, name, type.
    pub affinity_groups: Vec<(String, String, String)>,
    /// Security groups: account and name.
    pub security_groups: Vec<(String, String)>,
    /// VMs that run already.
    pub vms: Vec<Vm>,
    /// How it behaves.
    pub behaviour: Behaviour,
    /// What ids follow from.
    pub seed: u64,
}

/// What an account may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountKind {
    /// Everything.
    RootAdmin,
    /// What concerns its domain.
    DomainAdmin,
    /// What concerns itself.
    #[default]
    User,
}

/// An account with one user of the same name.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its domain; `ROOT` if empty.
    pub domain: String,
    /// What it may do.
    pub kind: AccountKind,
    /// The key that requests name.
    pub api_key: String,
    /// The key that requests are signed with.
    pub secret_key: String,
    /// Commands that its role lacks, besides those that its kind lacks.
    pub lacks: Vec<String>,
    /// Limits by the name of the resource, such as `user_vm` or `cpu`; no limit without.
    pub limits: BTreeMap<String, u64>,
    /// Whether its key is refused.
    pub disabled: bool,
}

/// A project.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// The accounts that may use it.
    pub members: Vec<String>,
    /// Limits by the name of the resource.
    pub limits: BTreeMap<String, u64>,
}

/// A zone.
#[derive(Clone, Debug, Default)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Whether it takes no new VMs.
    pub disabled: bool,
    /// Whether it has security groups.
    pub security_groups: bool,
    /// Whether its hosts offer their own disks.
    pub local_storage: bool,
}

/// A host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its zone.
    pub zone: String,
    /// Cores.
    pub cores: u32,
    /// The speed of each, in MHz.
    pub mhz: u32,
    /// Memory.
    pub memory_mib: u64,
    /// GPUs.
    pub gpus: u32,
    /// Tags that offerings ask for.
    pub tags: Vec<String>,
}

/// A guest network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its zone.
    pub zone: String,
    /// `Isolated`, `Shared` or `L2`.
    pub kind: String,
    /// `Allocated`, `Implemented` or another state.
    pub state: String,
    /// The account that it is of; of all if empty.
    pub account: String,
    /// The project that it is of; of none if empty.
    pub project: String,
    /// How many addresses it has for guests.
    pub addresses: u32,
    /// The first three numbers of its addresses, such as `10.1.1`.
    pub prefix: String,
    /// Whether it gives guests their user data.
    pub user_data: bool,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// A template.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// The account that it is of.
    pub account: String,
    /// Whether all accounts may use it.
    pub public: bool,
    /// The zones in which it is ready.
    pub ready_in: Vec<String>,
    /// The zones in which it is not ready yet.
    pub pending_in: Vec<String>,
    /// `x86_64` or `aarch64`.
    pub arch: String,
    /// Its hypervisor.
    pub hypervisor: String,
    /// The size of its disk.
    pub size_gib: u64,
    /// The name of its type of operating system.
    pub os_type: String,
    /// `USER`, `SYSTEM`, `BUILTIN`, `ROUTING` or `VNF`.
    pub kind: String,
    /// What it does with user data of VMs; empty if it has none of its own.
    pub user_data_policy: String,
    /// Whether it is for nodes of CloudStack's own Kubernetes service.
    pub for_cks: bool,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// A service offering.
#[derive(Clone, Debug, Default)]
pub struct ServiceOffering {
    /// Its name.
    pub name: String,
    /// CPUs; none if VMs choose.
    pub cpus: Option<u32>,
    /// The speed of each in MHz; none if VMs choose.
    pub mhz: Option<u32>,
    /// Memory; none if VMs choose.
    pub memory_mib: Option<u64>,
    /// The zones that it is for; all if empty.
    pub zones: Vec<String>,
    /// The domain that it is for; all if empty.
    pub domain: String,
    /// Whether its disks are those of hosts.
    pub local_storage: bool,
    /// Host tags that it asks for.
    pub host_tags: Vec<String>,
    /// The size of the root disk; 0 for the template's.
    pub root_disk_gib: u64,
    /// Whether new VMs may not use it any more.
    pub inactive: bool,
    /// GPUs of each VM.
    pub gpus: u32,
    /// Details, the constraints of customized ones among them.
    pub details: BTreeMap<String, String>,
}

/// A disk offering.
#[derive(Clone, Debug, Default)]
pub struct DiskOffering {
    /// Its name.
    pub name: String,
    /// Its size; none if volumes choose.
    pub size_gib: Option<u64>,
    /// The zones that it is for; all if empty.
    pub zones: Vec<String>,
}

/// A VM that runs already.
#[derive(Clone, Debug, Default)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// The account that it is of.
    pub account: String,
    /// The project that it is of; of none if empty.
    pub project: String,
    /// Its network, which also says the zone.
    pub network: String,
    /// Its template.
    pub template: String,
    /// Its offering.
    pub offering: String,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}
