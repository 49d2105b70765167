//! Pods of a node that has to be empty at a certain time.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

/// What every pod gets to end, in seconds. Never 0: a pod that gets no time at all may still run
/// somewhere while its successor starts.
const LEAST_GRACE: i64 = 1;

/// From when on a pod has to be deleted, whatever protects it, so that it is gone at the node's
/// deadline and still gets its own time to end, if there is as much. None while it needs no push:
/// it is on its way out and will be in time.
pub fn forced_since(pod: &Pod, deadline: Timestamp) -> Option<Timestamp> {
    if let Some(end) = &pod.metadata.deletion_timestamp {
        let could_be_shorter = pod.metadata.deletion_grace_period_seconds != Some(LEAST_GRACE);
        return (end.0 > deadline && could_be_shorter).then_some(Timestamp::MIN);
    }
    let grace = pod.spec.as_ref()?.termination_grace_period_seconds?;
    let grace = SignedDuration::from_secs(grace.max(0));
    Some(deadline.saturating_sub(grace).unwrap_or(Timestamp::MIN))
}

/// How many seconds are left until the deadline, `LEAST_GRACE` at least.
pub fn grace_seconds(deadline: Timestamp, now: Timestamp) -> u32 {
    let left = deadline.duration_since(now).as_secs();
    u32::try_from(left.max(LEAST_GRACE)).unwrap_or(u32::MAX)
}
