//! Changes of VMs: what a configuration spec does to one.

mod devices;

pub(crate) use devices::{apply_devices, destroyed_files, networks_of};

use crate::{
    estate::{
        Estate,
        vm::{Allocation, Power, Vm},
    },
    fault::Fault,
    reference::Ref,
    wire::element::Element,
};

/// What is being changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The VM; none if it is about to be made.
    pub(crate) vm: Option<Ref>,
    /// Whether its disks only hold differences to another VM's.
    pub(crate) linked: bool,
}

/// Memory comes in pieces of this size.
const MEMORY_STEP_MIB: u64 = 4;
/// The limits of every VM.
const CPUS_MAX: u32 = 768;
const MEMORY_MAX_MIB: u64 = 24 << 20;

/// Changes a VM as a spec says, or says what is wrong with the spec. The VM is then in no state to
/// be used.
pub(crate) fn apply(
    estate: &mut Estate,
    vm: &mut Vm,
    spec: &Element,
    about: About,
) -> Result<(), Fault> {
    sizes(vm, spec)?;
    identity(estate, vm, spec, about);
    if let Some(guest) = spec.text_of("guestId") {
        if !guest.ends_with("Guest") {
            return Err(Fault::invalid_argument("configSpec.guestId", "there is no such guest"));
        }
        guest.clone_into(&mut vm.guest_id);
    }
    if let Some(version) = spec.text_of("version") {
        let number = version.strip_prefix("vmx-").and_then(|number| number.parse().ok());
        vm.hardware = number
            .ok_or_else(|| Fault::invalid_argument("configSpec.version", "write it as vmx-19"))?;
    }
    if let Some(text) = spec.text_of("annotation") {
        text.clone_into(&mut vm.annotation);
    }
    if let Some(text) = spec.text_of("firmware") {
        text.clone_into(&mut vm.firmware);
    }
    if let Some(flags) = spec.child("flags").filter(|f| f.child("diskUuidEnabled").is_some()) {
        vm.disk_uuids = flags.says("diskUuidEnabled");
    }
    if spec.child("memoryReservationLockedToMax").is_some() {
        vm.memory_locked = spec.says("memoryReservationLockedToMax");
    }
    if spec.child("nestedHVEnabled").is_some() {
        vm.nested = spec.says("nestedHVEnabled");
    }
    allocation(&mut vm.cpu, spec.child("cpuAllocation"));
    allocation(&mut vm.memory, spec.child("memoryAllocation"));
    if spec.says("vAppConfigRemoved") {
        vm.vapp = false;
    }
    for option in spec.all("extraConfig") {
        let key = option.text_of("key").unwrap_or_default();
        match option.text_of("value").unwrap_or_default() {
            // That is how a key is removed.
            "" => vm.extra.remove(key),
            value => vm.extra.insert(key.to_owned(), value.to_owned()),
        };
    }
    apply_devices(estate, vm, spec, about)?;
    if vm.cores_per_socket > 0 && !vm.cpus.is_multiple_of(vm.cores_per_socket) {
        let why = "the number of CPUs is no multiple of it";
        return Err(Fault::invalid_argument("configSpec.numCoresPerSocket", why));
    }
    Ok(())
}

fn sizes(vm: &mut Vm, spec: &Element) -> Result<(), Fault> {
    let before = (vm.cpus, vm.memory_mib);
    if let Some(cpus) = spec.parse::<i32>("numCPUs") {
        let fits = u32::try_from(cpus).ok().filter(|cpus| (1..=CPUS_MAX).contains(cpus));
        vm.cpus = fits.ok_or_else(|| {
            Fault::invalid_argument("configSpec.numCPUs", "it is not between 1 and 768")
        })?;
    }
    if let Some(cores) = spec.parse::<u32>("numCoresPerSocket") {
        vm.cores_per_socket = cores;
    } else if vm.cpus != before.0 && !vm.cpus.is_multiple_of(vm.cores_per_socket.max(1)) {
        vm.cores_per_socket = 1;
    }
    if let Some(mib) = spec.parse::<i64>("memoryMB") {
        let fits = u64::try_from(mib).ok();
        let fits = fits.filter(|mib| {
            (MEMORY_STEP_MIB..=MEMORY_MAX_MIB).contains(mib) && mib.is_multiple_of(MEMORY_STEP_MIB)
        });
        vm.memory_mib = fits.ok_or_else(|| {
            let why = "it is no multiple of 4 up to 24 TiB";
            Fault::invalid_argument("configSpec.memoryMB", why)
        })?;
    }
    if vm.power == Power::On && before != (vm.cpus, vm.memory_mib) {
        return Err(Fault::power_state(Power::Off.word(), Power::On.word()));
    }
    Ok(())
}

/// A given uuid is taken as it is. An instance's is its own: one that another VM has is replaced.
fn identity(estate: &mut Estate, vm: &mut Vm, spec: &Element, about: About) {
    if let Some(uuid) = spec.text_of("uuid").filter(|uuid| !uuid.is_empty()) {
        vm.uuid = uuid.to_lowercase();
    }
    if let Some(uuid) = spec.text_of("instanceUuid").filter(|uuid| !uuid.is_empty()) {
        let uuid = uuid.to_lowercase();
        let mut others = estate.vms.iter().filter(|(other, _)| Some(**other) != about.vm);
        vm.instance_uuid = if others.any(|(_, other)| other.instance_uuid == uuid) {
            estate.identities.uuid("instance")
        } else {
            uuid
        };
    }
}

fn allocation(own: &mut Allocation, spec: Option<&Element>) {
    let Some(spec) = spec else { return };
    if let Some(reservation) = spec.parse::<i64>("reservation") {
        own.reservation = u64::try_from(reservation).unwrap_or(0);
    }
    if let Some(limit) = spec.parse::<i64>("limit") {
        own.limit = u64::try_from(limit).ok();
    }
    if let Some(shares) = spec.child("shares") {
        let level = shares.text_of("level").unwrap_or("normal").to_owned();
        own.shares = (shares.parse("shares").unwrap_or(0), level);
    }
}

/// The privileges for a change, besides access to the VM.
pub(crate) fn privileges(spec: &Element) -> Vec<&'static str> {
    let mut needed = Vec::new();
    for child in &spec.children {
        needed.push(match child.name.as_str() {
            "name" => "VirtualMachine.Config.Rename",
            "annotation" => "VirtualMachine.Config.Annotation",
            "numCPUs" | "numCoresPerSocket" => "VirtualMachine.Config.CPUCount",
            "memoryMB" => "VirtualMachine.Config.Memory",
            "cpuAllocation" | "memoryAllocation" | "memoryReservationLockedToMax" => {
                "VirtualMachine.Config.Resource"
            }
            "extraConfig" => "VirtualMachine.Config.AdvancedConfig",
            "vAppConfigRemoved" | "vAppConfig" => "VApp.ApplicationConfig",
            "version" => "VirtualMachine.Config.UpgradeVirtualHardware",
            "deviceChange" => devices::privilege(child),
            _ => "VirtualMachine.Config.Settings",
        });
    }
    needed.sort_unstable();
    needed.dedup();
    needed
}
