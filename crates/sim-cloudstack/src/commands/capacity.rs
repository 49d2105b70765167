//! How full zones are, and what accounts may use.

use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    access::Scope,
    estate::{Number, Owner, capacity::room, limit::Resource},
    refusal::Refusal,
    world::World,
};

/// The types of capacity that are told: number, name.
const MEMORY: (u32, &str) = (0, "MEMORY");
const CPU: (u32, &str) = (1, "CPU");

impl World {
    pub(super) fn list_capacity(&mut self, call: &Call) -> Result<Value, Refusal> {
        let wanted = call.given.entity("zoneid");
        let kind = call.given.number("type");
        let zones = self.estate.zones.keys().filter(|zone| wanted.is_none_or(|it| it == **zone));
        let rows: Vec<Value> = zones
            .flat_map(|zone| self.capacity_of(*zone))
            .filter(|row| kind.is_none_or(|kind| row["type"] == kind))
            .collect();
        Ok(call.listed(&rows, Clone::clone))
    }

    /// What a zone has, and what of it is given out.
    pub(super) fn capacity_of(&self, zone: Number) -> Vec<Value> {
        let used = self.estate.used_of_hosts();
        let (mut total, mut given_out) = ([0_u64; 2], [0_u64; 2]);
        for (number, host) in self.estate.hosts.iter().filter(|(_, host)| host.zone == zone) {
            let (mhz, memory_mib) = room(host, self.behaviour.overcommit);
            let of_host = used.get(number).copied().unwrap_or_default();
            total = [total[0] + (memory_mib << 20), total[1] + mhz];
            given_out = [given_out[0] + (of_host.memory_mib << 20), given_out[1] + of_host.mhz];
        }
        let found = &self.estate.zones[&zone];
        let row = |(kind, name): (u32, &str), total: u64, used: u64| {
            let percent = if total == 0 { 0.0 } else { used as f64 * 100.0 / total as f64 };
            json!({
                "type": kind,
                "name": name,
                "zoneid": found.id,
                "zonename": found.facts.name,
                "capacityused": used,
                "capacitytotal": total,
                "percentused": format!("{percent:.2}"),
            })
        };
        vec![row(MEMORY, total[0], given_out[0]), row(CPU, total[1], given_out[1])]
    }

    pub(super) fn list_resource_limits(&mut self, call: &Call) -> Result<Value, Refusal> {
        let scope = self.scope(call.caller, &call.given)?;
        // Limits are told of one owner.
        let owner = match scope {
            Scope::Owners(owners) => owners.first().copied(),
            _ => None,
        };
        let owner = owner.unwrap_or(call.caller.owner());
        let (kind, name) = (call.given.number("resourcetype"), call.given.text("resourcetypename"));
        let resources = Resource::ALL.into_iter().filter(|resource| {
            kind.is_none_or(|kind| kind == i64::from(resource.number()))
                && name.is_none_or(|name| name == resource.name())
        });
        let rows: Vec<Resource> = resources.collect();
        Ok(call.listed(&rows, |resource| {
            let max = self.estate.limit(owner, *resource);
            self.owned(
                owner,
                json!({
                    "resourcetype": resource.number().to_string(),
                    "resourcetypename": resource.name(),
                    "max": max.map_or(-1, |max| max as i64),
                }),
            )
        }))
    }

    pub(super) fn update_resource_count(&mut self, call: &Call) -> Result<Value, Refusal> {
        let owner = self.owner(call.caller, &call.given)?;
        self.may_operate(call.caller, owner)?;
        let kind = call.given.number("resourcetype");
        let rows: Vec<Value> = Resource::ALL
            .into_iter()
            .filter(|resource| kind.is_none_or(|kind| kind == i64::from(resource.number())))
            .map(|resource| {
                let row = json!({
                    "resourcetype": resource.number().to_string(),
                    "resourcetypename": resource.name(),
                    "resourcecount": self.estate.used(owner, resource),
                });
                self.owned(owner, row)
            })
            .collect();
        Ok(json!({ "count": rows.len(), "resourcecount": rows }))
    }

    /// Adds whose a row is.
    pub(super) fn owned(&self, owner: Owner, mut row: Value) -> Value {
        let domain = match owner {
            Owner::Account(number) => {
                let account = &self.estate.accounts[&number];
                row["account"] = account.name.clone().into();
                account.domain
            }
            Owner::Project(number) => {
                let project = &self.estate.projects[&number];
                row["projectid"] = project.id.clone().into();
                row["project"] = project.name.clone().into();
                project.domain
            }
        };
        let domain = &self.estate.domains[&domain];
        row["domainid"] = domain.id.clone().into();
        row["domain"] = domain.name.clone().into();
        without_nulls(row)
    }
}
