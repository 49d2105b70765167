//! Zones, hosts and how full they are.

use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    estate::{Number, Zone},
    refusal::Refusal,
    world::World,
};

impl World {
    pub(super) fn list_zones(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        // `available=true` means the zones that are enabled.
        let rows: Vec<(&Number, &Zone)> = self
            .estate
            .zones
            .iter()
            .filter(|(number, zone)| {
                given.selects(**number)
                    && given.equals("name", &zone.facts.name)
                    && given.mentions(&[&zone.facts.name])
                    && (!given.flag("available") || !zone.facts.disabled || call.caller.is_root())
            })
            .collect();
        Ok(call.listed(&rows, |(number, zone)| {
            let facts = &zone.facts;
            let state = if facts.disabled { "Disabled" } else { "Enabled" };
            let capacity = given.flag("showcapacities").then(|| self.capacity_of(**number));
            without_nulls(json!({
                "id": zone.id,
                "name": facts.name,
                "networktype": "Advanced",
                "securitygroupsenabled": facts.security_groups,
                "localstorageenabled": facts.local_storage,
                "allocationstate": state,
                "dns1": "192.0.2.53",
                "internaldns1": "192.0.2.53",
                "type": "Core",
                "ismultiarch": false,
                "tags": [],
                "capacity": capacity,
            }))
        }))
    }

    pub(super) fn list_hosts(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let rows: Vec<_> = self
            .estate
            .hosts
            .iter()
            .filter(|(number, host)| {
                given.selects(**number)
                    && given.equals("name", &host.facts.name)
                    && given.equals("type", "Routing")
                    && given.entity("zoneid").is_none_or(|zone| zone == host.zone)
            })
            .collect();
        Ok(call.listed(&rows, |(_, host)| {
            let zone = &self.estate.zones[&host.zone];
            json!({
                "id": host.id,
                "name": host.facts.name,
                "state": if host.connected { "Up" } else { "Disconnected" },
                "resourcestate": "Enabled",
                "type": "Routing",
                "zoneid": zone.id,
                "zonename": zone.facts.name,
                "cpunumber": host.facts.cores,
                "cpuspeed": host.facts.mhz,
                "memorytotal": host.facts.memory_mib << 20,
                "hosttags": host.facts.tags.join(","),
            })
        }))
    }
}
