//! What a pod really asks for.

use std::collections::BTreeMap;

use joiner_core::{
    quantity::Quantity,
    resources::{CPU, HUGE_PAGES_PREFIX, MEMORY, PODS, Resources},
};
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus};

use super::convert::resources;

/// What a pod asks for: itself, and what its containers need at the worst moment.
pub fn of_pod(pod: &Pod) -> Resources {
    let empty = PodSpec::default();
    let mut requests = of_spec(pod.spec.as_ref().unwrap_or(&empty), pod.status.as_ref());
    requests.set(PODS, Quantity::whole(1));
    requests
}

/// The same for a pod that does not exist yet.
pub(super) fn of_template(spec: &PodSpec) -> Resources {
    let mut requests = of_spec(spec, None);
    requests.set(PODS, Quantity::whole(1));
    requests
}

/// What the containers of a pod need at the worst moment, or what the pod itself says, and what
/// its runtime adds.
///
/// Init containers run one after the other, each beside the sidecars that started before it;
/// sidecars (init containers that always restart) go on to run beside the containers.
pub(super) fn of_spec(spec: &PodSpec, status: Option<&PodStatus>) -> Resources {
    let resize = Resize::new(status);
    let mut running = Resources::new();
    for container in &spec.containers {
        running.add(&resize.requests(container));
    }
    let mut sidecars = Resources::new();
    let mut peak = Resources::new();
    for container in spec.init_containers.iter().flatten() {
        if container.restart_policy.as_deref() == Some("Always") {
            let requests = resize.requests(container);
            running.add(&requests);
            sidecars.add(&requests);
        } else {
            // Only what the container asks for itself: of the rest there are never more than all sidecars ask for.
            for (name, amount) in requests_of(container).iter() {
                let together = amount + sidecars.get(name);
                peak.set(name, peak.get(name).max(together));
            }
        }
    }
    let mut requests = running.higher(&peak).higher(&sidecars);
    let of_pod = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    for (name, amount) in resources(of_pod).iter() {
        if matches!(name, CPU | MEMORY) || name.starts_with(HUGE_PAGES_PREFIX) {
            requests.set(name, amount);
        }
    }
    requests.add(&resources(spec.overhead.as_ref()));
    requests
}

/// The API server lets limits stand for requests that are not given, in pods but not in templates.
pub(crate) fn with_limits_as_requests(mut spec: PodSpec) -> PodSpec {
    let fill = |container: &mut Container| {
        let Some(resources) = &mut container.resources else { return };
        let requests = resources.requests.get_or_insert_default();
        for (name, amount) in resources.limits.iter().flatten() {
            requests.entry(name.clone()).or_insert_with(|| amount.clone());
        }
    };
    spec.containers.iter_mut().for_each(fill);
    spec.init_containers.iter_mut().flatten().for_each(fill);
    spec
}

fn requests_of(container: &Container) -> Resources {
    resources(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
}

/// How far a change of a running pod's requests has come: until it is done, both the old and the
/// new amounts may be in use, and one that the node cannot make is not in use at all.
struct Resize<'s> {
    statuses: BTreeMap<&'s str, &'s ContainerStatus>,
    is_infeasible: bool,
}

impl<'s> Resize<'s> {
    fn new(status: Option<&'s PodStatus>) -> Self {
        let lists = status.map(|s| [&s.container_statuses, &s.init_container_statuses]);
        let statuses = lists.into_iter().flatten().flatten().flatten();
        let pending = status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten())
            .find(|condition| condition.type_ == "PodResizePending");
        Self {
            statuses: statuses
                .filter(|status| status.resources.is_some())
                .map(|status| (status.name.as_str(), status))
                .collect(),
            is_infeasible: pending.is_some_and(|c| c.reason.as_deref() == Some("Infeasible")),
        }
    }

    fn requests(&self, container: &Container) -> Resources {
        let wanted = requests_of(container);
        let Some(status) = self.statuses.get(container.name.as_str()) else { return wanted };
        let actual = resources(status.resources.as_ref().and_then(|r| r.requests.as_ref()));
        let granted = actual.higher(&resources(status.allocated_resources.as_ref()));
        if self.is_infeasible { granted } else { wanted.higher(&granted) }
    }
}

#[cfg(test)]
mod tests;
