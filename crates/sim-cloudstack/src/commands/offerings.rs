//! Service offerings and disk offerings.

use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    access::Caller,
    commands::call::Given,
    estate::{DiskOffering, Number, ServiceOffering},
    refusal::Refusal,
    world::World,
};

impl World {
    /// Whether a caller may use an offering of a domain.
    pub(super) fn in_domain(caller: Caller, domain: Option<Number>) -> bool {
        caller.is_root() || domain.is_none_or(|domain| domain == caller.domain)
    }

    pub(super) fn list_service_offerings(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let state = given.text("state").unwrap_or("Active");
        let shown = |number: &Number, offering: &ServiceOffering| {
            let facts = &offering.facts;
            let of_state = state.eq_ignore_ascii_case("all")
                || state.eq_ignore_ascii_case(state_of(facts.inactive));
            given.selects(*number)
                && of_state
                && Self::in_domain(call.caller, offering.domain)
                && given.equals("name", &facts.name)
                && given.mentions(&[&facts.name])
                && given.equals("storagetype", storage_of(facts.local_storage))
                && given.choice("gpuenabled").is_none_or(|gpu| gpu == (facts.gpus > 0))
                && in_zone(given, |zone| {
                    offering.zones.is_empty() || offering.zones.contains(&zone)
                })
                && at_least(given, "cpunumber", facts.cpus.map(i64::from))
                && at_least(given, "memory", facts.memory_mib.map(|mib| mib as i64))
        };
        let all = self.estate.service_offerings.iter();
        let rows: Vec<_> = all.filter(|(number, offering)| shown(number, offering)).collect();
        Ok(call.listed(&rows, |(_, offering)| self.service_offering_row(offering)))
    }

    fn service_offering_row(&self, offering: &ServiceOffering) -> Value {
        let facts = &offering.facts;
        let (zone_ids, zone_names) = self.zones_of(offering.zones.iter());
        let domain = offering.domain.map(|domain| &self.estate.domains[&domain]);
        let tags = (!facts.host_tags.is_empty()).then(|| facts.host_tags.join(","));
        without_nulls(json!({
            "id": offering.id,
            "name": facts.name,
            "displaytext": facts.name,
            "state": state_of(facts.inactive),
            "cpunumber": facts.cpus,
            "cpuspeed": facts.mhz,
            "memory": facts.memory_mib,
            "created": self.time(offering.created),
            "storagetype": storage_of(facts.local_storage),
            "provisioningtype": "thin",
            "offerha": false,
            "limitcpuuse": false,
            "isvolatile": false,
            "issystem": false,
            "defaultuse": false,
            "hosttags": tags,
            "domainid": domain.map(|domain| &domain.id),
            "domain": domain.map(|domain| &domain.name),
            "zoneid": zone_ids,
            "zone": zone_names,
            "serviceofferingdetails": (!facts.details.is_empty()).then_some(&facts.details),
            "iscustomized": offering.is_customized(),
            "rootdisksize": facts.root_disk_gib,
            "dynamicscalingenabled": true,
            "encryptroot": false,
            "diskofferingstrictness": false,
            "gpucount": (facts.gpus > 0).then_some(facts.gpus),
            "gpucardname": (facts.gpus > 0).then_some("Simulated GPU"),
            "vgpuprofilename": (facts.gpus > 0).then_some("passthrough"),
        }))
    }

    pub(super) fn list_disk_offerings(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let shown = |number: &Number, offering: &DiskOffering| {
            given.selects(*number)
                && given.equals("name", &offering.facts.name)
                && given.mentions(&[&offering.facts.name])
                && in_zone(given, |zone| {
                    offering.zones.is_empty() || offering.zones.contains(&zone)
                })
        };
        let all = self.estate.disk_offerings.iter();
        let rows: Vec<_> = all.filter(|(number, offering)| shown(number, offering)).collect();
        Ok(call.listed(&rows, |(_, offering)| {
            let (zone_ids, _) = self.zones_of(offering.zones.iter());
            without_nulls(json!({
                "id": offering.id,
                "name": offering.facts.name,
                "displaytext": offering.facts.name,
                "disksize": offering.facts.size_gib.unwrap_or(0),
                "iscustomized": offering.facts.size_gib.is_none(),
                "storagetype": "shared",
                "state": "Active",
                "encrypt": false,
                "zoneid": zone_ids,
            }))
        }))
    }

    /// The ids and the names of zones, as lists in a text; none for all zones.
    fn zones_of<'z>(
        &self,
        zones: impl Iterator<Item = &'z Number>,
    ) -> (Option<String>, Option<String>) {
        let (mut ids, mut names) = (Vec::new(), Vec::new());
        for zone in zones.filter_map(|zone| self.estate.zones.get(zone)) {
            ids.push(zone.id.as_str());
            names.push(zone.facts.name.as_str());
        }
        let joined = |texts: &[&str]| (!texts.is_empty()).then(|| texts.join(","));
        (joined(&ids), joined(&names))
    }
}

fn state_of(inactive: bool) -> &'static str {
    if inactive { "Inactive" } else { "Active" }
}

fn storage_of(local: bool) -> &'static str {
    if local { "local" } else { "shared" }
}

fn in_zone(given: &Given, has: impl Fn(Number) -> bool) -> bool {
    given.entity("zoneid").is_none_or(has)
}

/// Whether an offering has at least an amount that is asked for. Customized ones always may.
fn at_least(given: &Given, name: &str, amount: Option<i64>) -> bool {
    given.number(name).is_none_or(|wanted| amount.is_none_or(|amount| amount >= wanted))
}
