//! What a simulated Proxmox VE cluster looks after when it starts.

mod behaviour;
mod small;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use bytes::Bytes;
use jiff::Timestamp;

pub use behaviour::{Behaviour, Durations, ErrorStyle};

/// A cluster. Several clusters are several of these, as each has an API of its own.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The cluster's name.
    pub cluster: String,
    /// Hosts; the first is the one that answers.
    pub nodes: Vec<Node>,
    /// Storages.
    pub storages: Vec<Storage>,
    /// VMs, containers and templates.
    pub guests: Vec<Guest>,
    /// Pools by their names, with their members.
    pub pools: BTreeMap<String, BTreeSet<u32>>,
    /// Users by their ids, such as `root@pam`.
    pub users: BTreeMap<String, User>,
    /// Tokens by their ids, such as `kubernetes@pve!karpenter`.
    pub tokens: BTreeMap<String, Token>,
    /// Names of security groups.
    pub security_groups: Vec<String>,
    /// Names of IP sets of the cluster.
    pub ip_sets: Vec<String>,
    /// PCI mappings: the names, and the nodes that have the device.
    pub pci_mappings: BTreeMap<String, Vec<String>>,
    /// What there is to download, by its URL.
    pub downloads: BTreeMap<String, Bytes>,
    /// The lowest and the highest VMID that `nextid` gives out.
    pub next_id: Option<(u32, u32)>,
    /// Who may write which tags.
    pub tag_policy: TagPolicy,
    /// How it behaves.
    pub behaviour: Behaviour,
}

/// A host.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// The model of its CPUs.
    pub model: String,
    /// How many sockets it has.
    pub sockets: u32,
    /// How many cores a socket has.
    pub cores: u32,
    /// How many CPUs that are.
    pub cpus: u32,
    /// Its memory.
    pub memory: u64,
    /// Its bridges, and the networks they have.
    pub bridges: BTreeMap<String, Option<String>>,
}

/// A storage.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Its name.
    pub name: String,
    /// Its type, such as `lvmthin`, `dir` or `nfs`.
    pub kind: String,
    /// What it may hold, such as `images` or `iso`.
    pub content: Vec<String>,
    /// Whether all nodes see the same.
    pub shared: bool,
    /// The nodes that have it; all if empty.
    pub nodes: Vec<String>,
    /// Its size in bytes, on each node unless it is shared.
    pub size: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// A VM, a container, or a template.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its id.
    pub vmid: u32,
    /// Its node.
    pub node: String,
    /// Whether it is a container.
    pub container: bool,
    /// Whether it runs.
    pub running: bool,
    /// Its configuration. Volumes that it names are made, as large as `size` says.
    pub config: BTreeMap<String, String>,
    /// Whether high availability looks after it.
    pub ha: bool,
}

/// A user.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The password.
    pub password: String,
    /// What the user may do.
    pub grants: Vec<Grant>,
}

/// A token.
#[derive(Clone, Default)]
pub struct Token {
    /// The secret.
    pub secret: String,
    /// Whether it has only what it was granted itself, out of what its user may do.
    pub separated: bool,
    /// What it was granted.
    pub grants: Vec<Grant>,
    /// When it ends.
    pub expires: Option<Timestamp>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("separated", &self.separated).finish_non_exhaustive()
    }
}

/// Privileges on a path.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The path.
    pub path: String,
    /// The privileges.
    pub privileges: BTreeSet<String>,
    /// Whether they are good below the path too.
    pub propagates: bool,
}

impl Grant {
    /// Privileges, separated by spaces, on a path and below.
    pub fn new(path: &str, privileges: &str) -> Self {
        let privileges = privileges.split_whitespace().map(str::to_owned).collect();
        Self { path: path.to_owned(), privileges, propagates: true }
    }
}

/// Who may write which tags (`user-tag-access` and `registered-tags`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagPolicy {
    /// Whether users may write tags of their own.
    pub access: TagAccess,
    /// Tags that need `Sys.Modify`.
    pub registered: BTreeSet<String>,
}

/// Which tags users may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagAccess {
    /// Any.
    #[default]
    Free,
    /// Those that exist.
    Existing,
    /// None.
    None,
}

/// Why an inventory cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {problem}")]
pub struct InventoryError {
    /// The object.
    pub object: String,
    /// What is wrong with it.
    pub problem: String,
}
