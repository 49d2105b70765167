//! Kubernetes versions, and what depends on them.

use semver::Version;

use super::{
    error::{Error, ErrorKind},
    inputs::Distro,
};

/// The first minor version of Kubernetes 1 whose kubeadm reads `v1beta4`.
const FIRST_WITH_V1BETA4: u64 = 31;

/// A version as the cluster says it, and as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KubeVersion {
    text: String,
    parsed: Version,
}

impl KubeVersion {
    pub(crate) fn read(text: Option<&str>, distro: Distro) -> Result<Self, Error> {
        let refuse = |problem: String| {
            let remedy = match release_mark(distro) {
                Some(mark) => format!("write a release of {distro}, such as v1.33.4+{mark}1"),
                None => "write Kubernetes' version, such as v1.33.4".to_owned(),
            };
            Error::new(ErrorKind::VersionUnknown, "version", problem, remedy)
        };
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| refuse("nobody says which version to join with".into()))?;
        let parsed = Version::parse(text.strip_prefix('v').unwrap_or(text))
            .map_err(|_| refuse(format!("{text:?} is no version")))?;
        if let Some(mark) = release_mark(distro) {
            let number = parsed.build.as_str().strip_prefix(mark).unwrap_or_default();
            let released = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if !released || !text.starts_with('v') {
                return Err(refuse(format!("{text:?} is the name of no {distro} release")));
            }
        }
        Ok(Self { text: text.to_owned(), parsed })
    }

    /// The version that instances join with; none where the image decides.
    pub(crate) fn of_cluster(text: Option<&str>, distro: Distro) -> Result<Option<Self>, Error> {
        // What is said must make sense all the same.
        let may_be_silent = matches!(distro, Distro::Rke2Airgapped | Distro::Talos);
        match text {
            None if may_be_silent => Ok(None),
            text => Self::read(text, distro).map(Some),
        }
    }

    /// As the cluster says it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The version of kubeadm's configuration.
    pub(crate) fn kubeadm_api(&self) -> KubeadmApi {
        if (self.parsed.major, self.parsed.minor) >= (1, FIRST_WITH_V1BETA4) {
            KubeadmApi::V1Beta4
        } else {
            KubeadmApi::V1Beta3
        }
    }

    /// The tag of images of this version.
    pub(crate) fn image_tag(&self) -> String {
        format!("v{}.{}.{}", self.parsed.major, self.parsed.minor, self.parsed.patch)
    }
}

/// The two forms of kubeadm's configuration that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KubeadmApi {
    V1Beta3,
    V1Beta4,
}

/// How a distribution marks its releases behind the `+`.
fn release_mark(distro: Distro) -> Option<&'static str> {
    match distro {
        Distro::Rke2 | Distro::Rke2Airgapped => Some("rke2r"),
        Distro::K3s => Some("k3s"),
        Distro::Kubeadm | Distro::Talos | Distro::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeadm_changed_its_configuration_in_1_31() {
        let api = |text| KubeVersion::read(Some(text), Distro::Kubeadm).unwrap().kubeadm_api();
        assert_eq!(api("v1.30.14"), KubeadmApi::V1Beta3);
        assert_eq!(api("v1.31.0-rc.1"), KubeadmApi::V1Beta4);
        assert_eq!(api("1.33.4+rke2r1"), KubeadmApi::V1Beta4);
    }

    #[test]
    fn only_releases_can_be_installed() {
        for (text, distro) in [
            ("v1.33.4+rke2r1", Distro::Rke2),
            ("v1.33.4-rc1+rke2r2", Distro::Rke2Airgapped),
            ("v1.33.4+k3s1", Distro::K3s),
        ] {
            assert_eq!(KubeVersion::read(Some(text), distro).unwrap().as_str(), text);
        }
        for (text, distro) in [
            ("v1.33.4", Distro::Rke2),
            ("v1.33.4+k3s1", Distro::Rke2),
            ("v1.33.4+k3s", Distro::K3s),
            ("1.33.4+k3s1", Distro::K3s),
            ("v1.33.4+rke2r1", Distro::K3s),
            ("latest", Distro::Kubeadm),
        ] {
            let refused = KubeVersion::read(Some(text), distro).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::VersionUnknown, "{text}");
        }
        let refused = KubeVersion::read(None, Distro::K3s).unwrap_err();
        assert!(refused.remedy.contains("v1.33.4+k3s1"), "{refused}");
    }
}
