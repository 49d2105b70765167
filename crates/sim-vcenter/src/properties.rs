//! Properties of objects, as clients read them.

mod compute;
mod devices;
mod network;
pub(crate) mod service;
mod storage;
mod task;
mod vm;

use crate::{
    reference::{Kind, Ref, WITHOUT_OBJECTS},
    session::Viewer,
    wire::value::{Step, Value, steps},
    world::World,
};

/// A property of an object. `None` if objects of this kind have no such property.
pub(crate) fn property<'w>(
    world: &'w World,
    viewer: &Viewer,
    object: Ref,
    name: &str,
) -> Option<Value<'w>> {
    if object.kind.is_entity()
        && let Some(value) = of_entity(world, object, name)
    {
        return Some(value);
    }
    match object.kind {
        Kind::Folder => folder(world, object, name),
        Kind::Datacenter => datacenter(world, object, name),
        Kind::ClusterComputeResource => compute::cluster(world, object, name),
        Kind::HostSystem => compute::host(world, object, name),
        Kind::ResourcePool => compute::pool(world, object, name),
        Kind::Datastore => storage::datastore(world, object, name),
        Kind::StoragePod => storage::pod(world, object, name),
        Kind::Network | Kind::DistributedVirtualPortgroup | Kind::OpaqueNetwork => {
            network::network(world, viewer, object, name)
        }
        Kind::DistributedVirtualSwitch => network::switch(world, object, name),
        Kind::VirtualMachine => vm::vm(world, object, name),
        Kind::VirtualMachineSnapshot => vm::snapshot(world, object, name),
        Kind::Task => task::task(world, object, name),
        _ => service::of_service(world, viewer, object, name),
    }
}

/// What all objects of the inventory have.
fn of_entity<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let tree = &world.estate.tree;
    Some(match name {
        "name" => Value::text(tree.name(object)),
        "parent" => Value::maybe(tree.parent(object), Value::Ref),
        "overallStatus" | "configStatus" => status(),
        "recentTask" => Value::refs(world.tasks.recent_of(object)),
        "customValue" | "value" => Value::List("CustomFieldValue", Vec::new()),
        "tag" if object.kind != Kind::DistributedVirtualPortgroup => Value::List("Tag", Vec::new()),
        _ => return None,
    })
}

pub(crate) fn status() -> Value<'static> {
    Value::word("ManagedEntityStatus", "green")
}

fn folder<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let tree = &world.estate.tree;
    Some(match name {
        "childEntity" => Value::refs(tree.children(object)),
        "childType" => {
            let types: &[&str] = match top_folder(world, object) {
                "vm" => &["Folder", "VirtualMachine", "VirtualApp"],
                "host" => &["Folder", "ComputeResource"],
                "datastore" => &["Folder", "Datastore", "StoragePod"],
                "network" => &["Folder", "Network", "DistributedVirtualSwitch"],
                _ => &["Folder", "Datacenter"],
            };
            Value::texts(types.iter().copied())
        }
        _ => return None,
    })
}

/// The name of the datacenter's own folder that a folder lies in.
fn top_folder(world: &World, object: Ref) -> &str {
    let tree = &world.estate.tree;
    let mut above = tree.upwards(object);
    let top = above.find(|at| tree.parent(*at).is_some_and(|p| p.kind == Kind::Datacenter));
    top.map_or("", |top| tree.name(top))
}

fn datacenter<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let folders = world.estate.datacenters.get(&object)?;
    let inside = |at: &Ref| world.estate.above(*at, Kind::Datacenter) == Some(object);
    Some(match name {
        "vmFolder" => Value::Ref(folders.vm),
        "hostFolder" => Value::Ref(folders.host),
        "datastoreFolder" => Value::Ref(folders.datastore),
        "networkFolder" => Value::Ref(folders.network),
        "datastore" => Value::refs(world.estate.datastores.keys().copied().filter(inside)),
        "network" => Value::refs(world.estate.networks.keys().copied().filter(inside)),
        _ => return None,
    })
}

/// Reads one object, each of its properties at most once.
#[derive(Debug)]
pub(crate) struct ObjectReader<'w> {
    world: &'w World,
    viewer: &'w Viewer,
    object: Ref,
    read: Vec<(String, Option<Value<'w>>)>,
}

impl<'w> ObjectReader<'w> {
    pub(crate) fn new(world: &'w World, viewer: &'w Viewer, object: Ref) -> Self {
        Self { world, viewer, object, read: Vec::new() }
    }

    /// What a path leads to; none if there is no such path.
    pub(crate) fn value(&mut self, path: &str) -> Option<&Value<'w>> {
        let steps = steps(path)?;
        let Some(Step::Field(first)) = steps.first().copied() else { return None };
        let (part, taken) = match self.object.kind {
            Kind::VirtualMachine => vm::part(first, &steps[1..]),
            _ => (first, 1),
        };
        let known = self.read.iter().position(|(name, _)| name == part);
        let at = known.unwrap_or_else(|| {
            let value = property(self.world, self.viewer, self.object, part);
            self.read.push((part.to_owned(), value));
            self.read.len() - 1
        });
        self.read[at].1.as_ref()?.follow(&steps[taken..])
    }

    /// The same, written as an element that says what it is; empty where it is unset.
    pub(crate) fn write(&mut self, path: &str, tag: &str) -> Option<String> {
        if self.object.kind == Kind::Task && self.world.tasks.is_unreadable(self.object) {
            return Some(task::unreadable(path, tag));
        }
        let value = self.value(path)?;
        let mut out = String::new();
        value.write_any(&mut out, tag);
        Some(out)
    }
}

/// Whether objects of a type have a property of this name; the type may be an abstract one.
pub(crate) fn is_property(kind: &str, name: &str) -> bool {
    const OF_ALL_ENTITIES: [&str; 4] = ["configStatus", "customValue", "value", "tag"];
    let kind = match kind {
        // It is a pool of resources in which VMs are started together.
        WITHOUT_OBJECTS => Kind::ResourcePool.name(),
        // A cluster has what a host without a cluster has.
        "ComputeResource" => Kind::ClusterComputeResource.name(),
        other => other,
    };
    let own = Kind::named(kind).map(names).unwrap_or_default();
    let entity = Kind::named(kind).is_none_or(Kind::is_entity);
    own.contains(&name) || entity && (OF_ALL_ENTITIES.contains(&name) || ENTITY.contains(&name))
}

/// What all entities have.
const ENTITY: [&str; 4] = ["name", "parent", "overallStatus", "recentTask"];

/// The names of all properties that objects of a kind have.
pub(crate) fn names(kind: Kind) -> Vec<&'static str> {
    let own: &[&'static str] = match kind {
        Kind::Folder => &["childEntity", "childType"],
        Kind::Datacenter => {
            &["vmFolder", "hostFolder", "datastoreFolder", "networkFolder", "datastore", "network"]
        }
        Kind::ClusterComputeResource => {
            &["host", "datastore", "network", "resourcePool", "summary", "configurationEx"]
        }
        Kind::HostSystem => &["runtime", "summary", "hardware", "vm", "datastore", "network"],
        Kind::ResourcePool => &["owner", "resourcePool", "vm", "config", "runtime", "summary"],
        Kind::Datastore => &["summary", "info", "host", "vm"],
        Kind::StoragePod => &["summary", "childEntity", "childType", "podStorageDrsEntry"],
        Kind::Network | Kind::OpaqueNetwork => &["summary", "host", "vm"],
        Kind::DistributedVirtualPortgroup => &["summary", "host", "vm", "key", "config", "tag"],
        Kind::DistributedVirtualSwitch => &["uuid", "portgroup", "summary", "config"],
        Kind::VirtualMachine => &[
            "config",
            "runtime",
            "summary",
            "guest",
            "datastore",
            "network",
            "resourcePool",
            "snapshot",
            "parentVApp",
            "guestHeartbeatStatus",
        ],
        Kind::VirtualMachineSnapshot => &["vm", "childSnapshot"],
        Kind::Task => &["info"],
        Kind::ContainerView => &["view", "container", "type", "recursive"],
        Kind::ListView => &["view"],
        Kind::ServiceInstance => &["serverClock", "content"],
        Kind::SessionManager => &["currentSession"],
        Kind::TaskManager => &["recentTask"],
        Kind::ViewManager => &["viewList"],
        Kind::PropertyCollector => &["filter"],
        _ => &[],
    };
    let entity = ENTITY.into_iter().filter(|_| kind.is_entity());
    entity.chain(own.iter().copied()).collect()
}
