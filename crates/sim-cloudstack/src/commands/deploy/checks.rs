//! What a deployment may name, and what goes together.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::Size;
use crate::{
    commands::Call,
    estate::{Number, Owner, ServiceOffering},
    refusal::Refusal,
    world::World,
};

/// How long user data may be in a GET, as base64.
const USER_DATA_IN_GET_MAX: usize = 4_096;

/// The least memory and CPU speed that a VM can have.
const MEMORY_MIB_MIN: u64 = 32;
const MHZ_MIN: u32 = 100;

impl World {
    pub(super) fn check_zone(&self, call: &Call, zone: Number) -> Result<(), Refusal> {
        let zone = &self.estate.zones[&zone];
        if zone.facts.disabled && !call.caller.is_root() {
            let text = format!(
                "Cannot perform this operation, Zone is currently disabled: {}",
                zone.facts.name
            );
            return Err(Refusal::denied(text));
        }
        Ok(())
    }

    pub(super) fn check_offering(
        &self,
        call: &Call,
        number: Number,
        zone: Number,
        details: &BTreeMap<String, String>,
    ) -> Result<Size, Refusal> {
        let offering = &self.estate.service_offerings[&number];
        let id = &offering.id;
        if offering.facts.inactive {
            let text = format!("Service offering {id} is not active");
            return Err(Refusal::value(text));
        }
        let in_zone = offering.zones.is_empty() || offering.zones.contains(&zone);
        if !in_zone || !Self::in_domain(call.caller, offering.domain) {
            let text = format!("Service offering {id} is not available here");
            return Err(Refusal::denied(text));
        }
        if offering.facts.local_storage && !self.estate.zones[&zone].facts.local_storage {
            let text = "Zone is not configured to use local storage but offering uses it";
            return Err(Refusal::value(text));
        }
        size(offering, details)
    }

    pub(super) fn check_template(&self, call: &Call, zone: Number) -> Result<Number, Refusal> {
        let Some(number) = call.given.entity("templateid") else {
            let text = "Either templateid, volumeid or snapshotid has to be specified";
            return Err(Refusal::value(text));
        };
        let template = &self.estate.templates[&number];
        let usable =
            template.facts.public || call.caller.is_root() || template.owner == call.caller.account;
        if !usable {
            let text = format!("The caller may not use template {}", template.id);
            return Err(Refusal::denied(text));
        }
        if template.facts.kind == "VNF" {
            let text = format!("Template {} needs the networks of a network function", template.id);
            return Err(Refusal::value(text));
        }
        if template.zones.get(&zone) != Some(&true) {
            let zone = &self.estate.zones[&zone].id;
            let text =
                format!("The template {} is not available for use in zone {zone}", template.id);
            return Err(Refusal::value(text));
        }
        Ok(number)
    }

    /// The disk offering of a data volume and its size.
    pub(super) fn check_disk_offering(
        &self,
        call: &Call,
        zone: Number,
    ) -> Result<Option<(Number, u64)>, Refusal> {
        let Some(number) = call.given.entity("diskofferingid") else { return Ok(None) };
        let offering = &self.estate.disk_offerings[&number];
        if !offering.zones.is_empty() && !offering.zones.contains(&zone) {
            let text = format!("Disk offering {} is not available in the zone", offering.id);
            return Err(Refusal::value(text));
        }
        let chosen = call.given.number("size").and_then(|size| u64::try_from(size).ok());
        match (offering.facts.size_gib, chosen) {
            (Some(size), _) | (None, Some(size @ 1..)) => Ok(Some((number, size))),
            (None, _) => Err(Refusal::value(
                "This disk offering requires a custom size specified: a number of GiB from 1",
            )),
        }
    }

    pub(super) fn root_size(
        &self,
        call: &Call,
        offering: Number,
        template: Number,
    ) -> Result<u64, Refusal> {
        let template_gib = self.estate.templates[&template].facts.size_gib;
        let of_offering = self.estate.service_offerings[&offering].facts.root_disk_gib;
        let wanted = match call.given.number("rootdisksize") {
            Some(_) if of_offering > 0 => {
                let text = "Overriding the root disk size is not allowed by the service offering";
                return Err(Refusal::value(text));
            }
            Some(wanted) => u64::try_from(wanted).unwrap_or(0),
            None if of_offering > 0 => of_offering,
            None => template_gib,
        };
        if wanted < template_gib {
            return Err(Refusal::value(format!(
                "rootdisksize override ({wanted} GB) is smaller than template size ({template_gib} \
                 GB)"
            )));
        }
        Ok(wanted)
    }

    pub(super) fn check_networks(
        &self,
        call: &Call,
        owner: Owner,
        zone: Number,
    ) -> Result<Vec<Number>, Refusal> {
        let networks = match call.given.entities("networkids") {
            Some(networks) => networks.to_vec(),
            None => self.default_network(owner, zone)?,
        };
        let mut seen = BTreeSet::new();
        for number in &networks {
            let network = &self.estate.networks[number];
            if network.zone != zone {
                let text = format!("Network id={} doesn't belong to the zone", network.id);
                return Err(Refusal::value(text));
            }
            if !self.estate.may_use_network(owner, *number) {
                let text =
                    format!("Unable to use network with id= {}, permission denied", network.id);
                return Err(Refusal::denied(text));
            }
            if !seen.insert(*number) {
                let text = format!("Network id={} is listed twice", network.id);
                return Err(Refusal::value(text));
            }
        }
        Ok(networks)
    }

    /// The only isolated network of an owner, where a call names none.
    fn default_network(&self, owner: Owner, zone: Number) -> Result<Vec<Number>, Refusal> {
        let mut own = self.estate.networks.iter().filter(|(_, network)| {
            network.zone == zone && network.owner == Some(owner) && network.facts.kind == "Isolated"
        });
        match (own.next(), own.next()) {
            (Some((number, _)), None) => Ok(vec![*number]),
            (None, _) => Err(Refusal::value("Unable to find a default network for the VM")),
            _ => Err(Refusal::value(
                "More than 1 default Isolated networks are found: specify networkids",
            )),
        }
    }

    /// Checks user data, and returns it.
    pub(in crate::commands) fn user_data(
        &self,
        text: &str,
        call: &Call,
    ) -> Result<String, Refusal> {
        let max = self.behaviour.user_data_max;
        let max = if call.is_get { max.min(USER_DATA_IN_GET_MAX) } else { max };
        if text.len() > max {
            return Err(Refusal::value(format!("User data is too long: at most {max} characters")));
        }
        if BASE64_STANDARD.decode(text).is_err() {
            return Err(Refusal::value("User data is not base64 encoded"));
        }
        Ok(text.to_owned())
    }

    pub(super) fn check_key_pairs(
        &self,
        call: &Call,
        owner: Owner,
    ) -> Result<Vec<String>, Refusal> {
        let one = call.given.text("keypair").map(str::to_owned);
        let names: Vec<String> =
            one.into_iter().chain(call.given.texts("keypairs").iter().cloned()).collect();
        let known = |name: &String| {
            self.estate.key_pairs.values().any(|pair| pair.owner == owner && pair.name == *name)
        };
        if names.iter().all(known) {
            return Ok(names);
        }
        Err(Refusal::value("Not all specified keypairs exist"))
    }

    pub(super) fn check_user_data_service(
        &self,
        call: &Call,
        template: Number,
        networks: &[Number],
    ) -> Result<(), Refusal> {
        let given = &call.given;
        let user_data = given.text("userdata").is_some_and(|text| !text.is_empty());
        if user_data {
            let template = &self.estate.templates[&template];
            if template.facts.user_data_policy == "DENYOVERRIDE" {
                let text =
                    format!("UserData not allowed to override: template {} denies it", template.id);
                return Err(Refusal::value(text));
            }
        }
        let keys = given.text("keypair").is_some() || !given.texts("keypairs").is_empty();
        let default = networks.first().map(|network| &self.estate.networks[network]);
        if (user_data || keys) && default.is_none_or(|network| !network.facts.user_data) {
            let text = "Unable to deploy VM as user data or key pair is provided while the default \
                        network has no UserData service";
            return Err(Refusal::value(text));
        }
        Ok(())
    }

    pub(super) fn check_security_groups(
        &self,
        call: &Call,
        owner: Owner,
        zone: Number,
    ) -> Result<BTreeSet<Number>, Refusal> {
        let ids = call.given.entities("securitygroupids").unwrap_or_default();
        let mut groups: BTreeSet<Number> = ids.iter().copied().collect();
        for name in call.given.texts("securitygroupnames") {
            let all = self.estate.security_groups.iter();
            let found = all
                .filter(|(_, group)| group.owner == owner && group.name == *name)
                .map(|(number, _)| *number)
                .next();
            groups.insert(
                found.ok_or_else(|| {
                    Refusal::value(format!("Unable to find group with name {name}"))
                })?,
            );
        }
        if !groups.is_empty() && !self.estate.zones[&zone].facts.security_groups {
            let text = "Can't create vm with security groups; security group feature is not \
                        enabled per zone";
            return Err(Refusal::value(text));
        }
        Ok(groups)
    }
}

/// How large a VM of an offering is.
fn size(offering: &ServiceOffering, details: &BTreeMap<String, String>) -> Result<Size, Refusal> {
    let facts = &offering.facts;
    let chosen =
        ["cpuNumber", "cpuSpeed", "memory"].into_iter().find(|key| details.contains_key(*key));
    if let (false, Some(key)) = (offering.is_customized(), chosen) {
        return Err(Refusal::value(format!(
            "{key} cannot be given: service offering {} is not customized",
            offering.id
        )));
    }
    let detail = |key: &str| -> Result<Option<u64>, Refusal> {
        let Some(text) = details.get(key) else { return Ok(None) };
        let number = text.parse().map_err(|_| Refusal::value(format!("Invalid {key}: {text}")))?;
        Ok(Some(number))
    };
    let needed = |fixed: Option<u64>, key: &str| -> Result<u64, Refusal> {
        let value = match fixed {
            Some(fixed) => Some(fixed),
            None => detail(key)?,
        };
        value.ok_or_else(|| {
            Refusal::value(format!("Need to specify the value of {key} for a customized offering"))
        })
    };
    let cpus = needed(facts.cpus.map(u64::from), "cpuNumber")?;
    let mhz = needed(facts.mhz.map(u64::from), "cpuSpeed")?;
    let memory_mib = needed(facts.memory_mib, "memory")?;
    let bound = |key: &str| facts.details.get(key).and_then(|text| text.parse::<u64>().ok());
    let inside = |value: u64, least: &str, most: &str, floor: u64| {
        value >= bound(least).unwrap_or(floor) && bound(most).is_none_or(|most| value <= most)
    };
    let fits = inside(cpus, "mincpunumber", "maxcpunumber", 1)
        && inside(memory_mib, "minmemory", "maxmemory", MEMORY_MIB_MIN)
        && mhz >= u64::from(MHZ_MIN);
    if !fits {
        return Err(Refusal::value(format!(
            "{cpus} CPUs of {mhz} MHz with {memory_mib} MiB are outside of the constraints of \
             service offering {}",
            offering.id
        )));
    }
    Ok(Size { cpus: cpus as u32, mhz: mhz as u32, memory_mib })
}
