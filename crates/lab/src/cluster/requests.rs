//! The resource requests of pods.

use joiner_core::{
    quantity::Quantity,
    resources::{CPU, HUGE_PAGES_PREFIX, MEMORY, PODS, Resources},
};
use serde_json::Value;

use super::selection::list;

/// A list of resources. The server has refused invalid quantities.
pub(crate) fn resources(value: &Value) -> Resources {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, amount)| {
            let quantity = match amount {
                Value::String(text) => text.parse().unwrap_or_default(),
                other => Quantity::whole(other.as_i64().unwrap_or_default()),
            };
            (name.as_str(), quantity)
        })
        .collect()
}

/// The requests of a container: a limit without a request counts as a request.
fn of_container(container: &Value) -> Resources {
    let own = &container["resources"];
    resources(&own["limits"]).overlaid(&resources(&own["requests"]))
}

/// What a pod asks for in total, one pod included.
///
/// Init containers run one after the other, each beside the sidecars that were started before it;
/// then the containers run beside all sidecars. The larger need of each resource counts. What the
/// pod asks for as a whole replaces the sums of its containers.
pub(crate) fn of_pod(spec: &Value) -> Resources {
    let running = total(spec, of_container);
    let mut sum = running.overlaid(&of_whole_pod(spec));
    sum.add(&resources(&spec["overhead"]));
    sum.set(PODS, Quantity::whole(1));
    sum
}

/// CPU and memory as scores count them: a container that asks for none counts a little.
pub(crate) fn of_pod_for_scores(spec: &Value) -> Resources {
    // The amounts that Kubernetes assumes: enough for a small container to be noticed.
    let assumed: Resources =
        [(CPU, Quantity::milli(100)), (MEMORY, Quantity::bytes(200 << 20))].into_iter().collect();
    let running = total(spec, |container| assumed.overlaid(&of_container(container)));
    let mut sum = running.overlaid(&of_whole_pod(spec));
    sum.add(&resources(&spec["overhead"]));
    sum
}

fn of_whole_pod(spec: &Value) -> Resources {
    let own = &spec["resources"];
    let whole = resources(&own["limits"]).overlaid(&resources(&own["requests"]));
    let counted = |name: &str| name == CPU || name == MEMORY || name.starts_with(HUGE_PAGES_PREFIX);
    whole.iter().filter(|(name, _)| counted(name)).collect()
}

fn total(spec: &Value, of_container: impl Fn(&Value) -> Resources) -> Resources {
    let mut sidecars = Resources::new();
    let mut starting = Resources::new();
    for container in list(&spec["initContainers"]) {
        let own = of_container(container);
        if container["restartPolicy"] == "Always" {
            sidecars.add(&own);
            starting = starting.higher(&sidecars);
        } else {
            starting = starting.higher(&sidecars.plus(&own));
        }
    }
    let mut running = sidecars;
    for container in list(&spec["containers"]) {
        running.add(&of_container(container));
    }
    running.higher(&starting)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_add_up_and_init_containers_take_turns() {
        for (spec, sum) in [
            (json!({}), "pods 1"),
            (json!({"containers": [container("1"), container("2")]}), "cpu 3, pods 1"),
            (
                json!({"containers": [container("1")], "initContainers": [container("2"), container("3")]}),
                "cpu 3, pods 1",
            ),
            (
                json!({"containers": [container("1")], "initContainers": [container("3"), sidecar("1"), container("1")]}),
                "cpu 3, pods 1",
            ),
            (
                json!({"containers": [container("1")], "initContainers": [sidecar("1"), container("3")]}),
                "cpu 4, pods 1",
            ),
            (
                json!({"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}),
                "cpu 1250m, memory 1Mi, pods 1",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "gpu": 2}, "requests": {"cpu": "500m"}}}]}),
                "cpu 500m, gpu 2, pods 1",
            ),
            (
                json!({"containers": [container("1")], "resources": {"requests": {"cpu": "5", "gpu": "1"}}}),
                "cpu 5, pods 1",
            ),
        ] {
            assert_eq!(of_pod(&spec).to_string(), sum, "{spec}");
        }
    }

    #[test]
    fn a_container_that_asks_for_nothing_counts_a_little_in_scores() {
        let spec = json!({"containers": [{}, container("1")]});
        assert_eq!(of_pod_for_scores(&spec).to_string(), "cpu 1100m, memory 400Mi");
    }
}
