//! What is filled in for pods, containers and volumes.

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
    pod_level_requests(spec);
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
            let number = port.get("containerPort").cloned().unwrap_or_default();
            port.insert("hostPort".to_owned(), number);
        }
    }
}

/// Requests of the pod as a whole, where it has limits as a whole: what its containers ask for, or
/// else the limits.
fn pod_level_requests(spec: &mut Map<String, Value>) {
    let Some(resources) = spec.get("resources").and_then(Value::as_object) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object) else { return };
    let mut requests =
        resources.get("requests").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, limit) in limits {
        if requests.contains_key(name) || !is_pod_level(name) {
            continue;
        }
        let asked = (!name.starts_with("hugepages-")).then(|| containers_request(spec, name));
        let request = asked.flatten().map_or_else(|| limit.clone(), |sum| sum.to_string().into());
        requests.insert(name.clone(), request);
    }
    if !requests.is_empty()
        && let Some(resources) = object_in(spec, "resources")
    {
        resources.insert("requests".to_owned(), requests.into());
    }
}

fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

/// What the containers of a pod ask for together: the running ones and, while each init container
/// runs, that one beside the sidecars started before it.
fn containers_request(spec: &Map<String, Value>, resource: &str) -> Option<Quantity> {
    let requests = |field: &str| {
        let containers = spec.get(field).and_then(Value::as_array);
        containers.into_iter().flatten().filter_map(|container| {
            let amount = container.pointer("/resources/requests")?.get(resource)?.as_str()?;
            let sidecar = container.get("restartPolicy").is_some_and(|policy| policy == "Always");
            Some((sidecar, amount.parse::<Quantity>().ok()?))
        })
    };
    let mut any = false;
    let mut running = Quantity::ZERO;
    for (_, amount) in requests("containers") {
        any = true;
        running = running + amount;
    }
    let mut sidecars = Quantity::ZERO;
    let mut starting = Quantity::ZERO;
    for (sidecar, amount) in requests("initContainers") {
        any = true;
        if sidecar {
            sidecars = sidecars + amount;
            starting = starting.max(sidecars);
        } else {
            starting = starting.max(sidecars + amount);
        }
    }
    any.then(|| (running + sidecars).max(starting))
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
