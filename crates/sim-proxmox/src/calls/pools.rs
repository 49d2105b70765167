//! Pools.

use serde_json::{Value, json};

use super::{Call, Reply};
use crate::{refusal::Refusal, world::World};

impl World {
    pub(super) fn call_pools(&mut self, call: &Call) -> Result<Reply, Refusal> {
        match call.name.as_str() {
            "pools" | "pool" => self.pools(call),
            _ => self.change_pool(call),
        }
    }

    fn pools(&self, call: &Call) -> Result<Reply, Refusal> {
        let may = |pool: &str| {
            let path = format!("/pool/{pool}");
            self.demand(&call.caller, &path, &["Pool.Audit", "Pool.Allocate"])
        };
        let comment = |pool: &str| self.estate.comments.get(pool).cloned().unwrap_or_default();
        if let Some(pool) = call.get("poolid") {
            let members = self.estate.pools.get(pool);
            let members = members.ok_or_else(|| absent(pool))?;
            may(pool)?;
            let kind = call.get("type");
            let vms = members.iter().filter_map(|vmid| self.estate.vms.get(vmid));
            let vms = vms.filter(|vm| kind.is_none_or(|kind| kind == vm.kind()));
            let members: Vec<Value> = vms
                .map(|vm| {
                    json!({
                        "id": format!("{}/{}", vm.kind(), vm.vmid), "node": vm.node,
                        "vmid": vm.vmid, "type": vm.kind(), "name": vm.name(),
                    })
                })
                .collect();
            // The older endpoint answers with the pool itself, without its name.
            if call.name == "pool" {
                let row = json!({ "comment": comment(pool), "members": members });
                return Ok(Reply::Done(row));
            }
            let row = json!({ "poolid": pool, "comment": comment(pool), "members": members });
            return Ok(Reply::Done(json!([row])));
        }
        if call.get("type").is_some() {
            return Err(Refusal::parameter("type", "missing property - 'poolid'"));
        }
        let pools = self.estate.pools.keys().filter(|pool| may(pool).is_ok());
        let rows = pools.map(|pool| json!({ "poolid": pool, "comment": comment(pool) }));
        Ok(Reply::Done(rows.collect()))
    }

    fn change_pool(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let pool = call.text("poolid").to_owned();
        if !self.estate.pools.contains_key(&pool) {
            return Err(absent(&pool));
        }
        self.demand(&call.caller, &format!("/pool/{pool}"), &["Pool.Allocate"])?;
        let vms = call.text("vms").split([',', ';', ' ']).filter(|vmid| !vmid.is_empty());
        let vms: Result<Vec<u32>, _> = vms.map(str::parse).collect();
        let vms = vms.map_err(|_| Refusal::parameter("vms", "invalid format - no valid VM ID"))?;
        let delete = call.flag("delete");
        // All are checked before one is changed.
        for &vmid in &vms {
            self.demand(&call.caller, &format!("/vms/{vmid}"), &["VM.Allocate"])?;
            if !self.estate.vms.contains_key(&vmid) {
                return Err(Refusal::failed(format!("VM {vmid} does not exist")));
            }
            let text = match self.pool_of(vmid) {
                Some(old) if old == pool && !delete => "is already a pool member".to_owned(),
                None if delete => "is not a pool member".to_owned(),
                Some(old) if old != pool && delete => "is not a pool member".to_owned(),
                Some(old) if old != pool => {
                    if call.flag("allow-move") {
                        self.demand(&call.caller, &format!("/pool/{old}"), &["Pool.Allocate"])?;
                        continue;
                    }
                    format!("belongs already to pool '{old}' and 'allow-move' is not set")
                }
                _ => continue,
            };
            return Err(Refusal::failed(format!("VM {vmid} {text}")));
        }
        for members in self.estate.pools.values_mut() {
            members.retain(|vmid| !vms.contains(vmid));
        }
        if let Some(members) = self.estate.pools.get_mut(&pool).filter(|_| !delete) {
            members.extend(vms);
        }
        if let Some(comment) = call.get("comment") {
            self.estate.comments.insert(pool, comment.to_owned());
        }
        self.changes += 1;
        Ok(Reply::Done(Value::Null))
    }
}

fn absent(pool: &str) -> Refusal {
    Refusal::failed(format!("pool '{pool}' does not exist"))
}
