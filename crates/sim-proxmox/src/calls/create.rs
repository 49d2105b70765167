//! New VMs: made from a configuration, or cloned; and templates.

use std::collections::BTreeMap;

use super::{Call, Reply, config::Change};
use crate::{
    estate::{storage::Store, vm::Vm},
    refusal::Refusal,
    schema::property::Properties,
    task::{Act, ClonedDisk, Mode, Resource, Step},
    world::World,
};

impl World {
    pub(super) fn call_create(&mut self, call: &Call) -> Result<Reply, Refusal> {
        match call.name.as_str() {
            "create" => self.create(call),
            "clone" => self.clone_vm(call),
            _ => {
                let vmid = call.vmid();
                let vm = self.unlocked_vm(call)?;
                if vm.is_template() {
                    return Err(Refusal::failed("you can't convert a template to a template"));
                }
                if vm.running {
                    return Err(Refusal::failed(
                        "you can't convert a VM to template if VM is running",
                    ));
                }
                let lock = Step::Lock(Resource::Vm(vmid), Mode::Exclusive);
                let write = Step::Wait(self.behaviour.durations.write);
                let steps = vec![lock, write, Step::Act(Act::MakeTemplate(vmid))];
                let task = call.task("qmtemplate", call.text("vmid"), steps);
                Ok(self.begin_reply(task))
            }
        }
    }

    /// Whether a caller may make a VM of this id.
    fn may_allocate(&self, call: &Call, vmid: u32) -> Result<(), Refusal> {
        if let Some(pool) = call.get("pool") {
            if !self.estate.pools.contains_key(pool) {
                return Err(Refusal::failed(format!("pool '{pool}' does not exist")));
            }
            let path = format!("/pool/{pool}");
            if self.may(&call.caller, &path, "VM.Allocate") {
                return Ok(());
            }
        }
        self.demand(&call.caller, &format!("/vms/{vmid}"), &["VM.Allocate"])
    }

    fn join_pool(&mut self, call: &Call, vmid: u32) {
        if let Some(members) = call.get("pool").and_then(|pool| self.estate.pools.get_mut(pool)) {
            members.insert(vmid);
        }
    }

    fn create(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let (vmid, node) = (call.vmid(), call.text("node").to_owned());
        self.may_allocate(call, vmid)?;
        if call.get("archive").is_some() {
            return Err(Refusal::failed("this server restores no archives"));
        }
        if let Some(known) = self.estate.vms.get(&vmid) {
            return Err(Refusal::failed(format!(
                "unable to create VM {vmid} - VM {vmid} already exists on node '{}'",
                known.node
            )));
        }
        let mut change = Change::of(call);
        self.may_change(call, vmid, &change)?;
        self.check_tags(call, vmid, &change)?;
        let (made, uuid, generation) =
            (self.seconds(self.agenda.now()), self.estate.uuid(), self.estate.uuid());
        change.set.entry("smbios1".to_owned()).or_insert_with(|| format!("uuid={uuid}"));
        change.set.insert("vmgenid".to_owned(), generation);
        change.set.insert("meta".to_owned(), format!("creation-qemu=10.1.2,ctime={made}"));
        let config = BTreeMap::from([("lock".to_owned(), "create".to_owned())]);
        self.estate.vms.insert(vmid, Vm::new(vmid, &node, config));
        self.join_pool(call, vmid);
        let mut steps = vec![Step::Lock(Resource::Vm(vmid), Mode::Exclusive)];
        steps.push(Step::Wait(self.behaviour.durations.write));
        steps.extend(self.allocation(&change, &node));
        steps.push(Step::Act(Act::Created { vmid, change, start: call.flag("start") }));
        let mut task = call.task("qmcreate", call.text("vmid"), steps);
        task.makes = Some(vmid);
        Ok(self.begin_reply(task))
    }

    fn clone_vm(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let source = call.vmid();
        let newid = call.number("newid").unwrap_or_default();
        self.may_allocate(call, newid)?;
        let vm = self.unlocked_vm(call)?.clone();
        let node = vm.node.clone();
        let target = call.get("target").unwrap_or(&node).to_owned();
        let full = call.flag("full") || !vm.is_template() || self.needs_copy(&vm, call);
        if call.get("full").is_some() && !call.flag("full") && !vm.is_template() {
            return Err(Refusal::failed(
                "Linked clone feature is not supported for a VM that is no template",
            ));
        }
        for option in ["storage", "format"] {
            if call.get(option).is_some() && !full {
                return Err(Refusal::parameter(
                    option,
                    "this parameter is only used for full clones",
                ));
            }
        }
        if let Some(host) = self.estate.hosts.get(&target) {
            if !host.online {
                return Err(Refusal::failed(format!("target node '{target}' is offline")));
            }
        } else {
            return Err(Refusal::parameter("target", "no such cluster node"));
        }
        if self.estate.vms.contains_key(&newid) {
            return Err(Refusal::failed(format!(
                "unable to create VM {newid}: config file already exists"
            )));
        }
        let disks = self.cloned_disks(call, &vm, &target, full)?;
        for (_, device) in vm.config.iter().filter(|(key, _)| key.starts_with("net")) {
            let device = Properties::read(device);
            if let Some(bridge) = device.get("bridge") {
                self.may_use_bridge(call, bridge, device.get("tag"))?;
            }
        }
        let (named, config) = self.cloned_config(call, &vm, newid);
        let locked = BTreeMap::from([("lock".to_owned(), "clone".to_owned())]);
        self.estate.vms.insert(newid, Vm::new(newid, &node, locked));
        self.join_pool(call, newid);
        self.touch(newid);
        let mut steps = vec![Step::Lock(Resource::Vm(source), Mode::Shared)];
        let name = Step::Act(Act::CloneIsNamed(newid, named));
        for (index, disk) in disks.into_iter().enumerate() {
            let part = self.estate.stores.get(&disk.store).map(|store| store.part(&disk.node));
            let lock = Resource::Storage(disk.store.clone(), part.unwrap_or_default());
            steps.extend([
                Step::Lock(lock.clone(), Mode::Exclusive),
                Step::Wait(self.behaviour.durations.allocate),
                Step::Act(Act::CloneAllocates(newid, disk)),
                Step::Unlock(lock),
            ]);
            if full {
                steps.push(Step::Wait(self.behaviour.durations.copy));
            }
            if index == 0 {
                steps.push(name.clone());
            }
        }
        steps.push(Step::Wait(self.behaviour.durations.write));
        steps.push(Step::Act(Act::CloneEnds { vmid: newid, source, config, node: target }));
        // The task carries the id of the template, as a real one does.
        let mut task = call.task("qmclone", call.text("vmid"), steps);
        task.makes = Some(newid);
        Ok(self.begin_reply(task))
    }

    /// Whether a clone without `full` has to be a full one all the same.
    fn needs_copy(&self, vm: &Vm, call: &Call) -> bool {
        let linkable = |drive: &str| {
            let file = Properties::read(drive);
            let store = file.bare("file").and_then(|file| file.split_once(':'));
            store.and_then(|(store, _)| self.estate.stores.get(store)).is_some_and(Store::can_link)
        };
        call.get("full").is_none() && !vm.disks().all(|(_, drive)| linkable(drive))
    }

    fn cloned_disks(
        &self,
        call: &Call,
        vm: &Vm,
        target: &str,
        full: bool,
    ) -> Result<Vec<ClonedDisk>, Refusal> {
        let mut disks = Vec::new();
        for (key, drive) in vm.disks().filter(|(key, _)| !key.starts_with("unused")) {
            let file = Properties::read(drive).bare("file").unwrap_or_default().to_owned();
            let own = file.split_once(':').map(|(store, _)| store).unwrap_or_default();
            let store = call.get("storage").unwrap_or(own).to_owned();
            let known = self.estate.store(&store, target).map_err(Refusal::failed)?;
            if target != vm.node {
                let source = self.estate.store(own, &vm.node).map_err(Refusal::failed)?;
                if !source.facts.shared {
                    return Err(Refusal::failed(format!(
                        "Can't clone VM to node '{target}' (VM uses local storage)"
                    )));
                }
                if !known.facts.shared {
                    return Err(Refusal::failed(format!(
                        "can't clone to non-shared storage '{store}'"
                    )));
                }
            }
            if !known.holds("images") {
                return Err(Refusal::failed(format!(
                    "storage '{store}' does not support vm images"
                )));
            }
            if !full && !known.can_link() {
                return Err(Refusal::failed(format!(
                    "Linked clone feature is not supported for '{key}'"
                )));
            }
            let path = format!("/storage/{store}");
            self.demand(&call.caller, &path, &["Datastore.AllocateSpace"])?;
            disks.push(ClonedDisk {
                key: key.to_owned(),
                drive: drive.to_owned(),
                store,
                node: vm.node.clone(),
                format: call.get("format").map(str::to_owned),
                full,
            });
        }
        Ok(disks)
    }

    /// What is written when the first disk is copied, and the whole configuration without disks.
    fn cloned_config(
        &mut self,
        call: &Call,
        vm: &Vm,
        newid: u32,
    ) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let dropped = ["template", "lock", "parent", "snapstate"];
        let own: Vec<&str> = vm.disks().map(|(key, _)| key).collect();
        let mut config: BTreeMap<String, String> = vm.config.clone();
        config.retain(|key, _| {
            !dropped.contains(&key.as_str())
                && !own.contains(&key.as_str())
                && !key.starts_with("unused")
        });
        for (key, value) in &mut config {
            if key.starts_with("net") {
                let mut device = Properties::read(value);
                let model = device.pairs().first().and_then(|(key, _)| key.clone());
                if let Some(model) = model {
                    device.set(&model, &self.estate.mac());
                }
                *value = device.text();
            } else if key == "smbios1" {
                let mut smbios = Properties::read(value);
                smbios.set("uuid", &self.estate.uuid());
                *value = smbios.text();
            } else if key == "vmgenid" {
                *value = self.estate.uuid();
            }
        }
        let name =
            call.get("name").map_or_else(|| format!("Copy-of-VM-{}", vm.name()), str::to_owned);
        let mut named = BTreeMap::from([("name".to_owned(), name)]);
        if let Some(description) = call.get("description") {
            named.insert("description".to_owned(), description.to_owned());
        }
        config.extend(named.clone());
        let made = self.seconds(self.agenda.now());
        config.insert("meta".to_owned(), format!("creation-qemu=10.1.2,ctime={made}"));
        config
            .entry("smbios1".to_owned())
            .or_insert_with(|| format!("uuid=00000000-0000-4000-9000-{newid:012x}"));
        (named, config)
    }
}
