//! A VM in an answer.

use serde_json::{Value, json};

use crate::{
    access::Caller,
    commands::page::without_nulls,
    estate::{Kind, Nic, Number, Vm},
    refusal::Refusal,
    world::World,
};

/// The words of `details`.
const WORDS: [&str; 14] = [
    "all", "group", "nics", "stats", "secgrp", "tmpl", "servoff", "diskoff", "backoff", "iso",
    "volume", "min", "affgrp", "vnfnics",
];

/// The parts of a row that a list asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    nics: bool,
    template: bool,
    offering: bool,
    security_groups: bool,
    affinity_groups: bool,
    group: bool,
}

impl Parts {
    pub(crate) const ALL: Self = Self {
        nics: true,
        template: true,
        offering: true,
        security_groups: true,
        affinity_groups: true,
        group: true,
    };

    /// Reads the words of `details`; all parts without any.
    pub(super) fn read(words: &[String]) -> Result<Self, Refusal> {
        if let Some(word) = words.iter().find(|word| !WORDS.contains(&word.as_str())) {
            let text = format!("The details parameter has {word:?}; it knows {}", WORDS.join(","));
            return Err(Refusal::value(text));
        }
        let has = |name: &str| words.iter().any(|word| word == name);
        if words.is_empty() || has("all") {
            return Ok(Self::ALL);
        }
        Ok(Self {
            nics: has("nics"),
            template: has("tmpl"),
            offering: has("servoff"),
            security_groups: has("secgrp"),
            affinity_groups: has("affgrp"),
            group: has("group"),
        })
    }
}

impl World {
    pub(crate) fn vm_row(&self, number: Number, vm: &Vm, parts: Parts, caller: Caller) -> Value {
        let zone = &self.estate.zones[&vm.zone];
        let template = &self.estate.templates[&vm.template];
        let mut row = json!({
            "id": vm.id,
            "name": vm.name,
            "displayname": vm.display_name,
            "state": vm.state.name(),
            "created": self.time(vm.created),
            "lastupdated": self.time(vm.updated),
            "zoneid": zone.id,
            "zonename": zone.facts.name,
            "hypervisor": template.facts.hypervisor,
            "arch": template.facts.arch,
            "haenable": false,
            "passwordenabled": false,
            "rootdeviceid": 0,
            "rootdevicetype": "ROOT",
            "vmtype": "User",
            "isdynamicallyscalable": false,
            "deleteprotection": vm.delete_protection,
            "keypairs": (!vm.key_pairs.is_empty()).then(|| vm.key_pairs.join(",")),
            "details": vm.details,
            "tags": self.tag_rows(Kind::Vm, number, vm.owner),
        });
        if parts.template {
            row["templateid"] = template.id.clone().into();
            row["templatename"] = template.facts.name.clone().into();
            row["templatedisplaytext"] = template.facts.name.clone().into();
            row["ostypeid"] = template.os_type_id.clone().into();
        }
        if parts.offering {
            let offering = &self.estate.service_offerings[&vm.offering];
            row["serviceofferingid"] = offering.id.clone().into();
            row["serviceofferingname"] = offering.facts.name.clone().into();
            row["cpunumber"] = vm.cpus.into();
            row["cpuspeed"] = vm.mhz.into();
            row["memory"] = vm.memory_mib.into();
        }
        if parts.nics {
            let nics = vm.nics.iter().enumerate();
            row["nic"] = nics.map(|(device, nic)| self.nic_row(device, nic)).collect();
            row["ipaddress"] = vm.nics.first().and_then(|nic| self.estate.address(nic)).into();
        }
        if parts.affinity_groups {
            let groups = vm.affinity_groups.iter();
            let groups = groups.filter_map(|group| self.estate.affinity_groups.get(group));
            row["affinitygroup"] =
                groups.map(|group| self.affinity_group_row(group, &[])).collect();
        }
        if parts.security_groups {
            let groups = vm.security_groups.iter();
            let groups = groups.filter_map(|group| self.estate.security_groups.get(group));
            row["securitygroup"] =
                groups.map(|group| json!({ "id": group.id, "name": group.name })).collect();
        }
        if parts.group && !vm.group.is_empty() {
            row["group"] = vm.group.clone().into();
        }
        if caller.is_root() {
            row["instancename"] = format!("i-2-{number}-VM").into();
            let host = vm.host.and_then(|host| self.estate.hosts.get(&host));
            row["hostid"] = host.map(|host| host.id.clone()).into();
            row["hostname"] = host.map(|host| host.facts.name.clone()).into();
        }
        if let Some((job, status)) = self.jobs.pending_of(number) {
            row["jobid"] = job.into();
            row["jobstatus"] = status.into();
        }
        self.owned(vm.owner, without_nulls(row))
    }

    fn nic_row(&self, device: usize, nic: &Nic) -> Value {
        let network = &self.estate.networks[&nic.network];
        let address = self.estate.address(nic);
        let addressed = address.is_some();
        without_nulls(json!({
            "id": nic.id,
            "networkid": network.id,
            "networkname": network.facts.name,
            "ipaddress": address,
            "netmask": addressed.then_some("255.255.255.0"),
            "gateway": addressed.then(|| format!("{}.1", network.facts.prefix)),
            "macaddress": nic.mac,
            "traffictype": "Guest",
            "type": network.facts.kind,
            "isdefault": device == 0,
            "deviceid": device.to_string(),
            "secondaryip": [],
        }))
    }
}
