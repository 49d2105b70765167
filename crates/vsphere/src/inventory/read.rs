//! From properties to what they mean.

use std::collections::BTreeMap;

use joiner_vim::{MoRef, Object, inventory_name, spec::Backing};

use super::{Cluster, Datastore, Named, Network, Pool};

/// Properties that everything has by which its path is known.
pub(crate) const ANYTHING: &[&str] = &["name", "parent"];
/// Properties of folders, datacenters and datastore clusters.
pub(crate) const FOLDERS: &[&str] = ANYTHING;
/// Properties of clusters.
pub(crate) const CLUSTERS: &[&str] =
    &["name", "parent", "resourcePool", "datastore", "network", "host"];
/// Properties of resource pools.
pub(crate) const POOLS: &[&str] = &["name", "parent", "owner"];
/// Properties of datastores.
pub(crate) const DATASTORES: &[&str] = &[
    "name",
    "parent",
    "summary.accessible",
    "summary.maintenanceMode",
    "summary.freeSpace",
    "summary.capacity",
];
/// Properties of networks of standard switches.
pub(crate) const NETWORKS: &[&str] = ANYTHING;
/// Properties of port groups of distributed switches.
pub(crate) const PORT_GROUPS: &[&str] =
    &["name", "parent", "key", "config.uplink", "config.distributedVirtualSwitch"];
/// Properties of networks that something else than vSphere manages.
pub(crate) const OPAQUE_NETWORKS: &[&str] =
    &["name", "parent", "summary.opaqueNetworkId", "summary.opaqueNetworkType"];

/// No inventory is as deep as this; a loop in what a server says must end.
const DEPTH_MAX: usize = 64;

/// Names and parents of everything that paths lead through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths(BTreeMap<MoRef, (String, Option<MoRef>)>);

impl Paths {
    /// Paths that begin below the root of everything, whose name no path mentions.
    pub(crate) fn with_root(root: &MoRef) -> Self {
        Self([(root.clone(), (String::new(), None))].into())
    }

    /// Paths that begin at something whose own path is known.
    pub(crate) fn below(named: &Named) -> Self {
        let path = named.path.trim_start_matches('/').to_owned();
        Self([(named.reference.clone(), (path, None))].into())
    }

    /// Learns of more.
    pub(crate) fn learn(&mut self, objects: &[Object]) {
        for object in objects {
            // Where paths begin was said before.
            let known = self.0.entry(object.reference.clone());
            known.or_insert_with(|| (name(object), object.reference("parent")));
        }
    }

    /// An object, and all that it is in, as far as paths lead through it.
    fn lineage(&self, object: &Object) -> Vec<MoRef> {
        let mut lineage = vec![object.reference.clone()];
        let mut parent = object.reference("parent");
        while let Some(own) = parent.filter(|_| lineage.len() < DEPTH_MAX) {
            parent = self.0.get(&own).and_then(|(_, next)| next.clone());
            lineage.push(own);
        }
        lineage
    }

    /// What is known of an object that has a name.
    pub(crate) fn named(&self, object: &Object) -> Named {
        let mut parts = vec![name(object)];
        let mut parent = object.reference("parent");
        for _ in 0..DEPTH_MAX {
            let Some((name, next)) = parent.as_ref().and_then(|parent| self.0.get(parent)) else {
                break;
            };
            if !name.is_empty() {
                parts.push(name.clone());
            }
            parent.clone_from(next);
        }
        parts.reverse();
        Named {
            reference: object.reference.clone(),
            name: name(object),
            path: format!("/{}", parts.join("/")),
        }
    }
}

fn name(object: &Object) -> String {
    inventory_name::unescaped(object.text("name").unwrap_or_default())
}

impl Cluster {
    pub(crate) fn read(object: &Object, paths: &Paths) -> Option<Self> {
        Some(Self {
            named: paths.named(object),
            root_pool: object.reference("resourcePool")?,
            datastores: object.references("datastore"),
            networks: object.references("network"),
            hosts: object.references("host"),
            lineage: paths.lineage(object),
        })
    }
}

impl Pool {
    pub(crate) fn read(object: &Object, paths: &Paths) -> Option<Self> {
        Some(Self {
            named: paths.named(object),
            owner: object.reference("owner")?,
            lineage: paths.lineage(object),
        })
    }
}

impl Datastore {
    pub(crate) fn read(object: &Object, paths: &Paths) -> Self {
        let maintenance = object.text("summary.maintenanceMode").unwrap_or("normal");
        Self {
            named: paths.named(object),
            usable: object.parse("summary.accessible") == Some(true) && maintenance == "normal",
            free: object.parse("summary.freeSpace").unwrap_or_default(),
            capacity: object.parse("summary.capacity").unwrap_or_default(),
            pod: object.reference("parent").filter(|parent| parent.kind == "StoragePod"),
        }
    }
}

impl Network {
    /// A network of a standard switch.
    pub(crate) fn standard(object: &Object, paths: &Paths) -> Self {
        let named = paths.named(object);
        let backing = Some(Backing::Network { device_name: named.name.clone() });
        Self { named, backing }
    }

    /// A port group of a distributed switch; none for one that leads out of the switch.
    pub(crate) fn port_group(
        object: &Object,
        paths: &Paths,
        switches: &BTreeMap<MoRef, String>,
    ) -> Option<Self> {
        if object.parse("config.uplink") == Some(true) {
            return None;
        }
        let switch = object.reference("config.distributedVirtualSwitch");
        let switch_uuid = switch.and_then(|switch| switches.get(&switch).cloned());
        let key = object.text("key").map(str::to_owned);
        let backing = switch_uuid.zip(key).map(|(switch_uuid, portgroup_key)| {
            Backing::DistributedPort { switch_uuid, portgroup_key }
        });
        Some(Self { named: paths.named(object), backing })
    }

    /// A network that something else than vSphere manages.
    pub(crate) fn opaque(object: &Object, paths: &Paths) -> Self {
        let text = |path: &str| object.text(path).map(str::to_owned);
        let backing = text("summary.opaqueNetworkId")
            .zip(text("summary.opaqueNetworkType"))
            .map(|(id, kind)| Backing::OpaqueNetwork { id, kind });
        Self { named: paths.named(object), backing }
    }
}
