//! VMs and containers as they are read.

use serde_json::{Map, Value, json};

use super::{Call, Reply};
use crate::{estate::vm::Vm, refusal::Refusal, schema::Type, world::World};

impl World {
    pub(super) fn call_guests(&mut self, call: &Call) -> Result<Reply, Refusal> {
        match call.name.as_str() {
            "qemu" | "lxc" => {
                let vms = self.estate.vms.values().filter(|vm| {
                    vm.kind() == call.name
                        && vm.node == call.text("node")
                        && self.may(&call.caller, &format!("/vms/{}", vm.vmid), "VM.Audit")
                });
                Ok(Reply::Done(vms.map(|vm| self.status(vm)).collect()))
            }
            "current" | "lxccurrent" => Ok(Reply::Done(self.status(self.vm(call)?))),
            "config" | "lxcconfig" => {
                if call.get("snapshot").is_some() {
                    return Err(Refusal::failed("snapshot does not exist"));
                }
                Ok(Reply::Done(self.config(self.vm(call)?)))
            }
            "cloudinit" => {
                let vm = self.vm(call)?;
                let keys = ["ciuser", "searchdomain", "nameserver", "sshkeys", "cipassword"];
                let shown = vm
                    .config
                    .iter()
                    .filter(|(key, _)| keys.contains(&key.as_str()) || key.starts_with("ipconfig"));
                let rows = shown.map(|(key, value)| json!({ "key": key, "value": value }));
                Ok(Reply::Done(rows.collect()))
            }
            other => Err(Refusal::new(501, format!("'{other}' is not implemented"))),
        }
    }

    /// The configuration of a VM: flags and whole numbers are numbers.
    fn config(&self, vm: &Vm) -> Value {
        let mut shown = Map::new();
        for (key, value) in &vm.config {
            let is_number =
                matches!(self.schema.config_type(key), Some(Type::Int { .. } | Type::Flag));
            let number = value.parse::<i64>().ok().filter(|_| is_number);
            shown.insert(key.clone(), number.map_or_else(|| value.clone().into(), Value::from));
        }
        shown.insert("digest".to_owned(), vm.digest().into());
        shown.into()
    }

    fn status(&self, vm: &Vm) -> Value {
        let uptime = self.agenda.now().saturating_sub(vm.started).as_secs();
        let status = if vm.running { "running" } else { "stopped" };
        let mut row = json!({
            "vmid": vm.vmid,
            "status": status,
            "cpus": vm.cpus(),
            "maxmem": vm.memory(),
            "maxdisk": vm.disk_size(),
            "mem": if vm.running { vm.memory() / 2 } else { 0 },
            "uptime": if vm.running { uptime } else { 0 },
            "ha": { "managed": u8::from(vm.ha.is_some()) },
        });
        if vm.container {
            row["type"] = "lxc".into();
        } else {
            row["qmpstatus"] = status.into();
        }
        let texts =
            [("name", Some(vm.name()).filter(|name| !name.is_empty())), ("lock", vm.lock())];
        for (key, value) in texts {
            if let Some(value) = value {
                row[key] = value.into();
            }
        }
        if let Some(tags) = vm.config.get("tags") {
            row["tags"] = tags.clone().into();
        }
        if vm.is_template() {
            row["template"] = 1.into();
        }
        if vm.running {
            row["pid"] = (4000 + vm.vmid).into();
        }
        row
    }
}
