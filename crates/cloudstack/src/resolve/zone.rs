//! One zone after the other.

use super::{Listed, Seen, ZoneResolution, arch_of, select};
use crate::{
    NodeClass,
    client::objects::{Network, ServiceOffering, Template, Zone},
    node_class::{Term, written},
};

/// States of networks that instances can be in. One without instances is only allocated.
///
/// COMPAT: upstream takes no network that has had no instance yet.
const NETWORK_STATES: [&str; 4] = ["Allocated", "Setup", "Implementing", "Implemented"];
/// The type of templates that are appliances.
const APPLIANCE: &str = "VNF";
/// The policy of templates that let instances have no user data of their own.
const DENY_USER_DATA: &str = "DENYOVERRIDE";

/// The zones that a class asks for.
#[derive(Debug, Default)]
pub(super) struct Asked<'l> {
    pub(super) enabled: Vec<&'l Zone>,
    /// By name.
    pub(super) disabled: Vec<&'l str>,
    /// As the class has them.
    pub(super) missing: Vec<&'l str>,
}

/// What was found in a zone. A list that could not be read is none.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) zone: Zone,
    pub(super) networks: Option<Found<Network>>,
    pub(super) templates: Option<Found<Template>>,
    pub(super) offerings: Option<Found<ServiceOffering>>,
    pub(super) additional_networks: Vec<Network>,
    /// The terms of further networks that find none, by their place.
    pub(super) missing_networks: Vec<usize>,
    /// Why instances of the zone cannot be given what the class gives them.
    pub(super) user_data_problem: Option<String>,
}

/// Objects that selectors find in a zone.
#[derive(Debug)]
pub(super) struct Found<T> {
    /// Those that can be used, in the order of preference.
    pub(super) usable: Vec<T>,
    /// How many each term finds, in words.
    pub(super) counts: String,
    /// Names of those that selectors find and that cannot be used, with the reason.
    pub(super) unusable: Vec<String>,
}

impl Looked {
    /// The zone, if instances can be made there.
    pub(super) fn usable(self) -> Option<ZoneResolution> {
        if self.user_data_problem.is_some() || !self.missing_networks.is_empty() {
            return None;
        }
        let resolution = ZoneResolution {
            zone: self.zone,
            networks: self.networks?.usable,
            templates: self.templates?.usable,
            offerings: self.offerings?.usable,
            additional_networks: self.additional_networks,
        };
        let is_whole = !resolution.networks.is_empty()
            && !resolution.templates.is_empty()
            && !resolution.offerings.is_empty();
        is_whole.then_some(resolution)
    }
}

/// Finds the zones that a class asks for, by name or id.
pub(super) fn asked<'l>(class: &'l NodeClass, zones: &'l Seen<Zone>) -> Asked<'l> {
    let mut asked = Asked::default();
    let Ok(zones) = zones else { return asked };
    for wanted in class.zones() {
        let is_it = |zone: &&Zone| zone.name == wanted || zone.id.eq_ignore_ascii_case(wanted);
        match zones.iter().find(is_it) {
            None => asked.missing.push(wanted),
            // Servers that do not say it leave it to the deployment.
            Some(zone) if zone.allocation_state.as_deref().unwrap_or("Enabled") != "Enabled" => {
                asked.disabled.push(&zone.name);
            }
            Some(zone) if asked.enabled.iter().any(|known| known.id == zone.id) => {}
            Some(zone) => asked.enabled.push(zone),
        }
    }
    asked
}

/// Looks at each zone with the same terms.
pub(super) fn each(class: &NodeClass, listed: &Listed, asked: &Asked<'_>) -> Vec<Looked> {
    asked.enabled.iter().map(|zone| look(class, listed, zone)).collect()
}

fn look(class: &NodeClass, listed: &Listed, zone: &Zone) -> Looked {
    let spec = &class.spec;
    let terms: Vec<Term<'_>> =
        spec.network_selector_terms.iter().flatten().map(|term| term.term()).collect();
    let networks = listed.networks.as_ref().ok().map(|all| networks(&terms, all, zone));
    let terms: Vec<Term<'_>> =
        spec.template_selector_terms.iter().flatten().map(|term| term.term()).collect();
    let mut templates = listed.templates.as_ref().ok().map(|all| templates(&terms, all, zone));
    let terms: Vec<Term<'_>> =
        spec.service_offering_selector_terms.iter().flatten().map(|term| term.term()).collect();
    let offerings = listed.offerings.as_ref().ok().map(|all| offerings(&terms, all, zone));
    let mut additional_networks = Vec::new();
    let mut missing_networks = Vec::new();
    if let Ok(all) = &listed.networks {
        for (index, term) in spec.additional_networks.iter().flatten().enumerate() {
            let found = self::networks(&[term.term()], all, zone).usable.into_iter().next();
            match found {
                Some(network) => additional_networks.push(network),
                None => missing_networks.push(index),
            }
        }
    }
    let user_data_problem = user_data_problem(class, zone, networks.as_ref(), templates.as_mut());
    Looked {
        zone: zone.clone(),
        networks,
        templates,
        offerings,
        additional_networks,
        missing_networks,
        user_data_problem,
    }
}

/// The networks of a zone. One without free addresses is the last choice, and still one.
fn networks(terms: &[Term<'_>], all: &[Network], zone: &Zone) -> Found<Network> {
    let seen: Vec<&Network> = all.iter().filter(|own| own.zone_id == zone.id).collect();
    let mut selected = select::selected(terms, seen.iter().copied());
    let mut unusable = Vec::new();
    selected.retain(|(_, network)| {
        let state = network.state.as_deref().unwrap_or_default();
        let is_usable = NETWORK_STATES.contains(&state);
        if !is_usable {
            unusable.push(format!("{} is in state {state:?}", network.name));
        }
        is_usable
    });
    selected.sort_by_key(|(rank, network)| {
        (network.can_use_for_deploy == Some(false), *rank, &network.name, &network.id)
    });
    let usable = selected.into_iter().map(|(_, network)| network.clone()).collect();
    Found { usable, counts: select::counts(terms, &seen), unusable }
}

/// The templates of a zone, newest first.
///
/// COMPAT: upstream asks for the state of a template's download, which CloudStack tells its owner
/// only.
fn templates(terms: &[Term<'_>], all: &[Template], zone: &Zone) -> Found<Template> {
    let seen: Vec<&Template> = all.iter().filter(|own| own.zone_id == zone.id).collect();
    let mut selected = select::selected(terms, seen.iter().copied());
    let mut unusable = Vec::new();
    selected.retain(|(rank, template)| {
        let is_appliance = template.template_type.as_deref() == Some(APPLIANCE);
        let problem = if !template.is_ready {
            let status = template.status.as_deref().unwrap_or("its download is not over");
            format!("is not ready: {status}")
        } else if is_appliance && terms[*rank].id.is_none() {
            "is an appliance; select it by its id".to_owned()
        } else if arch_of(template).is_none() {
            let arch = template.arch.as_deref().unwrap_or_default();
            format!("is for {arch:?}, which no node has")
        } else {
            return true;
        };
        unusable.push(format!("{} {problem}", template.name));
        false
    });
    selected.sort_by(|(rank, own), (other_rank, other)| {
        let newest_first = other.created.cmp(&own.created);
        rank.cmp(other_rank).then(newest_first).then_with(|| own.id.cmp(&other.id))
    });
    // Two lists are put together, and a template may be in both.
    selected.dedup_by(|(_, own), (_, other)| own.id == other.id);
    let usable = selected.into_iter().map(|(_, template)| template.clone()).collect();
    Found { usable, counts: select::counts(terms, &seen), unusable }
}

/// The service offerings of a zone.
fn offerings(terms: &[Term<'_>], all: &[ServiceOffering], zone: &Zone) -> Found<ServiceOffering> {
    let seen: Vec<&ServiceOffering> = all.iter().filter(|own| own.is_in_zone(&zone.id)).collect();
    let mut selected = select::selected(terms, seen.iter().copied());
    let mut unusable = Vec::new();
    selected.retain(|(_, offering)| {
        let state = offering.state.as_deref().unwrap_or("Active");
        let is_local = offering.storage_type.as_deref() == Some("local");
        let problem = if offering.is_system {
            "is for CloudStack's own instances".to_owned()
        } else if state != "Active" {
            format!("is in state {state:?}")
        } else if is_local && !zone.has_local_storage {
            "needs local storage, which the zone does not have".to_owned()
        } else {
            return true;
        };
        unusable.push(format!("{} {problem}", offering.name));
        false
    });
    selected.sort_by_key(|(rank, offering)| (*rank, &offering.name, &offering.id));
    selected.dedup_by(|(_, own), (_, other)| own.id == other.id);
    let usable = selected.into_iter().map(|(_, offering)| offering.clone()).collect();
    Found { usable, counts: select::counts(terms, &seen), unusable }
}

/// Why guests of a zone cannot be given their user data. Templates that do not let them have any are
/// taken out.
fn user_data_problem(
    class: &NodeClass,
    zone: &Zone,
    networks: Option<&Found<Network>>,
    templates: Option<&mut Found<Template>>,
) -> Option<String> {
    let spec = &class.spec;
    let sends_text = spec.bootstrap.is_some() || written(spec.user_data.as_ref()).is_some();
    let mut needs_service = sends_text || written(spec.ssh_key_pair.as_ref()).is_some();
    if let Some(templates) = templates {
        let denies = |own: &Template| {
            let policy = own.user_data_policy.as_deref().unwrap_or_default();
            sends_text && policy.eq_ignore_ascii_case(DENY_USER_DATA)
        };
        let denying = templates.usable.iter().find(|own| denies(own)).map(|own| own.name.clone());
        templates.usable.retain(|own| !denies(own));
        if let (Some(name), true) = (denying, templates.usable.is_empty()) {
            return Some(format!(
                "template {name:?} of zone {:?} has the user data policy {DENY_USER_DATA}, so \
                 instances get no user data of ours; use a template with another policy",
                zone.name
            ));
        }
        needs_service |= templates.usable.iter().any(|own| own.has_password);
    }
    let default = networks?.usable.first()?;
    (needs_service && !default.has_user_data()).then(|| {
        format!(
            "network {:?} of zone {:?} does not have the service UserData, so CloudStack refuses \
             user data, key pairs and passwords there; use a network with it as the first one",
            default.name, zone.name
        )
    })
}
