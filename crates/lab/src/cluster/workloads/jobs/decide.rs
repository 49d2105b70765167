//! What a Job needs next: a pure function of its counts.

use std::{collections::BTreeSet, fmt::Write};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The first pause after a failed pod; it doubles with every further one in a row.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(10);
/// The longest such pause.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(10);

/// The reasons for which a Job fails.
pub(super) const FAILURES: [&str; 3] =
    ["BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy"];

/// What a Job asks for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) parallelism: i64,
    pub(super) completions: Option<i64>,
    pub(super) backoff_limit: i64,
    pub(super) active_deadline: Option<i64>,
    pub(super) indexed: bool,
    pub(super) suspended: bool,
    /// A pod is replaced once it has failed rather than when it is being deleted.
    pub(super) replaces_failed_only: bool,
    pub(super) restarts_in_place: bool,
}

impl Wanted {
    pub(super) fn of(spec: &Value) -> Self {
        let policy = spec["podReplacementPolicy"].as_str();
        let has_failure_policy = spec["podFailurePolicy"].is_object();
        Self {
            parallelism: spec["parallelism"].as_i64().unwrap_or(1),
            completions: spec["completions"].as_i64(),
            backoff_limit: spec["backoffLimit"].as_i64().unwrap_or(6),
            active_deadline: spec["activeDeadlineSeconds"].as_i64(),
            indexed: spec["completionMode"] == "Indexed",
            suspended: spec["suspend"] == true,
            replaces_failed_only: policy.map_or(has_failure_policy, |policy| policy == "Failed"),
            restarts_in_place: spec["template"]["spec"]["restartPolicy"] == "OnFailure",
        }
    }
}

/// How a Job's pods are doing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) active: i64,
    /// Being deleted and not yet finished.
    pub(super) terminating: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    /// Restarts of containers in pods that still run.
    pub(super) restarts: i64,
}

/// Why a Job is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Success,
    Failure { reason: &'static str, message: String },
}

/// Whether a Job is over.
pub(super) fn end(
    wanted: &Wanted,
    counts: Counts,
    started: Option<Timestamp>,
    now: Timestamp,
) -> Option<End> {
    let failure = |reason, message: &str| Some(End::Failure { reason, message: message.into() });
    let limit = wanted.backoff_limit;
    let restarted_too_often = wanted.restarts_in_place
        && if limit == 0 { counts.restarts > 0 } else { counts.restarts >= limit };
    if counts.failed > limit || restarted_too_often {
        let message = "Job has reached the specified backoff limit";
        return failure("BackoffLimitExceeded", message);
    }
    if !wanted.suspended && deadline(wanted, started).is_some_and(|deadline| deadline <= now) {
        let message = "Job was active longer than specified deadline";
        return failure("DeadlineExceeded", message);
    }
    let done = match wanted.completions {
        Some(completions) => counts.succeeded >= completions,
        None => counts.succeeded > 0 && counts.active == 0 && counts.terminating == 0,
    };
    done.then_some(End::Success)
}

/// Until when a Job may run.
pub(super) fn deadline(wanted: &Wanted, started: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = SignedDuration::from_secs(wanted.active_deadline?);
    started?.checked_add(seconds).ok()
}

/// By how many pods a Job has to grow, or to shrink if it is less than nothing.
pub(super) fn missing(wanted: &Wanted, counts: Counts) -> i64 {
    let target = match wanted.completions {
        // Work that any pod may end is not begun again once one has.
        None if counts.succeeded > 0 => counts.active.min(wanted.parallelism),
        None => wanted.parallelism,
        Some(completions) => (completions - counts.succeeded).clamp(0, wanted.parallelism),
    };
    if counts.active >= target {
        return target - counts.active;
    }
    let leaving = if wanted.replaces_failed_only { counts.terminating } else { 0 };
    (target - counts.active - leaving).max(0)
}

/// The pause after so many failures in a row.
pub(super) fn pause(failures: u32) -> SignedDuration {
    match failures {
        0 => SignedDuration::ZERO,
        _ => FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_PAUSE),
    }
}

/// Reads a list of indexes such as `0-2,5`.
pub(super) fn parse_indexes(text: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Writes a list of indexes such as `0-2,5`.
pub(super) fn format_indexes(indexes: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    let mut rest = indexes.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if(|next| *next == last + 1) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match last - first {
            0 => write!(text, "{comma}{first}"),
            1 => write!(text, "{comma}{first},{last}"),
            _ => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(spec: &Value) -> Wanted {
        Wanted::of(spec)
    }

    fn counts(active: i64, succeeded: i64, failed: i64) -> Counts {
        Counts { active, succeeded, failed, ..Counts::default() }
    }

    #[test]
    fn how_many_pods_are_missing() {
        let fixed = wanted(&json!({"parallelism": 3, "completions": 5}));
        assert_eq!(missing(&fixed, counts(0, 0, 0)), 3);
        assert_eq!(missing(&fixed, counts(2, 3, 1)), 0);
        assert_eq!(missing(&fixed, counts(3, 4, 0)), -2);
        let open = wanted(&json!({"parallelism": 3}));
        assert_eq!(missing(&open, counts(1, 0, 0)), 2);
        assert_eq!(missing(&open, counts(1, 1, 0)), 0);
        let patient = wanted(&json!({"parallelism": 1, "podReplacementPolicy": "Failed"}));
        let leaving = Counts { terminating: 1, ..Counts::default() };
        assert_eq!(missing(&patient, leaving), 0);
    }

    #[test]
    fn when_a_job_is_over() {
        let now = Timestamp::from_second(100).unwrap();
        let over = |spec: Value, counts| match end(
            &wanted(&spec),
            counts,
            Some(Timestamp::UNIX_EPOCH),
            now,
        ) {
            None => "goes on",
            Some(End::Success) => "done",
            Some(End::Failure { reason, .. }) => reason,
        };
        assert_eq!(over(json!({"completions": 2}), counts(1, 1, 0)), "goes on");
        assert_eq!(over(json!({"completions": 2}), counts(1, 2, 0)), "done");
        assert_eq!(over(json!({}), counts(1, 1, 0)), "goes on");
        assert_eq!(over(json!({}), counts(0, 1, 0)), "done");
        assert_eq!(over(json!({"backoffLimit": 2}), counts(0, 0, 2)), "goes on");
        assert_eq!(over(json!({"backoffLimit": 2}), counts(0, 0, 3)), "BackoffLimitExceeded");
        assert_eq!(
            over(json!({"activeDeadlineSeconds": 100}), counts(1, 0, 0)),
            "DeadlineExceeded"
        );
        let restarts = Counts { active: 1, restarts: 2, ..Counts::default() };
        let in_place =
            json!({"backoffLimit": 2, "template": {"spec": {"restartPolicy": "OnFailure"}}});
        assert_eq!(over(in_place, restarts), "BackoffLimitExceeded");
    }

    #[test]
    fn pauses_double() {
        let seconds = [0, 1, 2, 3, 7, 30].map(|failures| pause(failures).as_secs());
        assert_eq!(seconds, [0, 10, 20, 40, 600, 600]);
    }

    #[test]
    fn indexes_as_text() {
        let indexes = BTreeSet::from([0, 1, 2, 5, 7, 8]);
        assert_eq!(format_indexes(&indexes), "0-2,5,7,8");
        assert_eq!(parse_indexes("0-2,5,7,8"), indexes);
        assert_eq!(parse_indexes(""), BTreeSet::new());
    }
}
