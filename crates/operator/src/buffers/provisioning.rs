//! Says of each buffer whether the room that it stands for is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_api::capacity_buffer::CapacityBuffer;
use joiner_core::{plan::Plan, pod::Role, snapshot::Snapshot};

use super::referred;
use crate::{
    cluster::Lock,
    conditions::{Conditioned, PROVISIONING, Status},
    context::Context,
    index::buffers::{Unresolved, buffer_of, resolve},
    provisioning::pass::Pass,
    world::{Kept, Key},
};

/// Writes after a plan whether each buffer's room is free. A failed write is repeated after the
/// next plan.
pub async fn write_provisioning(context: &Context, pass: &Pass) {
    let placed = placed(&pass.snapshot, &pass.planned.plan);
    let buffers = context.cache.read(|world| {
        let resolved = world.capacity_buffers.values().map(|buffer| {
            let objects = referred(world, buffer);
            let replicas = resolve(buffer, &objects).map(|resolved| resolved.replicas);
            (Arc::clone(buffer), replicas)
        });
        resolved.collect::<Vec<_>>()
    });
    for (buffer, replicas) in buffers {
        let key = buffer.key();
        let Some(verdict) = Verdict::of(replicas.as_ref(), placed.get(&key)) else { continue };
        let mut said = CapacityBuffer::clone(&buffer);
        let Verdict { status, reason, message } = &verdict;
        said.conditions_mut(context.now()).set(PROVISIONING, *status, reason, message);
        match context.cluster.patch_status(&*buffer, &said, Lock::Version).await {
            Err(trouble) if !(trouble.is_conflict() || trouble.is_not_found()) => {
                tracing::warn!(controller = "provisioner", CapacityBuffer = %key, "{trouble}");
            }
            _ => {}
        }
    }
}

/// The placement of a buffer's pods in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Placed {
    existing: usize,
    new: usize,
    failed: usize,
    /// The reason of its first failed pod.
    why: String,
}

impl Placed {
    fn all(&self) -> usize {
        self.existing + self.new + self.failed
    }
}

/// The placement of each buffer's pods.
fn placed(snapshot: &Snapshot, plan: &Plan) -> BTreeMap<Key, Placed> {
    let is_virtual = snapshot.pods.iter().filter(|pod| pod.role == Role::Buffer);
    let is_virtual: BTreeSet<String> = is_virtual.map(joiner_core::pod::Pod::key).collect();
    let mut all: BTreeMap<Key, Placed> = BTreeMap::new();
    let mut count = |pod: &String, found: &dyn Fn(&mut Placed)| {
        if is_virtual.contains(pod)
            && let Some(buffer) = buffer_of(pod)
        {
            found(all.entry(buffer).or_default());
        }
    };
    for pod in plan.existing.iter().flat_map(|placement| &placement.pods) {
        count(pod, &|placed| placed.existing += 1);
    }
    for pod in plan.claims.iter().flat_map(|claim| &claim.pods) {
        count(pod, &|placed| placed.new += 1);
    }
    for unplaced in plan.unschedulable.iter().chain(&plan.deferred) {
        count(&unplaced.pod, &|placed| {
            placed.failed += 1;
            if placed.why.is_empty() {
                placed.why.clone_from(&unplaced.message);
            }
        });
    }
    all
}

/// Whether a buffer's room is there.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    status: Status,
    reason: &'static str,
    message: String,
}

impl Verdict {
    /// The condition that follows from a buffer's size and placement. None if its pods were not in
    /// the plan, because it was resolved later.
    fn of(replicas: Result<&i32, &Unresolved>, placed: Option<&Placed>) -> Option<Self> {
        let not = |reason, message| Some(Self { status: Status::False, reason, message });
        let Ok(replicas) = replicas else {
            let message = "Buffer is not ReadyForProvisioning".to_owned();
            return not("NotReadyForProvisioning", message);
        };
        if *replicas <= 0 {
            return not("BufferEmpty", "Buffer has zero desired replicas".to_owned());
        }
        let placed = placed?;
        let all = placed.all();
        if placed.new > 0 || placed.failed > 0 {
            let Placed { new, failed, why, .. } = placed;
            let mut message =
                format!("{new}/{all} virtual pods required new capacity, {failed} failed");
            if *failed > 0 {
                message = format!("{message}: {why}");
            }
            return not("RequiresNewCapacity", message);
        }
        let message = format!("All {all} virtual pods fit on existing capacity");
        Some(Self { status: Status::True, reason: "FitsExistingCapacity", message })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use joiner_core::{
        plan::{ExistingPlacement, PlannedClaim, Unplaced},
        testing::pod,
    };

    use super::*;

    fn shown(verdict: Option<&Verdict>) -> String {
        verdict.map_or("unchanged".to_owned(), |Verdict { status, reason, message }| {
            format!("{} {reason}: {message}", status.as_str())
        })
    }

    #[track_caller]
    fn check(replicas: Result<i32, Unresolved>, placed: Option<[usize; 3]>, expected: &Expect) {
        let placed = placed.map(|[existing, new, failed]| Placed {
            existing,
            new,
            failed,
            why: "no type is large enough".to_owned(),
        });
        let verdict = Verdict::of(replicas.as_ref(), placed.as_ref());
        expected.assert_eq(&shown(verdict.as_ref()));
    }

    #[test]
    fn room_is_there_when_all_pods_fit_on_what_exists() {
        check(
            Ok(3),
            Some([3, 0, 0]),
            &expect!["True FitsExistingCapacity: All 3 virtual pods fit on existing capacity"],
        );
        check(
            Ok(3),
            Some([1, 2, 0]),
            &expect!["False RequiresNewCapacity: 2/3 virtual pods required new capacity, 0 failed"],
        );
        check(
            Ok(3),
            Some([1, 1, 1]),
            &expect![
                "False RequiresNewCapacity: 1/3 virtual pods required new capacity, 1 failed: no type is large enough"
            ],
        );
    }

    #[test]
    fn a_buffer_that_is_empty_or_not_understood_has_no_room() {
        check(Ok(0), None, &expect!["False BufferEmpty: Buffer has zero desired replicas"]);
        let unresolved = Unresolved::Invalid("no".to_owned());
        check(
            Err(unresolved),
            None,
            &expect!["False NotReadyForProvisioning: Buffer is not ReadyForProvisioning"],
        );
    }

    #[test]
    fn a_buffer_that_was_not_part_of_the_plan_stays_as_it_is() {
        check(Ok(3), None, &expect!["unchanged"]);
    }

    #[test]
    fn pods_are_told_apart_by_buffer_and_real_pods_do_not_count() {
        let spare = |name: &str, namespace: &str| pod(name).namespace(namespace).buffer().build();
        let snapshot = Snapshot {
            pods: vec![
                spare("capacity-buffer-spare-1", "a"),
                spare("capacity-buffer-spare-2", "a"),
                spare("capacity-buffer-spare-1", "b"),
                pod("capacity-buffer-real-1").namespace("a").build(),
            ],
            ..Snapshot::default()
        };
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let plan = Plan {
            existing: vec![ExistingPlacement {
                pods: texts(&["a/capacity-buffer-spare-1", "a/capacity-buffer-real-1"]),
                ..ExistingPlacement::default()
            }],
            claims: vec![PlannedClaim {
                pods: texts(&["a/capacity-buffer-spare-2"]),
                ..PlannedClaim::default()
            }],
            unschedulable: vec![Unplaced {
                pod: "b/capacity-buffer-spare-1".to_owned(),
                message: "too large".to_owned(),
                reasons: Vec::new(),
            }],
            ..Plan::default()
        };
        let found: Vec<String> = placed(&snapshot, &plan)
            .iter()
            .map(|(key, Placed { existing, new, failed, why })| {
                format!("{key}: {existing} {new} {failed} {why}").trim_end().to_owned()
            })
            .collect();
        assert_eq!(found, ["a/spare: 1 1 0", "b/spare: 0 0 1 too large"]);
    }
}
