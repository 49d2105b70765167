//! What is said of a class's health.

use joiner_cloud::{
    bootstrap::class_text::Recipient,
    class::ClassCondition,
    judgement::{VALIDATION, condition, validation},
};
use joiner_core::instance_type::InstanceType;

use super::{
    Listed, Seen,
    groups::Groups,
    zone::{Asked, Found, Looked},
};
use crate::{NODE_CLASS_KIND, NodeClass, client::objects::ServiceOffering, offerings, user_data};

/// The condition that there is a zone for instances.
pub const ZONE_READY: &str = "ZoneReady";
/// The condition that there is a network for them.
pub const NETWORKS_READY: &str = "NetworksReady";
/// The condition that there is a service offering for them.
pub const OFFERINGS_READY: &str = "ServiceOfferingsReady";
/// The condition that there is a template for them.
pub const TEMPLATES_READY: &str = "TemplatesReady";

/// The reason of what is not known.
const API_ERROR: &str = "APIError";

/// Everything that is said of a class.
pub(super) fn of(
    class: &NodeClass,
    listed: &Listed,
    asked: &Asked<'_>,
    each: &[Looked],
    groups: &Groups,
) -> Vec<ClassCondition> {
    let selectors = [
        selector(NETWORKS_READY, "networks", &listed.networks, each, network_found),
        selector(OFFERINGS_READY, "service offerings", &listed.offerings, each, |looked| {
            offering_found(class, looked)
        }),
        selector(TEMPLATES_READY, "templates", &listed.templates, each, template_found),
    ];
    let mut conditions = vec![of_class(class, each, groups)];
    conditions.push(of_zones(class, &listed.zones, asked, each, &selectors));
    conditions.extend(selectors);
    conditions
}

/// Whether the class is valid, and what it names is there.
fn of_class(class: &NodeClass, each: &[Looked], groups: &Groups) -> ClassCondition {
    let own = class.problems();
    let subject = format!("{NODE_CLASS_KIND} {}", class.name());
    if !own.is_empty() {
        return validation(&subject, &own, &[]);
    }
    let of_text = user_data_problem(class);
    let blocked: Vec<&String> =
        each.iter().filter_map(|looked| looked.user_data_problem.as_ref()).collect();
    let all_blocked = !each.is_empty() && blocked.len() == each.len();
    let of_zones = all_blocked.then(|| {
        let texts: Vec<&str> = blocked.iter().map(|text| text.as_str()).collect();
        ("UserDataUnsupported", texts.join("; "))
    });
    let problems: Vec<(&str, String)> =
        of_text.into_iter().chain(of_zones).chain(groups.problems.iter().cloned()).collect();
    if let Some((reason, _)) = problems.first() {
        let texts: Vec<&str> = problems.iter().map(|(_, text)| text.as_str()).collect();
        let message = format!("{subject}: {}", texts.join("; "));
        return condition(VALIDATION, Some(false), reason, message);
    }
    if !groups.unknown.is_empty() {
        let message = format!("{subject}: {}", groups.unknown.join("; "));
        return condition(VALIDATION, None, API_ERROR, message);
    }
    condition(VALIDATION, Some(true), "", class.ignored().join("; "))
}

/// What is wrong with the user's own text where it is sent as it is. A text that is generated is
/// judged once it is known what instances join with.
fn user_data_problem(class: &NodeClass) -> Option<(&'static str, String)> {
    if class.spec.bootstrap.is_some() {
        return None;
    }
    let instance_type = &InstanceType::default();
    let trial = Recipient { node_name: "trial", instance_type, token: None, order: None };
    let error = user_data::text(class, None, None, &trial)?.err()?;
    Some((error.kind.reason(), error.to_string()))
}

/// Whether there is a zone with all that instances are made of.
fn of_zones(
    class: &NodeClass,
    zones: &Seen<crate::client::objects::Zone>,
    asked: &Asked<'_>,
    each: &[Looked],
    selectors: &[ClassCondition],
) -> ClassCondition {
    let subject = format!("{NODE_CLASS_KIND} {}", class.name());
    if let Err(why) = zones {
        let message = format!("{subject}: zones cannot be listed: {why}");
        return condition(ZONE_READY, None, API_ERROR, message);
    }
    let mut away: Vec<String> = Vec::new();
    away.extend(asked.missing.iter().map(|zone| format!("zone {zone:?} is not there")));
    away.extend(asked.disabled.iter().map(|zone| format!("zone {zone:?} is disabled")));
    if asked.enabled.is_empty() {
        let (reason, what) = if class.zones().is_empty() {
            let what = "spec.zone is empty; write the name or the id of a zone".to_owned();
            ("ZoneNotFound", what)
        } else if asked.missing.is_empty() {
            ("ZoneDisabled", format!("{}; enable it, or name another", away.join(", ")))
        } else {
            let what = away.join(", ");
            ("ZoneNotFound", format!("{what}; write the name or the id of a zone that is"))
        };
        return condition(ZONE_READY, Some(false), reason, format!("{subject}: {what}"));
    }
    let is_left = each.iter().any(is_usable);
    // Where no zone can give guests their user data, the class is told of it.
    let all_blocked = each.iter().all(|looked| looked.user_data_problem.is_some());
    if !all_blocked {
        away.extend(each.iter().filter_map(|looked| looked.user_data_problem.clone()));
    }
    let is_told = all_blocked || selectors.iter().any(|own| own.holds != Some(true));
    if !is_left && !is_told {
        let what = "no zone has a network, a template and a service offering at once";
        let message = format!("{subject}: {what}; {}", away.join("; "));
        let message = message.trim_end_matches([';', ' ']).to_owned();
        return condition(ZONE_READY, Some(false), "ZoneNotFound", message);
    }
    condition(ZONE_READY, Some(true), "", away.join("; "))
}

fn is_usable(looked: &Looked) -> bool {
    fn some<T>(found: Option<&Found<T>>) -> bool {
        found.is_some_and(|found| !found.usable.is_empty())
    }
    looked.user_data_problem.is_none()
        && looked.missing_networks.is_empty()
        && some(looked.networks.as_ref())
        && some(looked.templates.as_ref())
        && some(looked.offerings.as_ref())
}

/// What a selector finds in a zone: nothing is wrong, something is to be told, or why there is
/// nothing.
enum InZone {
    Fine,
    Told(&'static str, String),
    Nothing(&'static str, String),
}

/// Whether a selector finds something in any zone, and where it does not.
fn selector<T>(
    type_: &'static str,
    objects: &str,
    list: &Seen<T>,
    each: &[Looked],
    find: impl Fn(&Looked) -> InZone,
) -> ClassCondition {
    if let Err(why) = list {
        return condition(type_, None, API_ERROR, format!("{objects} cannot be listed: {why}"));
    }
    if each.is_empty() {
        let why = "looked at once there is a zone".to_owned();
        return condition(type_, None, "WaitsForZone", why);
    }
    let mut told = Vec::new();
    let mut reasons = Vec::new();
    let mut nothing = Vec::new();
    for looked in each {
        match find(looked) {
            InZone::Fine => {}
            InZone::Told(reason, text) => {
                reasons.push(reason);
                told.push(format!("zone {:?}: {text}", looked.zone.name));
            }
            InZone::Nothing(reason, text) => {
                nothing.push(reason);
                told.push(format!("zone {:?}: {text}", looked.zone.name));
            }
        }
    }
    let message = told.join("; ");
    if nothing.len() == each.len() {
        return condition(type_, Some(false), nothing[0], message);
    }
    // A reason of its own is told where it is that of every zone that is left.
    let is_of_all = reasons.len() + nothing.len() == each.len();
    let reason = reasons.first().filter(|_| is_of_all).copied().unwrap_or_default();
    condition(type_, Some(true), reason, message)
}

fn network_found(looked: &Looked) -> InZone {
    let Some(found) = &looked.networks else { return InZone::Fine };
    if found.usable.is_empty() {
        return nothing(found, "NetworkNotFound", "NetworkStateInvalid", "network");
    }
    if let Some(index) = looked.missing_networks.first() {
        let text = format!("spec.additionalNetworks[{index}] finds no network");
        return InZone::Nothing("NetworkNotFound", text);
    }
    if found.usable.iter().all(|own| own.can_use_for_deploy == Some(false)) {
        let names: Vec<&str> = found.usable.iter().map(|own| own.name.as_str()).collect();
        let text = format!("no address is free in {}", names.join(", "));
        return InZone::Told("NoFreeAddresses", text);
    }
    InZone::Fine
}

fn template_found(looked: &Looked) -> InZone {
    let Some(found) = &looked.templates else { return InZone::Fine };
    // A template that was taken out for its policy is told of with the class.
    if found.usable.is_empty() && looked.user_data_problem.is_none() {
        return nothing(found, "TemplateNotFound", "TemplateNotReady", "template");
    }
    InZone::Fine
}

fn offering_found(class: &NodeClass, looked: &Looked) -> InZone {
    let Some(found) = &looked.offerings else { return InZone::Fine };
    if found.usable.is_empty() {
        return nothing(
            found,
            "ServiceOfferingNotFound",
            "ServiceOfferingNotFound",
            "service offering",
        );
    }
    let without_sizes = |own: &&ServiceOffering| offerings::sizes(own, class).is_err();
    let left_out: Vec<String> = found
        .usable
        .iter()
        .filter(without_sizes)
        .filter_map(|own| Some(format!("{} {}", own.name, offerings::sizes(own, class).err()?)))
        .collect();
    match left_out.len() {
        0 => InZone::Fine,
        all if all == found.usable.len() => {
            InZone::Nothing("OnlyCustomizedOfferings", left_out.join("; "))
        }
        _ => InZone::Told("", left_out.join("; ")),
    }
}

/// Why a selector finds nothing that can be used.
fn nothing<T>(
    found: &Found<T>,
    not_found: &'static str,
    not_usable: &'static str,
    what: &str,
) -> InZone {
    if found.unusable.is_empty() {
        let text = format!("no {what} matches: {}", found.counts);
        InZone::Nothing(not_found, text)
    } else {
        InZone::Nothing(not_usable, found.unusable.join(", "))
    }
}
