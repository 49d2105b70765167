//! What a class comes to, written into its status and read from there.

use std::collections::BTreeMap;

use super::{Resolution, ZoneResolution, arch_of};
use crate::{
    GIB, NODE_CLASS_KIND, NodeClass, ResolvedStatus, StatusNetwork, StatusOffering, StatusTemplate,
    client::objects::{DiskOffering, Network, ServiceOffering, Template, Zone},
    node_class::STATUS_MAX,
    offerings::{PRICE, gpus, written_price},
};

/// What is written into the status.
pub(super) fn of(resolution: &Resolution) -> ResolvedStatus {
    let mut status = ResolvedStatus {
        zone_id: resolution.zones.first().map(|own| own.zone.id.clone()),
        disk_offering_id: resolution.disk_offering.as_ref().map(|own| own.id.clone()),
        ..ResolvedStatus::default()
    };
    let mut offerings: Vec<StatusOffering> = Vec::new();
    let mut places = BTreeMap::new();
    for own in &resolution.zones {
        let zone = &own.zone.name;
        status.networks.extend(own.networks.iter().map(|network| of_network(network, zone)));
        status.templates.extend(own.templates.iter().map(|template| of_template(template, zone)));
        for offering in &own.offerings {
            let place = *places.entry(&offering.id).or_insert_with(|| {
                offerings.push(of_offering(offering));
                offerings.len() - 1
            });
            offerings[place].zones.push(zone.clone());
        }
    }
    status.service_offerings = offerings;
    status.networks.truncate(STATUS_MAX);
    status.templates.truncate(STATUS_MAX);
    status.service_offerings.truncate(STATUS_MAX);
    status
}

fn of_network(network: &Network, zone: &str) -> StatusNetwork {
    StatusNetwork {
        id: network.id.clone(),
        name: network.name.clone(),
        zone: zone.to_owned(),
        kind: network.kind.clone(),
        can_use_for_deploy: network.can_use_for_deploy,
    }
}

fn of_template(template: &Template, zone: &str) -> StatusTemplate {
    StatusTemplate {
        id: template.id.clone(),
        name: template.name.clone(),
        os_type: template.os_type_name.clone(),
        zone: zone.to_owned(),
        arch: arch_of(template).map(str::to_owned),
        size_gib: template.size.filter(|bytes| *bytes > 0).map(|bytes| (bytes + GIB - 1) / GIB),
    }
}

fn of_offering(offering: &ServiceOffering) -> StatusOffering {
    StatusOffering {
        id: offering.id.clone(),
        name: offering.name.clone(),
        cpus: offering.cpus.unwrap_or_default(),
        cpu_mhz: offering.cpu_mhz,
        memory_mib: offering.memory_mib.unwrap_or_default(),
        network_rate: offering.network_rate,
        root_disk_gib: offering.root_disk_gib.filter(|gib| *gib > 0),
        zones: Vec::new(),
        price: written_price(offering),
        gpus: gpus(offering).into_iter().collect(),
        customized: offering.is_customized.then_some(true),
    }
}

/// What a status says, as if it were listed. What it lacks is told once.
pub(super) fn read(class: &NodeClass) -> Resolution {
    let status = &class.status;
    let mut names: Vec<&str> = Vec::new();
    let of_offerings = status.service_offerings.iter().flat_map(|own| &own.zones);
    let of_others = status.networks.iter().map(|own| &own.zone);
    let asked = class.zones();
    for name in of_others.chain(of_offerings).map(String::as_str).chain(asked.iter().copied()) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    // A class may name a zone by its id, which is not another zone.
    if names.len() > 1 {
        names.retain(|name| Some(*name) != status.zone_id.as_deref());
    }
    let lacks = lacks(class, names.len());
    let zones = names.iter().enumerate().map(|(index, name)| in_zone(class, name, index));
    let mut resolution = Resolution {
        zones: zones.collect(),
        status: status.clone(),
        disk_offering: status
            .disk_offering_id
            .clone()
            .map(|id| DiskOffering { id, ..DiskOffering::default() }),
        ..Resolution::default()
    };
    if !lacks.is_empty() {
        resolution.notes.push(format!(
            "{NODE_CLASS_KIND} {:?}: its status does not say {}",
            class.name(),
            lacks.join(", and not ")
        ));
    }
    resolution
}

/// What a status does not say and a plan would need. That the sizes of root disks are not known is
/// found out with the types.
fn lacks(class: &NodeClass, zones: usize) -> Vec<&'static str> {
    let status = &class.status;
    if status.service_offerings.is_empty() {
        return vec![
            "service offerings, so there are no instance types; list them in \
             status.serviceOfferings",
        ];
    }
    let mut lacks = Vec::new();
    if status.service_offerings.iter().any(|own| own.zones.is_empty()) && zones > 1 {
        lacks.push("the zones of service offerings, which are taken for all");
    }
    if status.templates.iter().any(|own| own.arch.is_none()) || status.templates.is_empty() {
        lacks.push("the architectures of templates, which are taken for amd64");
    }
    lacks
}

/// What a status says of one zone.
fn in_zone(class: &NodeClass, name: &str, index: usize) -> ZoneResolution {
    let status = &class.status;
    let is_first = index == 0;
    let id = status.zone_id.clone().filter(|_| is_first).unwrap_or_else(|| name.to_owned());
    let is_here = |zone: &str| zone == name || zone.is_empty();
    let networks = status.networks.iter().filter(|own| is_here(&own.zone)).map(|own| Network {
        id: own.id.clone(),
        name: own.name.clone(),
        zone_id: id.clone(),
        kind: own.kind.clone(),
        can_use_for_deploy: own.can_use_for_deploy,
        ..Network::default()
    });
    let mut templates: Vec<Template> = status
        .templates
        .iter()
        .filter(|own| is_here(&own.zone))
        .map(|own| Template {
            id: own.id.clone(),
            name: own.name.clone(),
            zone_id: id.clone(),
            is_ready: true,
            os_type_name: own.os_type.clone(),
            size: own.size_gib.map(|gib| gib.saturating_mul(GIB)),
            arch: own.arch.clone(),
            ..Template::default()
        })
        .collect();
    if templates.is_empty() {
        templates.push(Template { zone_id: id.clone(), ..Template::default() });
    }
    let offerings = status
        .service_offerings
        .iter()
        .filter(|own| own.zones.is_empty() || own.zones.iter().any(|zone| zone == name))
        .map(read_offering)
        .collect();
    let networks: Vec<Network> = networks.collect();
    ZoneResolution {
        zone: Zone { id, name: name.to_owned(), ..Zone::default() },
        networks: if networks.is_empty() { vec![Network::default()] } else { networks },
        templates,
        offerings,
        additional_networks: Vec::new(),
    }
}

fn read_offering(own: &StatusOffering) -> ServiceOffering {
    let is_customized = own.customized.unwrap_or(own.cpus == 0 || own.memory_mib == 0);
    let price = own.price.map(|price| (PRICE.to_owned(), price.to_string()));
    let gpu = own.gpus.first();
    ServiceOffering {
        id: own.id.clone(),
        name: own.name.clone(),
        cpus: Some(own.cpus).filter(|cpus| *cpus > 0),
        cpu_mhz: own.cpu_mhz,
        memory_mib: Some(own.memory_mib).filter(|mib| *mib > 0),
        network_rate: own.network_rate,
        details: price.into_iter().collect(),
        is_customized,
        root_disk_gib: own.root_disk_gib,
        gpu_card: gpu.map(|gpu| gpu.name.clone()),
        gpu_count: gpu.map(|gpu| gpu.count),
        ..ServiceOffering::default()
    }
}
