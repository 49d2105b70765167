//! The way to a cloud's server, and its clock.

use jiff::{SignedDuration, Timestamp};

use super::{Finding, Subject};
use crate::class::ClassCondition;

/// From this difference on a clock counts as drifting: NTP keeps clocks far closer.
const DIFFERS: SignedDuration = SignedDuration::from_secs(60);
/// From this difference on certificates and tokens are refused. Kerberos' default
/// tolerance is the same.
const TOO_MUCH: SignedDuration = SignedDuration::from_mins(5);

/// A step on the way to a session: `fine`, or the condition that says what prevents it.
pub fn reached(
    check: &'static str,
    address: &str,
    away: Option<&ClassCondition>,
    fine: String,
) -> Finding {
    let subject = Subject::new(check, address);
    match away {
        None => subject.fine(fine),
        // A condition may still be unknown; the doctor reports the state of now.
        Some(away) => subject.problem(&away.reason, &away.message),
    }
}

/// Whether the server's clock agrees with ours.
pub fn clocks(address: &str, here: Timestamp, there: Timestamp) -> Finding {
    let subject = Subject::new("clock", address);
    let ahead = there.duration_since(here);
    let by = ahead.abs();
    let seconds = by.as_secs();
    let which = if ahead.is_negative() { "behind" } else { "ahead of" };
    let told = |why: &str| {
        format!(
            "its clock is {seconds} s {which} this computer's, {why}; let both follow the same time \
             servers (NTP)"
        )
    };
    if by > TOO_MUCH {
        subject.problem("ClockDiffers", &told("so that certificates and tokens are refused"))
    } else if by > DIFFERS {
        subject.warning("ClockDiffers", &told("and will be more"))
    } else {
        subject.fine(format!("differs by {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Severity;

    #[test]
    fn clocks_may_differ_by_a_minute() {
        let here: Timestamp = "2026-11-15T00:00:00Z".parse().expect("it is a time");
        let judged = |seconds: i64| {
            let found = clocks("vc", here, here + SignedDuration::from_secs(seconds));
            (found.severity, found.text)
        };
        assert_eq!(judged(-60).0, Severity::Ok);
        let (severity, text) = judged(61);
        assert!(severity == Severity::Warning && text.contains("61 s ahead of"), "{text}");
        let (severity, text) = judged(-301);
        assert!(severity == Severity::Problem && text.contains("301 s behind"), "{text}");
    }
}
