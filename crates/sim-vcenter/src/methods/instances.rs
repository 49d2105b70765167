//! Methods of VMs.

use std::collections::BTreeMap;

use super::{Request, returned};
use crate::{
    change,
    estate::vm::{Power, Vm},
    fault::Fault,
    reference::{Kind, Ref},
    task::{CloneDisk, CloneOrder, Job},
    wire::{element::Element, value::Value},
    world::{Due, World},
};

/// The newest virtual hardware that there is.
const HARDWARE_NEWEST: u32 = 21;

impl World {
    fn vm(&self, vm: Ref) -> Result<&Vm, Fault> {
        self.estate.vms.get(&vm).ok_or_else(|| Fault::gone(vm))
    }

    /// A VM that the caller may change, and that no task has locked.
    fn free_vm(&self, request: &Request<'_>, privilege: &str) -> Result<&Vm, Fault> {
        let vm = self.vm(request.this)?;
        self.sessions.require(request.viewer, &self.estate, request.this, privilege)?;
        match vm.busy {
            Some(task) => Err(Fault::task_in_progress(task)),
            None => Ok(vm),
        }
    }

    fn begin(&mut self, request: &Request<'_>, job: Job) -> Result<String, Fault> {
        if self.behaviour.refuses_at_call {
            job.check_state(self)?;
        }
        let user = request.user(self);
        let task = self.new_task(request.this, &user, job, request.trouble.clone());
        Ok(returned(&Value::Ref(task)))
    }

    pub(super) fn clone_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let order = self.clone_order(request)?;
        self.may_clone(request, &order)?;
        self.begin(request, Job::Clone(Box::new(order)))
    }

    /// What a clone is to be, as far as the call alone can tell.
    fn clone_order(&self, request: &Request<'_>) -> Result<CloneOrder, Fault> {
        let call = request.call;
        let source = self.vm(request.this)?;
        let folder = self.present(call.child("folder"))?;
        let name = call.text_of("name").unwrap_or_default().to_owned();
        if name.is_empty() || name.chars().count() > 80 {
            let message = "The name is empty or longer than 80 characters.";
            let fault = Fault::new("InvalidName", message);
            return Err(fault.with("name", Value::text(name)));
        }
        let empty = Element::default();
        let spec = call.child("spec").unwrap_or(&empty);
        let location = spec.child("location").unwrap_or(&empty);
        let folder = match location.child("folder") {
            None => folder,
            inside => self.present(inside)?,
        };
        if folder.kind != Kind::Folder {
            return Err(Fault::invalid_argument("folder", "it is no folder for VMs"));
        }
        let pool = match location.child("pool") {
            None => source.pool.ok_or_else(|| {
                Fault::invalid_argument("spec.location.pool", "a template is in none")
            })?,
            given => self.present(given)?,
        };
        let host = location.child("host").map(|host| self.present(Some(host))).transpose()?;
        let datastore = match location.child("datastore") {
            None => source.datastore,
            given => self.present(given)?,
        };
        let mut disks = BTreeMap::new();
        for disk in location.all("disk") {
            let key: i32 = disk.parse("diskId").unwrap_or(0);
            if !source.devices.iter().any(|device| device.key == key && device.is_disk()) {
                let why = format!("the source has no disk with key {key}");
                return Err(Fault::invalid_argument("spec.location.disk.diskId", &why));
            }
            let backing = disk.child("diskBackingInfo");
            let thin = backing.filter(|backing| backing.child("thinProvisioned").is_some());
            let thin = thin.map(|backing| backing.says("thinProvisioned"));
            let place = CloneDisk {
                datastore: self.present(disk.child("datastore"))?,
                thin,
                policy: self.estate.policy_asked_for(disk, "spec.location.disk.profile")?,
            };
            disks.insert(key, place);
        }
        let snapshot = spec.child("snapshot").map(|at| self.present(Some(at))).transpose()?;
        let linked = is_linked(location)?;
        match snapshot {
            Some(snapshot) if self.estate.snapshots.get(&snapshot) != Some(&request.this) => {
                let why = "the snapshot is another VM's";
                return Err(Fault::invalid_argument("spec.snapshot", why));
            }
            None if linked => {
                let why = "a clone that shares disks needs the snapshot that it is the child of";
                return Err(Fault::invalid_argument("spec.snapshot", why));
            }
            _ => {}
        }
        Ok(CloneOrder {
            source: request.this,
            name,
            folder,
            pool,
            host,
            datastore,
            policy: self.estate.policy_asked_for(location, "spec.location.profile")?,
            disks,
            linked,
            template: spec.says("template"),
            power_on: spec.says("powerOn"),
            spec: spec.child("config").cloned(),
            location: location.clone(),
            made: None,
        })
    }

    fn may_clone(&self, request: &Request<'_>, order: &CloneOrder) -> Result<(), Fault> {
        let require = |object, privilege| {
            self.sessions.require(request.viewer, &self.estate, object, privilege)
        };
        let template = self.vm(order.source)?.template;
        let source = if template {
            "VirtualMachine.Provisioning.DeployTemplate"
        } else {
            "VirtualMachine.Provisioning.Clone"
        };
        require(order.source, source)?;
        require(order.folder, "VirtualMachine.Inventory.CreateFromExisting")?;
        require(order.pool, "Resource.AssignVMToPool")?;
        require(order.datastore, "Datastore.AllocateSpace")?;
        let empty = Element::default();
        let config = order.spec.as_ref().unwrap_or(&empty);
        for privilege in change::privileges(config) {
            require(order.folder, privilege)?;
        }
        for network in change::networks_of(&self.estate, config) {
            require(network, "Network.Assign")?;
        }
        if order.power_on {
            require(order.folder, "VirtualMachine.Interact.PowerOn")?;
        }
        Ok(())
    }

    pub(super) fn reconfigure_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let empty = Element::default();
        let spec = request.call.child("spec").unwrap_or(&empty).clone();
        for privilege in change::privileges(&spec) {
            self.free_vm(request, privilege)?;
        }
        let vm = request.this;
        let own = self.vm(vm)?;
        if let Some(task) = own.busy {
            return Err(Fault::task_in_progress(task));
        }
        if spec.text_of("changeVersion").is_some_and(|seen| seen != own.changes.to_string()) {
            let message = "The VM was changed since it was looked at.";
            return Err(Fault::new("ConcurrentAccess", message));
        }
        for network in change::networks_of(&self.estate, &spec) {
            self.sessions.require(request.viewer, &self.estate, network, "Network.Assign")?;
        }
        self.begin(request, Job::Reconfigure { vm, spec })
    }

    pub(super) fn power_on_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let vm = self.free_vm(request, "VirtualMachine.Interact.PowerOn")?;
        if vm.template {
            let message = "A template cannot be powered on.";
            return Err(Fault::new("NotSupported", message));
        }
        let host = request.call.child("host").map(|host| self.present(Some(host))).transpose()?;
        let vm = request.this;
        self.begin(request, Job::PowerOn { vm, host })
    }

    pub(super) fn power_off_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        self.free_vm(request, "VirtualMachine.Interact.PowerOff")?;
        let vm = request.this;
        self.begin(request, Job::PowerOff { vm })
    }

    pub(super) fn shut_down_guest(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let vm = self.free_vm(request, "VirtualMachine.Interact.PowerOff")?;
        if vm.power != Power::On {
            return Err(Fault::power_state(Power::On.word(), vm.power.word()));
        }
        if vm.guest.is_none() {
            let message = "Cannot complete operation because VMware Tools is not running.";
            return Err(Fault::new("ToolsUnavailable", message));
        }
        let down = Due::GuestDown(request.this, vm.runs);
        self.plan(self.behaviour.durations.shutdown, down);
        Ok(String::new())
    }

    pub(super) fn upgrade_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let vm = self.free_vm(request, "VirtualMachine.Config.UpgradeVirtualHardware")?;
        let wanted = request.call.text_of("version").unwrap_or_default();
        let hardware = match wanted.strip_prefix("vmx-") {
            None if wanted.is_empty() => HARDWARE_NEWEST,
            Some(number) => number.parse().unwrap_or(0),
            None => 0,
        };
        if hardware > HARDWARE_NEWEST || hardware < vm.hardware {
            return Err(Fault::invalid_argument("version", "the VM cannot be brought to it"));
        }
        if hardware == vm.hardware {
            let message = "The virtual machine already has this hardware.";
            return Err(Fault::new("AlreadyUpgraded", message));
        }
        let vm = request.this;
        self.begin(request, Job::Upgrade { vm, hardware })
    }

    pub(super) fn destroy_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        self.free_vm(request, "VirtualMachine.Inventory.Delete")?;
        let vm = request.this;
        self.begin(request, Job::Destroy { vm })
    }

    pub(super) fn snapshot_vm(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        self.free_vm(request, "VirtualMachine.State.CreateSnapshot")?;
        let name = request.call.text_of("name").unwrap_or_default().to_owned();
        let vm = request.this;
        self.begin(request, Job::Snapshot { vm, name })
    }
}

/// Whether disks become children of the source's. All of them have to agree.
fn is_linked(location: &Element) -> Result<bool, Fault> {
    const KNOWN: [&str; 6] = [
        "moveAllDiskBackingsAndAllowSharing",
        "moveAllDiskBackingsAndDisallowSharing",
        "moveChildMostDiskBacking",
        "createNewChildDiskBacking",
        "moveAllDiskBackingsAndConsolidate",
        "createNewDetachedDiskBacking",
    ];
    let all = std::iter::once(location).chain(location.all("disk"));
    let types: Vec<&str> = all.filter_map(|of| of.text_of("diskMoveType")).collect();
    if let Some(unknown) = types.iter().find(|name| !KNOWN.contains(*name)) {
        let why = format!("there is no way {unknown:?} to move disks");
        return Err(Fault::invalid_argument("spec.location.diskMoveType", &why));
    }
    let linked = types.iter().filter(|name| **name == "createNewChildDiskBacking").count();
    if linked > 0 && linked < types.len() {
        let message = "Some disks are to be shared and some are not.";
        return Err(Fault::new("DiskMoveTypeNotSupported", message));
    }
    Ok(linked > 0)
}
