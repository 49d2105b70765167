//! The objects of a vCenter that a class may refer to.
//!
//! Read by the provider's shell, chosen from by [`choose`](crate::choose).

mod read;
mod template;

pub(crate) use self::{
    read::{CLUSTERS, DATASTORES, FOLDERS, NETWORKS, OPAQUE_NETWORKS, POOLS, PORT_GROUPS, Paths},
    template::{DETAILS, Details, Disk, TEMPLATES, Template, disks, nics},
};

#[cfg(test)]
pub(crate) use self::template::Nic;

use joiner_cloud::unavailable::Scarce;
use joiner_vim::{MoRef, spec::Backing};

/// An object with a name and a path in the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// Which object.
    pub(crate) reference: MoRef,
    /// Its name, as people gave it.
    pub(crate) name: String,
    /// Where it is, `/DC0/host/DC0_C0`.
    pub(crate) path: String,
}

/// A cluster, or a host of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) named: Named,
    /// The resource pool that all others are in.
    pub(crate) root_pool: MoRef,
    /// Datastores that its hosts mount.
    pub(crate) datastores: Vec<MoRef>,
    /// Networks that its hosts see.
    pub(crate) networks: Vec<MoRef>,
    pub(crate) hosts: Vec<MoRef>,
    /// Itself, and all that it is in, from the inside to the datacenter.
    pub(crate) lineage: Vec<MoRef>,
}

/// A resource pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) named: Named,
    /// The cluster whose resources it has.
    pub(crate) owner: MoRef,
    /// Itself, and all that it is in, from the inside to the datacenter.
    pub(crate) lineage: Vec<MoRef>,
}

/// A datastore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datastore {
    pub(crate) named: Named,
    /// Whether it is reachable and not entering maintenance.
    pub(crate) usable: bool,
    /// Bytes that are free.
    pub(crate) free: u64,
    /// Bytes that it has.
    pub(crate) capacity: u64,
    /// The datastore cluster that it is in.
    pub(crate) pod: Option<MoRef>,
}

impl Datastore {
    /// Its space, which may be scarce.
    pub(crate) fn space(&self) -> Scarce {
        Scarce::Space(self.named.reference.to_string())
    }
}

/// A network that an adapter can be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) named: Named,
    /// The backing of an adapter in it; none where the account cannot see the switch.
    pub(crate) backing: Option<Backing>,
}

/// Everything in a datacenter that a class may refer to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inventory {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) datastores: Vec<Datastore>,
    pub(crate) networks: Vec<Network>,
    pub(crate) templates: Vec<Template>,
}
