//! Quantities and the names of resources.

use joiner_core::quantity::Quantity;
use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats,
};
use crate::fields::Fields;

/// The amount in a field of a decoded object; decoding has refused what is none.
pub(crate) fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or(Quantity::ZERO),
        Value::Number(number) => Quantity::whole(number.as_i64().unwrap_or_default()),
        _ => Quantity::ZERO,
    }
}

/// The amount as the API server prints it.
pub(crate) fn quantity_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => quantity(other).to_string(),
    }
}

/// Whether the amount is a whole number when cut to thousandths, rounded up.
pub(crate) fn is_whole(value: &Value) -> bool {
    const MILLI: i128 = 1_000_000;
    let nanos = quantity(value).nanos();
    let millis = nanos.div_euclid(MILLI) + i128::from(nanos.rem_euclid(MILLI) != 0);
    millis % 1000 == 0
}

/// Resources that are counted, not measured.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are measured wherever they appear.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.storage",
];

pub(crate) fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_quota_huge_pages(name: &str) -> bool {
    is_huge_pages(name) || name.starts_with("requests.hugepages-")
}

/// Whether the resource is one that Kubernetes knows itself.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the resource is one that a device plugin offers.
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && formats::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether a container may be limited to more than it requests.
pub(crate) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

fn is_standard(name: &str) -> bool {
    MEASURED.contains(&name)
        || COUNTED.contains(&name)
        || name == "storage"
        || is_quota_huge_pages(name)
}

/// Whether the resource can be limited by a quota without being a device.
pub(crate) fn is_standard_for_quota(name: &str) -> bool {
    MEASURED.contains(&name) || COUNTED.contains(&name) || is_quota_huge_pages(name)
}

/// The name of any resource.
pub(crate) fn resource_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let wrong = formats::qualified_name(name);
    if !wrong.is_empty() {
        errors.invalid_each(path, name, wrong);
    } else if !name.contains('/') && !is_standard(name) {
        errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
}

/// The name of a resource that containers use.
pub(crate) fn container_resource_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if ["cpu", "memory", "ephemeral-storage"].contains(&name) {
        return;
    }
    resource_name(errors, path, name);
    if !name.contains('/') {
        if !is_huge_pages(name) {
            errors.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// The name of a resource that a whole pod may request.
fn pod_resource_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let before = errors.len();
    resource_name(errors, path, name);
    if errors.len() == before && !(name == "cpu" || name == "memory" || is_huge_pages(name)) {
        errors.not_supported(path, name, &["cpu", "hugepages-", "memory"]);
    }
}

/// The name of a resource that a quota limits.
pub(crate) fn quota_resource_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    resource_name(errors, path, name);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.invalid(path, name, "must be a standard resource for quota");
    }
}

/// An amount that must not be negative.
pub(crate) fn nonnegative_quantity(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if quantity(value) < Quantity::ZERO {
        errors.invalid(path, quantity_text(value), "must be greater than or equal to 0");
    }
}

/// An amount of something there must be some of.
pub(crate) fn positive_quantity(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if quantity(value) <= Quantity::ZERO {
        errors.invalid(path, quantity_text(value), "must be greater than zero");
    }
}

/// An amount of a resource: not negative, and whole if the resource is counted.
pub(crate) fn amount(errors: &mut Errors, path: &Path<'_>, name: &str, value: &Value) {
    nonnegative_quantity(errors, path, value);
    if (COUNTED.contains(&name) || is_extended(name)) && !is_whole(value) {
        errors.invalid(path, quantity_text(value), "must be an integer");
    }
}

/// An amount whose whole units must not be negative.
pub(crate) fn basic_amount(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    let units = quantity(value).floor();
    if units < 0 {
        errors.invalid(path, units, "must be a valid resource quantity");
    }
}

/// Huge pages are given out as whole pages.
fn whole_pages(errors: &mut Errors, path: &Path<'_>, name: &str, value: &Value) {
    let size: Option<Quantity> = name.strip_prefix("hugepages-").and_then(|size| size.parse().ok());
    let divides = size.is_some_and(|size| {
        size > Quantity::ZERO
            && is_whole(&Value::from(size.to_string()))
            && quantity(value).floor() % size.floor() == 0
    });
    if !divides {
        let text = quantity_text(value);
        let detail = format!("{text} is not positive integer multiple of {name}");
        errors.invalid(path, text, detail);
    }
}

/// Whose requests and limits are checked; decides which resources there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Container,
    Pod,
}

/// Requests, limits and claims of a container or a pod.
pub(crate) fn requirements(
    errors: &mut Errors,
    path: &Path<'_>,
    of: Of,
    requirements: &Value,
    claims: &[&str],
) {
    let limits = path.child("limits");
    let requests = path.child("requests");
    let (mut compute, mut pages) = (false, false);
    let mut one = |errors: &mut Errors, key: &Path<'_>, name: &str, value: &Value| {
        match of {
            Of::Container => container_resource_name(errors, key, name),
            Of::Pod => pod_resource_name(errors, key, name),
        }
        amount(errors, key, name, value);
        compute |= name == "cpu" || name == "memory";
        pages |= is_huge_pages(name);
    };
    for (name, value) in requirements.entries("limits") {
        let key = limits.key(name);
        one(errors, &key, name, value);
        if is_huge_pages(name) {
            whole_pages(errors, &key, name, value);
        }
    }
    for (name, value) in requirements.entries("requests") {
        let key = requests.key(name);
        one(errors, &key, name, value);
        let limit = requirements.part("limits").field(name);
        request_within_limit(errors, &requests, &limits, name, value, limit);
        if is_huge_pages(name) {
            whole_pages(errors, &key, name, value);
        }
    }
    if pages && !compute {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
    claim_names(errors, &path.child("claims"), requirements, claims);
}

fn request_within_limit(
    errors: &mut Errors,
    requests: &Path<'_>,
    limits: &Path<'_>,
    name: &str,
    request: &Value,
    limit: Option<&Value>,
) {
    let Some(limit) = limit else {
        if !may_be_overcommitted(name) {
            errors.required(limits, "Limit must be set for non overcommitable resources");
        }
        return;
    };
    let most = quantity_text(limit);
    if quantity(request) != quantity(limit) && !may_be_overcommitted(name) {
        let detail = format!("must be equal to {name} limit of {most}");
        errors.invalid(requests, quantity_text(request), detail);
    } else if quantity(request) > quantity(limit) {
        let detail = format!("must be less than or equal to {name} limit of {most}");
        errors.invalid(requests, quantity_text(request), detail);
    }
}

/// Claims that a container uses have to be claims of its pod, each used once.
fn claim_names(errors: &mut Errors, path: &Path<'_>, requirements: &Value, claims: &[&str]) {
    let mut used: Vec<(&str, &str)> = Vec::new();
    for (index, claim) in requirements.list("claims").iter().enumerate() {
        let path = path.index(index);
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            errors.required(&path, "");
            continue;
        }
        if used.contains(&(name, "")) {
            errors.duplicate(&path, name);
        } else {
            if !request.is_empty() {
                errors.invalid_each(&path.child("request"), request, formats::dns_label(request));
            }
            if used.contains(&(name, request)) {
                errors.duplicate(&path, format!("{name}/{request}"));
            } else if request.is_empty() {
                for _ in used.iter().filter(|(other, _)| *other == name) {
                    errors.duplicate(&path, name);
                }
            }
            used.push((name, request));
        }
        if !claims.contains(&name) {
            let mut known = claims.to_vec();
            known.sort_unstable();
            known.dedup();
            let which = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{which}");
            errors.not_found(&path, name, &detail);
        }
    }
}
