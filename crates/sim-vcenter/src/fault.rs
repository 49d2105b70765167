//! Faults: what a call or a task fails with.

use std::borrow::Cow;

use crate::{reference::Ref, wire::value::Value};

/// A fault of a type, with its fields and a sentence for people.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) fields: Vec<(Cow<'static, str>, Value<'static>)>,
}

impl Fault {
    pub(crate) fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), fields: Vec::new() }
    }

    pub(crate) fn with(
        mut self,
        field: impl Into<Cow<'static, str>>,
        value: Value<'static>,
    ) -> Self {
        self.fields.push((field.into(), value));
        self
    }

    /// The fault itself, as it stands in a detail and in a task.
    pub(crate) fn value(&self) -> Value<'static> {
        Value::Sub(self.kind.clone(), self.fields.clone())
    }

    /// The fault with its sentence.
    pub(crate) fn localized(&self) -> Value<'static> {
        let message = Value::text(self.message.clone());
        Value::Data(
            "LocalizedMethodFault",
            vec![("fault", self.value()), ("localizedMessage", message)],
        )
    }

    pub(crate) fn not_authenticated() -> Self {
        Self::new("NotAuthenticated", "The session is not authenticated.")
    }

    pub(crate) fn invalid_login() -> Self {
        let message = "Cannot complete login due to an incorrect user name or password.";
        Self::new("InvalidLogin", message)
    }

    pub(crate) fn not_found(gone: Value<'static>) -> Self {
        let name = match &gone {
            Value::Ref(named) => named.to_string(),
            Value::NoSuchRef(kind, id) => format!("{kind}:{id}"),
            _ => String::new(),
        };
        let message = format!("The object '{name}' has already been deleted or was never created");
        Self::new("ManagedObjectNotFound", message).with("obj", gone)
    }

    pub(crate) fn gone(object: Ref) -> Self {
        Self::not_found(Value::Ref(object))
    }

    pub(crate) fn no_permission(object: Ref, privilege: &str) -> Self {
        Self::new("NoPermission", "Permission to perform this operation was denied.")
            .with("object", Value::Ref(object))
            .with("privilegeId", Value::text(privilege.to_owned()))
    }

    pub(crate) fn invalid_argument(property: &str, why: &str) -> Self {
        let message = format!("A specified parameter was not correct: {property}: {why}");
        Self::new("InvalidArgument", message)
            .with("invalidProperty", Value::text(property.to_owned()))
    }

    pub(crate) fn invalid_property(path: &str) -> Self {
        Self::new("InvalidProperty", format!("there is no property {path}"))
            .with("name", Value::text(path.to_owned()))
    }

    pub(crate) fn invalid_device(index: usize, why: &str) -> Self {
        let message = format!("Invalid configuration for device '{index}': {why}");
        Self::new("InvalidDeviceSpec", message)
            .with("property", Value::text("virtualDeviceSpec"))
            .with("deviceIndex", Value::Int(index as i32))
    }

    pub(crate) fn duplicate_name(name: &str, object: Ref) -> Self {
        Self::new("DuplicateName", format!("The name '{name}' already exists."))
            .with("name", Value::text(name.to_owned()))
            .with("object", Value::Ref(object))
    }

    pub(crate) fn power_state(requested: &'static str, existing: &'static str) -> Self {
        let message = format!(
            "The attempted operation cannot be performed in the current state ({existing})."
        );
        let state = |word| Value::word("VirtualMachinePowerState", word);
        Self::new("InvalidPowerState", message)
            .with("requestedState", state(requested))
            .with("existingState", state(existing))
    }

    pub(crate) fn task_in_progress(task: Ref) -> Self {
        Self::new("TaskInProgress", "Another task is already in progress.")
            .with("task", Value::Ref(task))
    }

    pub(crate) fn host_not_connected(host: &str) -> Self {
        let message =
            format!("Unable to communicate with the host '{host}', since it is disconnected.");
        Self::new("HostNotConnected", message)
    }

    pub(crate) fn no_disk_space(datastore: &str) -> Self {
        let message = format!("Insufficient disk space on datastore '{datastore}'.");
        Self::new("NoDiskSpace", message)
            .with("file", Value::text(format!("[{datastore}]")))
            .with("datastore", Value::text(datastore.to_owned()))
    }

    pub(crate) fn no_compatible_host() -> Self {
        let message = "No host is compatible with the virtual machine.";
        Self::new("NoCompatibleHost", message)
    }

    pub(crate) fn host_memory(host: Ref, unreserved_mib: u64, requested_mib: u64) -> Self {
        let message = "The host does not have sufficient memory resources to satisfy the request.";
        let bytes = |mib: u64| Value::Long((mib << 20) as i64);
        Self::new("InsufficientHostMemoryCapacityFault", message)
            .with("host", Value::Ref(host))
            .with("unreserved", bytes(unreserved_mib))
            .with("requested", bytes(requested_mib))
    }

    pub(crate) fn pool_memory(unreserved_mib: u64, requested_mib: u64) -> Self {
        let message = "The available Memory resources in the parent resource pool are insufficient \
                       for the operation.";
        let bytes = |mib: u64| Value::Long((mib << 20) as i64);
        Self::new("InsufficientMemoryResourcesFault", message)
            .with("unreserved", bytes(unreserved_mib))
            .with("requested", bytes(requested_mib))
    }

    pub(crate) fn pool_cpu(unreserved_mhz: u64, requested_mhz: u64) -> Self {
        let message = "The available CPU resources in the parent resource pool are insufficient for \
                       the operation.";
        Self::new("InsufficientCpuResourcesFault", message)
            .with("unreserved", Value::Long(unreserved_mhz as i64))
            .with("requested", Value::Long(requested_mhz as i64))
    }

    pub(crate) fn host_cpu(host: Ref, unreserved_mhz: u64, requested_mhz: u64) -> Self {
        let message = "The host does not have sufficient CPU resources to satisfy the request.";
        Self::new("InsufficientHostCpuCapacityFault", message)
            .with("host", Value::Ref(host))
            .with("unreserved", Value::Long(unreserved_mhz as i64))
            .with("requested", Value::Long(requested_mhz as i64))
    }
}
