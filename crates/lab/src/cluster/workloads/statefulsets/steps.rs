//! What a StatefulSet does next: a pure function of its pods.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::super::{
    pods::{Phase, Pod},
    revisions::REVISION_LABEL,
};

/// What a StatefulSet asks for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The ordinal of the first pod.
    pub(super) start: i64,
    pub(super) replicas: i64,
    /// Pods are made and deleted without waiting for their neighbours.
    pub(super) parallel: bool,
    /// Pods are replaced by a new version only after they were deleted.
    pub(super) on_delete: bool,
    /// Pods below this place keep the version before.
    pub(super) partition: i64,
    /// How many pods an update may leave out of work.
    pub(super) max_unavailable: i64,
    pub(super) min_ready_seconds: i64,
    /// The name of the current revision.
    pub(super) current: String,
    /// The name of the update revision.
    pub(super) update: String,
    /// How many pods have the current revision.
    pub(super) current_replicas: i64,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Make the pod of this ordinal, of the revision of this name.
    Create(i64, String),
    /// Delete the pod of this ordinal.
    Delete(i64),
    /// Delete the pod of this ordinal because it finished, which pods of a StatefulSet must not.
    Replace(i64),
}

impl Wanted {
    /// Whether an ordinal is among those that should be there.
    fn includes(&self, ordinal: i64) -> bool {
        (self.start..self.start + self.replicas).contains(&ordinal)
    }

    /// The revision that a new pod of this ordinal gets.
    fn revision_for(&self, ordinal: i64) -> &str {
        let place = ordinal - self.start;
        let keeps = place < self.partition
            || (self.partition == 0 && !self.on_delete && place < self.current_replicas);
        if keeps { &self.current } else { &self.update }
    }

    fn healthy(&self, pod: &Pod, now: Timestamp) -> bool {
        pod.phase == Phase::Running
            && pod.deleted.is_none()
            && pod.is_available(self.min_ready_seconds, now)
    }
}

/// The steps to take now, given the pods by ordinal.
pub(super) fn steps(wanted: &Wanted, pods: &BTreeMap<i64, Arc<Pod>>, now: Timestamp) -> Vec<Step> {
    let mut steps = Vec::new();
    let waits = |steps: &[Step]| !wanted.parallel && !steps.is_empty();
    for ordinal in wanted.start..wanted.start + wanted.replicas {
        match pods.get(&ordinal) {
            None => {
                steps.push(Step::Create(ordinal, wanted.revision_for(ordinal).to_owned()));
            }
            Some(pod) if pod.phase.is_final() => {
                if pod.deleted.is_none() {
                    steps.push(Step::Replace(ordinal));
                } else if !wanted.parallel {
                    return steps;
                }
            }
            Some(pod) if !wanted.parallel && !wanted.healthy(pod, now) => return steps,
            Some(_) => {}
        }
        if waits(&steps) {
            return steps;
        }
    }
    for (ordinal, pod) in pods.iter().rev().filter(|(ordinal, _)| !wanted.includes(**ordinal)) {
        if pod.deleted.is_none() {
            steps.push(Step::Delete(*ordinal));
        } else if !wanted.parallel {
            return steps;
        }
        if waits(&steps) {
            return steps;
        }
    }
    if steps.is_empty() && !wanted.on_delete {
        steps = update_steps(wanted, pods, now);
    }
    steps
}

/// Deletes pods of the version before, highest ordinal first, as long as enough others work.
fn update_steps(wanted: &Wanted, pods: &BTreeMap<i64, Arc<Pod>>, now: Timestamp) -> Vec<Step> {
    let first = wanted.start + wanted.partition;
    let mut out_of_work = pods.values().filter(|pod| !wanted.healthy(pod, now)).count() as i64;
    let mut steps = Vec::new();
    for (ordinal, pod) in pods.range(first..).rev() {
        let old = pod.labels.get(REVISION_LABEL).is_none_or(|label| *label != wanted.update);
        let healthy = wanted.healthy(pod, now);
        if old && pod.deleted.is_none() {
            // An old pod that does not work costs nothing to replace.
            if healthy && out_of_work >= wanted.max_unavailable {
                return steps;
            }
            steps.push(Step::Delete(*ordinal));
            out_of_work += i64::from(healthy);
        }
        if !steps.is_empty() && out_of_work >= wanted.max_unavailable {
            return steps;
        }
        if !healthy && out_of_work >= wanted.max_unavailable {
            return steps;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use joiner_apiserver::Key;
    use joiner_core::label::Labels;

    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            start: 0,
            replicas: 3,
            parallel: false,
            on_delete: false,
            partition: 0,
            max_unavailable: 1,
            min_ready_seconds: 0,
            current: "web-a".into(),
            update: "web-a".into(),
            current_replicas: 3,
        }
    }

    /// `0:a 1:a? 2:b-`: ordinal, revision; `?` is not ready, `-` is being deleted, `!` failed.
    fn pods(text: &str) -> BTreeMap<i64, Arc<Pod>> {
        let epoch = Timestamp::UNIX_EPOCH;
        let pod = |text: &str| {
            let (ordinal, rest) = text.split_once(':').unwrap();
            let revision = format!("web-{}", &rest[..1]);
            let mark = &rest[1..];
            let pod = Pod {
                key: Key::new("a", &format!("web-{ordinal}")),
                uid: ordinal.into(),
                labels: Labels::from([(REVISION_LABEL.to_owned(), revision)]),
                controller: None,
                node: None,
                target: None,
                phase: if mark == "!" { Phase::Failed } else { Phase::Running },
                ready: mark.is_empty(),
                ready_since: Some(epoch),
                deleted: (mark == "-").then_some(epoch),
                created: epoch,
                finished: None,
                restarts: 0,
                deletion_cost: 0,
                index: None,
                tracked: false,
                claims: Vec::new(),
            };
            (ordinal.parse().unwrap(), Arc::new(pod))
        };
        text.split_whitespace().map(pod).collect()
    }

    fn next(wanted: &Wanted, text: &str) -> String {
        let steps = steps(wanted, &pods(text), Timestamp::UNIX_EPOCH);
        let word = |step: &Step| match step {
            Step::Create(ordinal, revision) => format!("+{ordinal}:{revision}"),
            Step::Delete(ordinal) => format!("-{ordinal}"),
            Step::Replace(ordinal) => format!("!{ordinal}"),
        };
        steps.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pods_come_one_after_the_other() {
        for (pods, expected) in [
            ("", "+0:web-a"),
            ("0:a?", ""),
            ("0:a", "+1:web-a"),
            ("0:a 2:a", "+1:web-a"),
            ("0:a 1:a 2:a", ""),
            ("0:a 1:a! 2:a", "!1"),
            ("0:a 1:a- 2:a", ""),
        ] {
            assert_eq!(next(&wanted(), pods), expected, "{pods}");
        }
        let parallel = Wanted { parallel: true, ..wanted() };
        assert_eq!(next(&parallel, "1:a?"), "+0:web-a +2:web-a");
    }

    #[test]
    fn pods_go_from_the_last_to_the_first() {
        let one = Wanted { replicas: 1, ..wanted() };
        assert_eq!(next(&one, "0:a 1:a 2:a"), "-2");
        assert_eq!(next(&one, "0:a 1:a 2:a-"), "");
        assert_eq!(next(&one, "0:a? 1:a 2:a"), "");
        assert_eq!(next(&Wanted { parallel: true, ..one }, "0:a? 1:a 2:a"), "-2 -1");
        let moved = Wanted { start: 1, replicas: 2, ..wanted() };
        assert_eq!(next(&moved, "0:a 1:a 2:a"), "-0");
    }

    #[test]
    fn an_update_replaces_pods_from_the_last_to_the_first() {
        let update = Wanted { update: "web-b".into(), ..wanted() };
        assert_eq!(next(&update, "0:a 1:a 2:a"), "-2");
        assert_eq!(next(&update, "0:a 1:a 2:a-"), "");
        let two = Wanted { current_replicas: 2, ..update.clone() };
        assert_eq!(next(&two, "0:a 1:a"), "+2:web-b");
        assert_eq!(next(&two, "0:a 1:a 2:b?"), "");
        assert_eq!(next(&two, "0:a 1:a 2:b"), "-1");
        assert_eq!(next(&two, "0:b 1:b 2:b"), "");
        let held = Wanted { partition: 2, ..update.clone() };
        assert_eq!(next(&held, "0:a 1:a 2:b"), "");
        assert_eq!(next(&held, "0:a 2:b"), "+1:web-a");
        assert_eq!(next(&Wanted { on_delete: true, ..update }, "0:a 1:a 2:a"), "");
    }
}
