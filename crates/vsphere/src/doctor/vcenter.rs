//! The vCenter itself: whether it is reached, which one it is, and what time it has.

use jiff::{SignedDuration, Timestamp};
use joiner_cloud::class::ClassCondition;
use joiner_vim::About;

use super::{Finding, Subject};

/// The oldest release that the provider was made for.
const OLDEST: u32 = 7;
/// Clocks that differ by more will differ by more yet.
const DIFFERS: SignedDuration = SignedDuration::from_secs(60);
/// By more than this, certificates and tokens are refused.
const TOO_MUCH: SignedDuration = SignedDuration::from_mins(5);

/// What is said of a step on the way to a session, `fine` or what is in the way.
pub(crate) fn reached(
    check: &'static str,
    address: &str,
    away: Option<&ClassCondition>,
    fine: String,
) -> Finding {
    let subject = Subject::new(check, address);
    match away {
        None => subject.fine(fine),
        // One that does not answer may do so soon; whoever asks the doctor wants to know now.
        Some(away) => subject.problem(&away.reason, &away.message),
    }
}

/// Whether the server is one that is known.
pub(crate) fn version(address: &str, about: &About) -> Finding {
    let subject = Subject::new("version", address);
    let About { full_name, version, api_type, .. } = about;
    if api_type != "VirtualCenter" {
        return subject.problem(
            "NotAVCenter",
            &format!(
                "{full_name} is a single host, and no vCenter; write the vCenter's address \
                 (GOVC_URL, --vsphere-endpoint)"
            ),
        );
    }
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST => subject.fine(full_name.clone()),
        Some(_) => subject.warning(
            "VersionTooOld",
            &format!("{full_name} is older than 7.0, and nobody has tried it; upgrade the vCenter"),
        ),
        None => subject.not_checked(format!("{version:?} is no version that is understood")),
    }
}

/// Whether clocks agree.
pub(crate) fn clocks(address: &str, here: Timestamp, there: Timestamp) -> Finding {
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
    use joiner_cloud::doctor::Severity;

    use super::*;

    fn about(version: &str, api_type: &str) -> About {
        About {
            full_name: format!("VMware vCenter Server {version}"),
            version: version.to_owned(),
            build: String::new(),
            api_version: version.to_owned(),
            api_type: api_type.to_owned(),
            instance_uuid: None,
        }
    }

    #[test]
    fn versions_from_seven_on_are_known() {
        let severity = |text: &str| version("vc", &about(text, "VirtualCenter")).severity;
        for known in ["7.0.3", "8.0.2", "9.1.0", "10.0.0"] {
            assert_eq!(severity(known), Severity::Ok, "{known}");
        }
        assert_eq!(severity("6.7.0"), Severity::Warning);
        assert_eq!(severity("odd"), Severity::NotChecked);
    }

    #[test]
    fn a_host_is_no_vcenter() {
        assert_eq!(version("vc", &about("8.0.2", "HostAgent")).code, "NotAVCenter");
    }

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
