//! Nodes.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    ip,
    pod::scheduling,
    resources,
};
use crate::fields::Fields;

/// A node that is created.
pub(super) fn create(errors: &mut Errors, node: &Value) {
    taints(errors, node);
    amounts(errors, node);
    if let Some(swap) = node.part("status").part("nodeInfo").part("swap").number("capacity")
        && swap <= 0
    {
        let path = Path::new("metadata.nodeSwapStatus.capacity");
        errors.invalid(&path, swap, "must be greater than zero");
    }
    declared_features(errors, node);
    let path = Path::new("spec.podCIDRs");
    let spec = node.part("spec");
    for (index, network) in spec.texts("podCIDRs").enumerate() {
        ip::network(errors, &path.index(index), network, &[]);
    }
    let networks = spec.list("podCIDRs").len();
    let mut indexed = spec.texts("podCIDRs").enumerate();
    if let Some((index, bad)) = indexed.find(|(_, network)| !ip::is_network(network))
        && networks > 1
    {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: \
             <nil> (invalid CIDR address: {bad})"
        );
        errors.internal(&path, detail);
    }
    if networks > 1 && (!ip::is_dual_stack(spec.texts("podCIDRs")) || networks > 2) {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.invalid(&path, spec.part("podCIDRs").clone(), detail);
    }
}

/// The path is the one the API server gives, though taints are in the spec.
fn taints(errors: &mut Errors, node: &Value) {
    scheduling::taints(errors, &Path::new("metadata.taints"), node.part("spec").list("taints"));
}

fn amounts(errors: &mut Errors, node: &Value) {
    let path = Path::new("status");
    for field in ["capacity", "allocatable"] {
        let path = path.child(field);
        for (name, value) in node.part("status").entries(field) {
            resources::amount(errors, &path.child(name), name, value);
        }
    }
}

/// Names such as `MyFeature` or `MyFeature/mySubFeature`, sorted, each once.
fn declared_features(errors: &mut Errors, node: &Value) {
    let path = Path::new("status.declaredFeatures");
    let features: Vec<&str> = node.part("status").texts("declaredFeatures").collect();
    let is_segment = |segment: &str| {
        segment.starts_with(|first: char| first.is_ascii_alphabetic())
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    for (index, feature) in features.iter().enumerate() {
        let at = path.index(index);
        if feature.len() > 253 {
            let detail =
                format!("invalid feature name {feature:?}: must be no more than 253 characters");
            errors.invalid(&at, *feature, detail);
        } else if !(feature.starts_with(|first: char| first.is_ascii_uppercase())
            && feature.split('/').all(is_segment))
        {
            let detail = format!(
                "invalid feature name {feature:?}: must start with an UpperCamelCase segment, \
                 with subsequent segments separated by '/' (e.g., MyFeature or \
                 MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            );
            errors.invalid(&at, *feature, detail);
        }
        let Some(next) = features.get(index + 1) else { continue };
        let at = path.index(index + 1);
        if feature == next {
            errors.duplicate(&at, *next);
        } else if feature > next {
            errors.invalid(&at, *next, "list must be sorted alphabetically");
        }
    }
}

/// An update of a node or of its status. A node as a whole is checked first, as if it were new;
/// what is wrong with taints and amounts is therefore said twice.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    amounts(errors, new);
    declared_features(errors, new);
    let path = Path::new("status.addresses");
    let addresses = new.part("status").list("addresses");
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                Value::from(address.text("type")),
                Value::from(address.text("address"))
            );
            errors.duplicate_shown(&path.index(index), &shown);
        }
    }
    let (spec, before) = (new.part("spec"), old.part("spec"));
    let (networks, old_networks) = (spec.list("podCIDRs"), before.list("podCIDRs"));
    let changes = if old_networks.is_empty() {
        0
    } else if networks.len() == old_networks.len() {
        networks.iter().zip(old_networks).filter(|(now, then)| now != then).count()
    } else {
        1
    };
    for _ in 0..changes {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(&Path::new("spec.podCIDRs"), detail);
    }
    let provider = before.text("providerID");
    if !provider.is_empty() && spec.text("providerID") != provider {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(&Path::new("spec.providerID"), detail);
    }
    taints(errors, new);
    if spec.text("externalID") != before.text("externalID") {
        errors.forbidden(&Path::new("spec.externalID"), "may not be updated");
    }
}
