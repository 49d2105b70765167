//! Names of managed objects: a kind, and an id that no other object has.

use std::fmt;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Folder,
    Datacenter,
    ClusterComputeResource,
    HostSystem,
    ResourcePool,
    Datastore,
    StoragePod,
    Network,
    DistributedVirtualPortgroup,
    OpaqueNetwork,
    DistributedVirtualSwitch,
    VirtualMachine,
    VirtualMachineSnapshot,
    Task,
    ContainerView,
    ListView,
    PropertyFilter,
    /// One instance always exists, and sessions create more.
    PropertyCollector,
    ServiceInstance,
    SessionManager,
    ViewManager,
    SearchIndex,
    TaskManager,
    AuthorizationManager,
    StorageResourceManager,
}

/// Every kind with its name on the wire, how its ids begin, and what it is besides (its ancestors).
/// Objects that exist once have their whole id there.
const KINDS: [(Kind, &str, &str, &[&str]); 25] = {
    use Kind::{
        AuthorizationManager, ClusterComputeResource, ContainerView, Datacenter, Datastore,
        DistributedVirtualPortgroup, DistributedVirtualSwitch, Folder, HostSystem, ListView,
        Network, OpaqueNetwork, PropertyCollector, PropertyFilter, ResourcePool, SearchIndex,
        ServiceInstance, SessionManager, StoragePod, StorageResourceManager, Task, TaskManager,
        ViewManager, VirtualMachine, VirtualMachineSnapshot,
    };
    const ENTITY: &[&str] = &["ManagedEntity", "ExtensibleManagedObject"];
    const NETWORK: &[&str] = &["Network", "ManagedEntity", "ExtensibleManagedObject"];
    [
        (Folder, "Folder", "group-", ENTITY),
        (Datacenter, "Datacenter", "datacenter-", ENTITY),
        (
            ClusterComputeResource,
            "ClusterComputeResource",
            "domain-c",
            &["ComputeResource", "ManagedEntity", "ExtensibleManagedObject"],
        ),
        (HostSystem, "HostSystem", "host-", ENTITY),
        (ResourcePool, "ResourcePool", "resgroup-", ENTITY),
        (Datastore, "Datastore", "datastore-", ENTITY),
        (
            StoragePod,
            "StoragePod",
            "group-p",
            &["Folder", "ManagedEntity", "ExtensibleManagedObject"],
        ),
        (Network, "Network", "network-", ENTITY),
        (DistributedVirtualPortgroup, "DistributedVirtualPortgroup", "dvportgroup-", NETWORK),
        (OpaqueNetwork, "OpaqueNetwork", "network-o", NETWORK),
        (
            DistributedVirtualSwitch,
            "VmwareDistributedVirtualSwitch",
            "dvs-",
            &["DistributedVirtualSwitch", "ManagedEntity", "ExtensibleManagedObject"],
        ),
        (VirtualMachine, "VirtualMachine", "vm-", ENTITY),
        (
            VirtualMachineSnapshot,
            "VirtualMachineSnapshot",
            "snapshot-",
            &["ExtensibleManagedObject"],
        ),
        (Task, "Task", "task-", &["ExtensibleManagedObject"]),
        (ContainerView, "ContainerView", "containerview-", &["ManagedObjectView", "View"]),
        (ListView, "ListView", "listview-", &["ManagedObjectView", "View"]),
        (PropertyFilter, "PropertyFilter", "filter-", &[]),
        (PropertyCollector, "PropertyCollector", "propertyCollector", &[]),
        (ServiceInstance, "ServiceInstance", "ServiceInstance", &[]),
        (SessionManager, "SessionManager", "SessionManager", &[]),
        (ViewManager, "ViewManager", "ViewManager", &[]),
        (SearchIndex, "SearchIndex", "SearchIndex", &[]),
        (TaskManager, "TaskManager", "TaskManager", &[]),
        (AuthorizationManager, "AuthorizationManager", "AuthorizationManager", &[]),
        (StorageResourceManager, "StorageResourceManager", "StorageResourceManager", &[]),
    ]
};

/// A type that clients ask for beside others, and of which there are no objects here.
pub(crate) const WITHOUT_OBJECTS: &str = "VirtualApp";

impl Kind {
    fn row(self) -> &'static (Self, &'static str, &'static str, &'static [&'static str]) {
        // The table is in the order of the kinds; a test holds it to that.
        &KINDS[self as usize]
    }

    /// The kind of a name on the wire.
    pub(crate) fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known, ..)| *known == name).map(|(kind, ..)| *kind)
    }

    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    /// Whether an object of this kind is what a type of the wire names: the type itself, or what it
    /// descends from.
    pub(crate) fn is(self, name: &str) -> bool {
        let (_, own, _, ancestors) = self.row();
        name == *own || name == "ManagedObject" || ancestors.contains(&name)
    }

    /// Whether a name is that of a type of objects at all.
    pub(crate) fn is_known(name: &str) -> bool {
        name == "ManagedObject"
            || name == WITHOUT_OBJECTS
            || KINDS.iter().any(|(kind, ..)| kind.is(name))
    }

    /// Whether one instance of this kind always exists.
    pub(crate) fn exists_once(self) -> bool {
        self >= Self::PropertyCollector
    }

    /// Whether objects of this kind have a place in the inventory's tree.
    pub(crate) fn is_entity(self) -> bool {
        self.is("ManagedEntity")
    }
}

/// The name of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ref {
    pub(crate) kind: Kind,
    /// Zero for an object that exists once.
    pub(crate) number: u32,
}

impl Ref {
    pub(crate) fn new(kind: Kind, number: u32) -> Self {
        Self { kind, number }
    }

    /// The one object of a kind that exists once.
    pub(crate) fn only(kind: Kind) -> Self {
        Self::new(kind, 0)
    }

    /// Reads a name as it stands on the wire. A type that does not go with the id is no name at all.
    pub(crate) fn read(kind: &str, id: &str) -> Option<Self> {
        let kind = match kind {
            "DistributedVirtualSwitch" => Kind::DistributedVirtualSwitch,
            "ComputeResource" => Kind::ClusterComputeResource,
            other => Kind::named(other)?,
        };
        let rest = id.strip_prefix(kind.row().2)?;
        let number = if rest.is_empty() { 0 } else { rest.parse().ok()? };
        let read = Self { kind, number };
        (read.id() == id).then_some(read)
    }

    /// The id alone, as `vm-42`.
    pub(crate) fn id(self) -> String {
        let begin = self.kind.row().2;
        if self.number == 0 { begin.to_owned() } else { format!("{begin}{}", self.number) }
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for (at, (kind, ..)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, at, "{kind:?}");
        }
    }

    #[test]
    fn a_name_reads_back() {
        for (kind, ..) in KINDS {
            for number in [0, 7, 1012] {
                let named = Ref::new(kind, number);
                assert_eq!(Ref::read(kind.name(), &named.id()), Some(named));
            }
        }
    }

    #[test]
    fn an_id_of_another_type_names_nothing() {
        assert_eq!(Ref::read("VirtualMachine", "host-7"), None);
        assert_eq!(Ref::read("Folder", "group-p7"), None);
        assert_eq!(Ref::read("Nothing", "vm-7"), None);
        assert_eq!(Ref::read("VirtualMachine", "vm-007"), None);
    }
}
