//! What may change in a pod's status.

use serde_json::Value;

use super::update::annotation_changes;
use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, IMMUTABLE, Path},
        formats, ip,
    },
};

/// An update of a pod's status.
pub(in crate::validate) fn update_status(errors: &mut Errors, new: &Value, old: &Value) {
    annotation_changes(errors, new, old);
    let path = Path::new("status");
    let (status, before) = (new.part("status"), old.part("status"));
    conditions(errors, &path.child("conditions"), status.list("conditions"));
    let node = old.part("spec").text("nodeName");
    if new.part("spec").text("nodeName") != node {
        errors.forbidden(&path.child("nodeName"), "may not be changed directly");
    }
    let nominated = status.text("nominatedNodeName");
    if !nominated.is_empty() && nominated != before.text("nominatedNodeName") {
        let at = path.child("nominatedNodeName");
        errors.invalid_each(&at, nominated, formats::dns_subdomain(nominated));
        if !node.is_empty() {
            errors.forbidden(&at, "may not be set on pods that are already bound to a node");
        }
    }
    observed_generation(errors, &path, status);
    if status.text("qosClass") != before.text("qosClass") {
        errors.invalid(&path.child("qosClass"), status.text("qosClass"), IMMUTABLE);
    }
    state_changes(errors, &path, new, old);
    claim_statuses(errors, &path.child("resourceClaimStatuses"), new);
    addresses(errors, &path.child("podIPs"), status, before, "podIPs");
    host_addresses(errors, &path.child("hostIPs"), status, before);
}

fn observed_generation(errors: &mut Errors, path: &Path<'_>, owner: &Value) {
    let generation = owner.count("observedGeneration");
    if generation < 0 {
        let detail = "must be a non-negative integer";
        errors.invalid(&path.child("observedGeneration"), generation, detail);
    }
}

fn conditions(errors: &mut Errors, path: &Path<'_>, conditions: &[Value]) {
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        observed_generation(errors, &path, condition);
        let kind = condition.text("type");
        if !["PodScheduled", "Ready", "Initialized"].contains(&kind) {
            errors.invalid_each(&path.child("Type"), kind, formats::qualified_name(kind));
        }
    }
}

/// A container that has terminated runs again only if something restarts it.
fn state_changes(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let spec = old.part("spec");
    let restarts_all = |container: &Value| {
        let mut rules = container.list("restartPolicyRules").iter();
        rules.any(|rule| rule.text("action") == "RestartAllContainers")
    };
    let any_restarts_all =
        spec.list("containers").iter().chain(spec.list("initContainers")).any(restarts_all);
    let kinds = [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ];
    for (field, containers) in kinds {
        let ephemeral = containers.is_empty();
        if any_restarts_all && !ephemeral {
            continue;
        }
        let path = path.child(field);
        for (index, before) in old.part("status").list(field).iter().enumerate() {
            let Some(end) = before.part("state").field("terminated") else { continue };
            let name = before.text("name");
            let mut now = new.part("status").list(field).iter();
            let runs_again = now.any(|status| {
                status.text("name") == name && !status.part("state").has("terminated")
            });
            let container = spec.list(containers).iter().find(|other| other.text("name") == name);
            let may = container
                .is_some_and(|container| should_restart(container, spec, end.count("exitCode")));
            if runs_again && !may {
                let detail = "may not be transitioned to non-terminated state";
                errors.forbidden(&path.index(index).child("state"), detail);
            }
        }
    }
}

fn should_restart(container: &Value, pod: &Value, exit_code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Never" => Some(false),
        "OnFailure" => Some(exit_code != 0),
        "Always" => Some(true),
        _ => None,
    };
    let own = container.given_text("restartPolicy").and_then(|policy| {
        let matches = |rule: &&Value| {
            let codes = rule.part("exitCodes");
            let listed = codes.list("values").iter().any(|code| code.as_i64() == Some(exit_code));
            listed == (codes.text("operator") == "In")
        };
        match container.list("restartPolicyRules").iter().find(matches) {
            Some(_) => Some(true),
            None => by_policy(policy),
        }
    });
    own.or_else(|| by_policy(pod.text("restartPolicy"))).unwrap_or(true)
}

fn claim_statuses(errors: &mut Errors, path: &Path<'_>, pod: &Value) {
    let statuses = pod.part("status").list("resourceClaimStatuses");
    let claims = pod.part("spec").list("resourceClaims");
    for (index, status) in statuses.iter().enumerate() {
        let path = path.index(index);
        let name = status.text("name");
        if !claims.iter().any(|claim| claim.text("name") == name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(&path.child("name"), name, detail);
        }
        if statuses[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
        if let Some(claim) = status.given_text("resourceClaimName") {
            let at = path.child("resourceClaimName");
            errors.invalid_each(&at, claim, formats::dns_subdomain(claim));
        }
    }
}

/// Addresses of a pod or its host: one of each family at most.
fn addresses(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value, field: &str) {
    let stored: Vec<&str> = old.list(field).iter().map(|ip| ip.text("ip")).collect();
    let addresses = new.list(field);
    for (index, address) in addresses.iter().enumerate() {
        ip::address(errors, &path.index(index), address.text("ip"), &stored);
    }
    let mut indexed = addresses.iter().map(|address| address.text("ip")).enumerate();
    if let Some((index, bad)) = indexed.find(|(_, address)| ip::parse_sloppy(address).is_none())
        && addresses.len() > 1
    {
        let detail =
            format!("failed to check for dual stack with error:invalid IP[{index}]: {bad}");
        errors.internal(path, detail);
    }
    let dual = ip::is_dual_stack(addresses.iter().map(|address| address.text("ip")));
    if addresses.len() > 1 && (!dual || addresses.len() > 2) {
        let shown: Vec<String> = addresses
            .iter()
            .map(|address| format!("{{\"IP\":{}}}", Value::from(address.text("ip"))))
            .collect();
        let detail = "may specify no more than one IP for each IP family";
        errors.invalid_shown(path, &format!("[{}]", shown.join(",")), detail);
    }
}

fn host_addresses(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let Some(first) = new.list("hostIPs").first() else { return };
    if first.text("ip") != new.text("hostIP") {
        let at = path.index(0);
        errors.invalid(&at.child("ip"), first.text("ip"), "must be equal to `hostIP`");
    }
    addresses(errors, path, new, old, "hostIPs");
}
