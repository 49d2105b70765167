//! Where a cluster is reached.

use http::Uri;

use super::{
    error::{Error, ErrorKind},
    inputs::Distro,
};

const API_PORT: u16 = 6443;
const RKE2_SUPERVISOR_PORT: u16 = 9345;

/// Host and port, in the spelling that the distribution needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// IPv6 addresses are in brackets.
    host: String,
    port: u16,
}

impl Endpoint {
    pub(crate) fn read(text: Option<&str>, distro: Distro) -> Result<Self, Error> {
        let usual = usual_port(distro);
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            return Err(Error::new(
                ErrorKind::EndpointUnknown,
                "endpoint",
                format!("nobody says where nodes of this {distro} cluster join"),
                format!("write its host and port, such as 10.0.0.10:{usual}"),
            ));
        };
        let refuse = |problem: String| {
            let remedy = format!("write https://HOST:{usual}; IPv6 addresses go in brackets");
            Error::new(ErrorKind::EndpointInvalid, "endpoint", problem, remedy)
        };
        let with_scheme =
            if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let uri: Uri =
            with_scheme.parse().map_err(|_| refuse(format!("{text:?} is no address")))?;
        if uri.scheme_str() != Some("https") {
            return Err(refuse(format!("{text:?} is not HTTPS")));
        }
        let authority = uri
            .authority()
            .filter(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
        let authority =
            authority.ok_or_else(|| refuse("it needs a host and no user".to_owned()))?;
        let bare = uri.path().trim_matches('/').is_empty() && uri.query().is_none();
        if !bare {
            return Err(refuse(format!("{text:?} has a path")));
        }
        let port = match (authority.port_u16(), authority.as_str().rsplit_once("]:")) {
            (Some(port), _) => port,
            (None, None) if authority.as_str() == authority.host() => usual,
            _ => return Err(refuse(format!("{text:?} has no port between 1 and 65535"))),
        };
        if port == API_PORT && usual == RKE2_SUPERVISOR_PORT {
            return Err(Error::new(
                ErrorKind::EndpointInvalid,
                "endpoint",
                format!("{text:?} is the Kubernetes API, and RKE2 agents join by the supervisor"),
                format!("write port {RKE2_SUPERVISOR_PORT}: https://{}:9345", authority.host()),
            ));
        }
        Ok(Self { host: authority.host().to_owned(), port })
    }

    /// `host:port`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// `https://host:port`.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.authority())
    }

    /// The spelling that a distribution's configuration has.
    pub(crate) fn spelled_for(&self, distro: Distro) -> String {
        if distro == Distro::Kubeadm { self.authority() } else { self.url() }
    }

    /// The host without brackets.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

fn usual_port(distro: Distro) -> u16 {
    match distro {
        Distro::Rke2 | Distro::Rke2Airgapped => RKE2_SUPERVISOR_PORT,
        _ => API_PORT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str, distro: Distro) -> Result<String, String> {
        Endpoint::read(Some(text), distro)
            .map(|endpoint| endpoint.spelled_for(distro))
            .map_err(|error| format!("{}: {}; {}", error.kind, error.problem, error.remedy))
    }

    #[test]
    fn every_spelling_of_a_host_is_understood() {
        for (text, distro, expected) in [
            ("10.0.0.10", Distro::Kubeadm, "10.0.0.10:6443"),
            ("https://api.example.org:443/", Distro::Kubeadm, "api.example.org:443"),
            ("10.0.0.10", Distro::Rke2, "https://10.0.0.10:9345"),
            ("h:9345", Distro::Rke2Airgapped, "https://h:9345"),
            ("https://h", Distro::K3s, "https://h:6443"),
            ("[fd00::1]", Distro::Talos, "https://[fd00::1]:6443"),
            ("[fd00::1]:443", Distro::Kubeadm, "[fd00::1]:443"),
        ] {
            assert_eq!(spelled(text, distro).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_endpoint_says_how_one_looks() {
        for text in ["http://h:6443", "h:99999", "https://u:p@h:6443", "h/path", "a b", "fd00::1"] {
            let refused = spelled(text, Distro::K3s).unwrap_err();
            assert!(refused.starts_with("EndpointInvalid: "), "{text}: {refused}");
            assert!(refused.ends_with("write https://HOST:6443; IPv6 addresses go in brackets"));
        }
        let missing = Endpoint::read(None, Distro::Rke2).unwrap_err();
        assert_eq!(missing.kind, ErrorKind::EndpointUnknown);
        assert!(missing.remedy.contains(":9345"));
    }

    #[test]
    fn rke2_is_not_joined_by_the_kubernetes_api() {
        let refused = spelled("https://h:6443", Distro::Rke2).unwrap_err();
        assert!(refused.starts_with("EndpointInvalid"), "{refused}");
        assert!(refused.ends_with("write port 9345: https://h:9345"), "{refused}");
    }
}
