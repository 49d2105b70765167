//! What a cluster tells of itself.

use serde_json::{Value, json};

use super::{Call, Reply};
use crate::{estate::vm::Vm, inventory::TagAccess, refusal::Refusal, world::World};

impl World {
    pub(super) fn call_cluster(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let data = match call.name.as_str() {
            "version" => {
                let version = &self.behaviour.version;
                let release: Vec<&str> = version.split('.').take(2).collect();
                json!({ "version": version, "release": release.join("."), "repoid": "simulated" })
            }
            "nextid" => self.next_id(call)?,
            "resources" => self.resources(call),
            "clusterstatus" => self.cluster_status(),
            "options" => self.options(),
            "groups" => {
                let groups = self.estate.security_groups.iter();
                groups.map(|name| json!({ "group": name, "digest": "0".repeat(40) })).collect()
            }
            "clusteripsets" => {
                let sets = self.estate.ip_sets.iter();
                sets.map(|name| json!({ "name": name, "digest": "0".repeat(40) })).collect()
            }
            "pci" => self.mappings(call),
            _ => self.high_availability(call)?,
        };
        Ok(Reply::Done(data))
    }

    fn next_id(&self, call: &Call) -> Result<Value, Refusal> {
        if let Some(vmid) = call.number::<u32>("vmid") {
            if self.estate.vms.contains_key(&vmid) {
                let text = format!("VM {vmid} already exists");
                return Err(Refusal::parameter("vmid", &text));
            }
            return Ok(vmid.to_string().into());
        }
        let free = self.estate.free_id();
        let free = free.ok_or_else(|| Refusal::failed("unable to get any free VMID in range"))?;
        Ok(free.to_string().into())
    }

    fn resources(&self, call: &Call) -> Value {
        let wanted = |kind: &str| call.get("type").is_none_or(|wanted| wanted == kind);
        let mut rows = Vec::new();
        if wanted("vm") {
            let vms = self.estate.vms.values();
            let seen =
                vms.filter(|vm| self.may(&call.caller, &format!("/vms/{}", vm.vmid), "VM.Audit"));
            rows.extend(seen.map(|vm| self.vm_row(vm)));
        }
        if wanted("node") {
            rows.extend(self.estate.hosts.keys().map(|node| self.node_row(call, node)));
        }
        if wanted("storage") {
            rows.extend(self.storage_rows(call));
        }
        if wanted("sdn") {
            let zones = self
                .estate
                .hosts
                .keys()
                .filter(|_| self.may(&call.caller, "/sdn/zones/localnetwork", "SDN.Audit"));
            rows.extend(zones.map(|node| {
                json!({
                    "id": format!("sdn/{node}/localnetwork"), "node": node, "type": "sdn",
                    "sdn": "localnetwork", "status": "ok",
                })
            }));
        }
        rows.into()
    }

    /// The row of a VM: what it says of name, status and size is what was told last.
    fn vm_row(&self, vm: &Vm) -> Value {
        let online = self.estate.hosts.get(&vm.node).is_some_and(|host| host.online);
        let mut row = json!({
            "id": format!("{}/{}", vm.kind(), vm.vmid),
            "vmid": vm.vmid,
            "type": vm.kind(),
            "node": vm.node,
            "status": "unknown",
        });
        if let Some(seen) = vm.seen.as_ref().filter(|_| online) {
            row["status"] = if seen.running { "running" } else { "stopped" }.into();
            row["maxcpu"] = seen.cpus.into();
            row["maxmem"] = seen.memory.into();
            row["mem"] = if seen.running { seen.memory / 2 } else { 0 }.into();
            row["cpu"] = if seen.running { 0.01 } else { 0.0 }.into();
            row["maxdisk"] = vm.disk_size().into();
            row["template"] = u8::from(seen.template).into();
            if !seen.name.is_empty() {
                row["name"] = seen.name.clone().into();
            }
        }
        if let Some(lock) = vm.lock() {
            row["lock"] = lock.into();
        }
        if let Some(tags) = vm.config.get("tags") {
            row["tags"] = tags.clone().into();
        }
        if let Some(pool) = self.pool_of(vm.vmid) {
            row["pool"] = pool.into();
        }
        if let Some(ha) = &vm.ha {
            row["hastate"] = ha.clone().into();
        }
        row
    }

    fn node_row(&self, call: &Call, node: &str) -> Value {
        let host = &self.estate.hosts[node];
        let status = if host.online { "online" } else { "offline" };
        let mut row =
            json!({ "id": format!("node/{node}"), "node": node, "type": "node", "status": status });
        if host.online && self.may(&call.caller, &format!("/nodes/{node}"), "Sys.Audit") {
            let (memory, cpus) = self.estate.load(node);
            row["maxcpu"] = host.facts.cpus.into();
            row["cpu"] = (cpus as f64 / f64::from(host.facts.cpus.max(1)) / 10.0).into();
            row["maxmem"] = host.facts.memory.into();
            row["mem"] = (memory / 2).into();
            row["uptime"] = self.agenda.now().as_secs().into();
        }
        row
    }

    fn storage_rows(&self, call: &Call) -> Vec<Value> {
        let mut rows = Vec::new();
        for store in self.estate.stores.values() {
            let name = &store.facts.name;
            let path = format!("/storage/{name}");
            let seen = ["Datastore.Audit", "Datastore.AllocateSpace"];
            if store.facts.disabled || !seen.iter().any(|it| self.may(&call.caller, &path, it)) {
                continue;
            }
            for (node, host) in self.estate.hosts.iter().filter(|(node, _)| store.is_on(node)) {
                let up = host.online && !store.offline;
                let mut row = json!({
                    "id": format!("storage/{node}/{name}"), "storage": name, "node": node,
                    "type": "storage", "plugintype": store.facts.kind,
                    "status": if up { "available" } else { "unknown" },
                    "shared": u8::from(store.facts.shared),
                    "content": store.facts.content.join(","),
                });
                if up {
                    row["maxdisk"] = store.facts.size.into();
                    row["disk"] = store.used(node).into();
                }
                rows.push(row);
            }
        }
        rows
    }

    fn cluster_status(&self) -> Value {
        let mut rows = vec![json!({
            "id": "cluster", "name": self.estate.cluster, "type": "cluster",
            "nodes": self.estate.hosts.len(), "quorate": u8::from(self.estate.quorate),
        })];
        rows.extend(self.estate.hosts.iter().map(|(node, host)| {
            json!({
                "id": format!("node/{node}"), "name": node, "type": "node",
                "online": u8::from(host.online), "local": u8::from(*node == self.estate.entry),
                "ip": host.facts.address,
            })
        }));
        rows.into()
    }

    fn options(&self) -> Value {
        let access = match self.estate.tag_policy.access {
            TagAccess::Free => "free",
            TagAccess::Existing => "existing",
            TagAccess::None => "none",
        };
        let (lower, upper) = self.estate.next_id;
        json!({
            "mac_prefix": "BC:24:11",
            "next-id": { "lower": lower.to_string(), "upper": upper.to_string() },
            "user-tag-access": { "user-allow": access },
            "registered-tags": self.estate.tag_policy.registered,
        })
    }

    fn mappings(&self, call: &Call) -> Value {
        let seen = self.estate.mappings.iter().filter(|(name, _)| {
            let path = format!("/mapping/pci/{name}");
            ["Mapping.Use", "Mapping.Modify", "Mapping.Audit"]
                .iter()
                .any(|privilege| self.may(&call.caller, &path, privilege))
        });
        let rows = seen.map(|(name, nodes)| {
            let map: Vec<String> = nodes.iter().map(|node| format!("node={node},path=0000:01:00.0")).collect();
            let mut row = json!({ "id": name, "map": map });
            if let Some(node) = call.get("check-node") {
                let missing = json!([{ "severity": "warning", "message": format!("No mapping for node {node}") }]);
                let known = nodes.iter().any(|known| known == node);
                row["checks"] = if known { json!([]) } else { missing };
            }
            row
        });
        rows.collect()
    }

    fn high_availability(&mut self, call: &Call) -> Result<Value, Refusal> {
        if call.name == "haresources" {
            let vms = self.estate.vms.values();
            let rows = vms.filter_map(|vm| {
                let kind = if vm.container { "ct" } else { "vm" };
                let wanted = call.get("type").is_none_or(|wanted| wanted == kind);
                let state = vm.ha.as_ref().filter(|_| wanted)?;
                let sid = format!("{kind}:{}", vm.vmid);
                Some(json!({ "sid": sid, "type": kind, "state": state, "digest": "0".repeat(40) }))
            });
            return Ok(rows.collect());
        }
        let sid = call.text("sid").to_owned();
        let vmid = sid.rsplit(':').next().and_then(|vmid| vmid.parse::<u32>().ok());
        let vm = vmid.and_then(|vmid| self.estate.vms.get_mut(&vmid));
        if call.name == "haadd" {
            let vm = vm.ok_or_else(|| {
                Refusal::failed(format!("unable to add resource '{sid}' - no such VM"))
            })?;
            if vm.ha.is_some() {
                return Err(Refusal::failed(format!("resource ID '{sid}' already defined")));
            }
            vm.ha = Some(call.get("state").unwrap_or("started").to_owned());
        } else {
            let vm = vm.filter(|vm| vm.ha.is_some());
            let vm = vm.ok_or_else(|| Refusal::failed(format!("no such resource '{sid}'")))?;
            vm.ha = None;
        }
        self.changes += 1;
        Ok(Value::Null)
    }
}
