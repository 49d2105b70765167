//! The vCenter itself: which one it is.

use joiner_cloud::doctor::{Finding, Subject};
use joiner_vim::About;

/// The oldest release that the provider was made for.
const OLDEST: u32 = 7;

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
}
