//! Objects of files that are looked at as if they were in the cluster that is read.

use std::sync::Arc;

use joiner_operator::{objects::Objects, pods};
use k8s_openapi::api::core::v1::{Pod, PodCondition};

use crate::text;

/// How many objects are named that count instead of the cluster's.
const NAMED: usize = 10;

/// What to say of kinds that the cluster does not have; nothing if it has all.
pub(super) fn absence(kinds: &[String]) -> Option<String> {
    (!kinds.is_empty()).then(|| {
        format!(
            "the cluster does not have {}, so that there are none; give such objects with --with \
             FILE, or install the definitions: joiner crds | kubectl apply -f -",
            kinds.join(", ")
        )
    })
}

/// Lays objects of files over those of a cluster, and says which counted.
pub(super) fn lay(objects: &mut Objects, mut over: Objects) -> String {
    let laid: usize = over.lists().iter().map(|list| list.items.len()).sum();
    over.pods.iter_mut().filter(|pod| is_new(pod)).for_each(give_up);
    let replaced = objects.lay_over(over);
    let laid = text::count(laid, "object");
    let replaced = match replaced.len() {
        0 => "none of them is in the cluster".to_owned(),
        _ => format!("instead of the cluster's count {}", text::some_of(&replaced, NAMED)),
    };
    format!("--with: {laid} laid over the cluster; {replaced}")
}

/// Whether no scheduler has seen a pod that wants one.
fn is_new(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
    pods::node_of(pod).is_none()
        && pods::is_active(pod)
        && conditions.is_none_or(Vec::is_empty)
        && gates.is_none_or(Vec::is_empty)
}

/// Has a pod wait, as one for which a scheduler has found no node: that is what it is tried for.
fn give_up(pod: &mut Arc<Pod>) {
    let status = Arc::make_mut(pod).status.get_or_insert_default();
    status.conditions.get_or_insert_default().push(PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("Unschedulable".to_owned()),
        ..PodCondition::default()
    });
}
