//! Configurations of VMs: what a change may do, and what it does.

mod privileges;
mod write;

use std::collections::BTreeMap;

use super::{Call, Reply};
use crate::{
    refusal::Refusal,
    schema::{format::is_disk, property::Properties},
    task::{Act, Mode, Resource, Step},
    world::World,
};

/// Parameters that are no keys of a configuration.
const CONTROLS: [&str; 18] = [
    "vmid",
    "node",
    "pool",
    "start",
    "storage",
    "ha-managed",
    "archive",
    "force",
    "unique",
    "live-restore",
    "bwlimit",
    "import-working-storage",
    "delete",
    "digest",
    "revert",
    "skiplock",
    "background_delay",
    "lock",
];

/// A change of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) set: BTreeMap<String, String>,
    pub(crate) delete: Vec<String>,
    pub(crate) digest: Option<String>,
    /// Whether volumes that are taken out are removed.
    pub(crate) force: bool,
}

impl Change {
    pub(crate) fn of(call: &Call) -> Self {
        let set = call.given.iter().filter(|(key, _)| !CONTROLS.contains(&key.as_str()));
        let delete = call.text("delete").split([',', ';', ' ']).filter(|key| !key.is_empty());
        Self {
            set: set.map(|(key, value)| (key.clone(), value.clone())).collect(),
            delete: delete.map(str::to_owned).collect(),
            digest: call.get("digest").map(str::to_owned),
            force: call.flag("force"),
        }
    }

    /// The storages on which it makes volumes, and whether it copies an image.
    fn allocates(&self) -> (Vec<String>, bool) {
        let (mut stores, mut copies) = (Vec::new(), false);
        for (_, value) in self.set.iter().filter(|(key, _)| is_disk(key)) {
            let drive = Properties::read(value);
            copies |= drive.get("import-from").is_some();
            if let Some((store, volume)) = drive.bare("file").and_then(|file| file.split_once(':'))
                && (volume == "cloudinit" || volume.parse::<f64>().is_ok())
                && !stores.contains(&store.to_owned())
            {
                stores.push(store.to_owned());
            }
        }
        (stores, copies)
    }
}

impl World {
    /// The steps in which volumes for a change are made.
    pub(super) fn allocation(&self, change: &Change, node: &str) -> Vec<Step> {
        let (stores, copies) = change.allocates();
        let durations = &self.behaviour.durations;
        let mut steps = Vec::new();
        for name in stores {
            let part = self.estate.stores.get(&name).map(|store| store.part(node));
            let lock = Resource::Storage(name, part.unwrap_or_default());
            steps.extend([
                Step::Lock(lock.clone(), Mode::Exclusive),
                Step::Wait(durations.allocate),
                Step::Unlock(lock),
            ]);
        }
        if copies {
            steps.push(Step::Wait(durations.copy));
        }
        steps
    }

    pub(super) fn call_config(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let (vmid, id) = (call.vmid(), call.text("vmid").to_owned());
        let write = Step::Wait(self.behaviour.durations.write);
        let lock = Step::Lock(Resource::Vm(vmid), Mode::Exclusive);
        match call.name.as_str() {
            "change" | "changesync" => self.change(call, vec![lock, write]),
            "resize" => {
                let vm = self.unlocked_vm(call)?;
                self.check_digest(vmid, call.get("digest"))?;
                let disk = call.text("disk").to_owned();
                if !vm.config.contains_key(&disk) {
                    return Err(Refusal::failed(format!("disk '{disk}' does not exist")));
                }
                let act = Act::Resize { vmid, disk, size: call.text("size").to_owned() };
                let task = call.task("resize", &id, vec![lock, write, Step::Act(act)]);
                Ok(self.begin_reply(task))
            }
            "unlink" => {
                self.unlocked_vm(call)?;
                let keys = call.text("idlist").split([',', ';', ' ']).map(str::to_owned).collect();
                let act = Act::Unlink { vmid, keys, force: call.flag("force") };
                let task = call.task("qmconfig", &id, vec![lock, write, Step::Act(act)]);
                Ok(self.await_reply(task))
            }
            _ => {
                let vm = self.unlocked_vm(call)?;
                if !vm.volumes().any(|(_, drive)| drive.contains("cloudinit")) {
                    return Err(Refusal::failed("No cloudinit drive configured"));
                }
                let steps = vec![lock, write, Step::Act(Act::Nothing)];
                let task = call.task("qmconfig", &id, steps);
                Ok(self.await_reply(task))
            }
        }
    }

    fn change(&mut self, call: &Call, mut steps: Vec<Step>) -> Result<Reply, Refusal> {
        let vmid = call.vmid();
        let vm = self.unlocked_vm(call)?;
        let node = vm.node.clone();
        let change = Change::of(call);
        if change.set.is_empty() && change.delete.is_empty() && call.get("revert").is_none() {
            return Err(Refusal::failed("no options specified"));
        }
        self.may_change(call, vmid, &change)?;
        self.check_digest(vmid, change.digest.as_deref())?;
        self.check_boot(vmid, &change).map_err(Refusal::failed)?;
        self.check_tags(call, vmid, &change)?;
        steps.extend(self.allocation(&change, &node));
        steps.push(Step::Act(Act::Write(vmid, change)));
        let task = call.task("qmconfig", call.text("vmid"), steps);
        if call.name == "changesync" {
            return Ok(self.await_reply(task));
        }
        let number = self.begin(task);
        Ok(match call.number("background_delay") {
            Some(delay) => {
                let limit = Some(std::time::Duration::from_secs(delay));
                Reply::Await { task: number, limit }
            }
            None => Reply::Task(number),
        })
    }

    fn check_digest(&self, vmid: u32, digest: Option<&str>) -> Result<(), Refusal> {
        let now = self.estate.vms.get(&vmid).map(crate::estate::vm::Vm::digest);
        if digest.is_none_or(|digest| Some(digest) == now.as_deref()) {
            return Ok(());
        }
        Err(Refusal::failed(write::DIGEST_DIFFERS))
    }
}
