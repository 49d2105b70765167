//! What is filled in for pods, containers and volumes.

use std::collections::BTreeSet;

use joiner_core::quantity::Quantity;
use serde_json::{Map, Value, json};

use crate::edit::{entries, is_blank, object_in, set_missing, text};

/// A whole pod; templates of pods are not treated so.
pub(super) fn pod(pod: &mut Map<String, Value>) {
    let Some(spec) = object_in(pod, "spec") else { return };
    for field in ["containers", "initContainers"] {
        for container in entries(spec, field) {
            if let Some(resources) = object_in(container, "resources") {
                request_limits(resources);
            }
        }
    }
    pod_level_resources(spec);
    set_missing(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for field in ["containers", "initContainers"] {
            entries(spec, field).for_each(use_host_ports);
        }
    }
}

/// A limit without a request is also the request.
fn request_limits(resources: &mut Map<String, Value>) {
    let Some(Value::Object(limits)) = resources.get("limits") else { return };
    if limits.is_empty() {
        return;
    }
    let limits = limits.clone();
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    for (name, limit) in limits {
        if requests.get(&name).is_none() {
            requests[name] = limit;
        }
    }
}

/// In the host's network every port of a container is one of the host.
fn use_host_ports(container: &mut Map<String, Value>) {
    for port in entries(container, "ports") {
        if port.get("hostPort").is_none_or(is_blank) {
            let number = port.get("containerPort").filter(|number| !is_blank(number)).cloned();
            port.extend(number.map(|number| ("hostPort".to_owned(), number)));
        }
    }
}

/// Requests and limits of the pod as a whole, where it has some: what its containers ask for, or
/// else, for requests, the limits.
fn pod_level_resources(spec: &mut Map<String, Value>) {
    let given = |field: &str| {
        let resources = spec.get("resources")?;
        resources.get(field).and_then(Value::as_object).cloned()
    };
    let (limits, requests) = (given("limits"), given("requests"));
    if limits.is_none() && requests.is_none() {
        return;
    }
    let (mut limits, mut requests) = (limits.unwrap_or_default(), requests.unwrap_or_default());
    for name in container_resources(spec, "limits") {
        if is_huge_page(&name) && !requests.contains_key(&name) && !limits.contains_key(&name) {
            let sum = containers_sum(spec, "limits", &name);
            limits.insert(name, sum.to_string().into());
        }
    }
    if !limits.is_empty() {
        for name in container_resources(spec, "requests") {
            if matches!(name.as_str(), "cpu" | "memory") && !requests.contains_key(&name) {
                let sum = containers_sum(spec, "requests", &name);
                requests.insert(name, sum.to_string().into());
            }
        }
        for (name, limit) in &limits {
            let whole = matches!(name.as_str(), "cpu" | "memory") || is_huge_page(name);
            if whole && !requests.contains_key(name) {
                requests.insert(name.clone(), limit.clone());
            }
        }
    }
    let Some(resources) = object_in(spec, "resources") else { return };
    for (field, amounts) in [("limits", limits), ("requests", requests)] {
        if !amounts.is_empty() {
            resources.insert(field.to_owned(), amounts.into());
        }
    }
}

fn is_huge_page(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

/// Names of the resources that containers have requests or limits of.
fn container_resources(spec: &Map<String, Value>, field: &str) -> BTreeSet<String> {
    let containers = ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list));
    let containers = containers.filter_map(Value::as_array).flatten();
    let amounts = containers.filter_map(|container| container.get("resources")?.get(field));
    amounts.filter_map(Value::as_object).flat_map(Map::keys).cloned().collect()
}

/// What the containers of a pod have of a resource together: the running ones and, while each init
/// container runs, that one beside the sidecars started before it.
fn containers_sum(spec: &Map<String, Value>, field: &str, resource: &str) -> Quantity {
    let amounts = |list: &str| {
        let containers = spec.get(list).and_then(Value::as_array);
        containers.into_iter().flatten().filter_map(|container| {
            let amount = container.get("resources")?.get(field)?.get(resource)?.as_str()?;
            let sidecar = container.get("restartPolicy").is_some_and(|policy| policy == "Always");
            Some((sidecar, amount.parse::<Quantity>().ok()?))
        })
    };
    let mut running = Quantity::ZERO;
    for (_, amount) in amounts("containers") {
        running = running + amount;
    }
    let mut sidecars = Quantity::ZERO;
    let mut starting = Quantity::ZERO;
    for (sidecar, amount) in amounts("initContainers") {
        if sidecar {
            sidecars = sidecars + amount;
            starting = starting.max(sidecars);
        } else {
            starting = starting.max(sidecars + amount);
        }
    }
    (running + sidecars).max(starting)
}

/// Images without a tag, or with the tag `latest`, are always pulled.
pub(super) fn container(container: &mut Map<String, Value>) {
    pull_policy(container, "imagePullPolicy", "image");
}

/// A volume that says nothing is an empty directory.
pub(super) fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|field| field == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = object_in(volume, "image") {
        pull_policy(image, "pullPolicy", "reference");
    }
}

fn pull_policy(object: &mut Map<String, Value>, policy: &str, image: &str) {
    if !text(object, policy).is_empty() {
        return;
    }
    let pulled = if is_latest(text(object, image)) { "Always" } else { "IfNotPresent" };
    object.insert(policy.to_owned(), pulled.into());
}

/// Whether an image's name means the newest image: it has the tag `latest`, or neither tag nor
/// digest. A name that is none means nothing.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, d)| (name, Some(d)));
    let last = name.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match name[last..].rfind(':') {
        Some(at) => (&name[..last + at], Some(&name[last + at + 1..])),
        None => (name, None),
    };
    let valid = !path.is_empty()
        && !path.starts_with('/')
        && !path.ends_with('/')
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:[]".contains(&byte))
        && path[last.min(path.len())..].bytes().all(|byte| !byte.is_ascii_uppercase());
    valid && tag.map_or(digest.is_none(), |tag| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn the_newest_image_has_the_tag_latest_or_none() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1", false),
            ("registry:5000/a/nginx", true),
            ("registry:5000/a/nginx:1", false),
            ("nginx@sha256:0123", false),
            ("", false),
            ("Upper", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
