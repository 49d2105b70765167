//! Settings of vSphere: how the provider reaches its vCenter, and what instances cost and hide.

pub mod declared;

use std::{net::IpAddr, path::PathBuf};

use http::Uri;
use joiner_cloud::bootstrap::Secret;
use joiner_core::price::UnitPrices;
use joiner_line::{CredentialFiles, Credentials, CredentialsSource};
use joiner_settings::Reader;

use crate::Settings;

impl Settings {
    /// Reads what instances cost and hide: vSphere's own setting first, then the one for all clouds;
    /// problems are kept by the reader.
    pub fn read(from: &mut Reader<'_>, prices: UnitPrices, overhead_of_all: Option<f64>) -> Self {
        let own = from.share(&declared::VSPHERE_VM_MEMORY_OVERHEAD_PERCENT).or(overhead_of_all);
        Self { memory_overhead: own.unwrap_or(Self::default().memory_overhead), prices }
    }
}

/// How vSphere's provider reaches its vCenter, and where it keeps its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VsphereAccess {
    /// The vCenter's host, with its port if that is not 443; IPv6 addresses are in brackets.
    pub authority: String,
    /// Who logs in; empty where the folder says it.
    pub username: String,
    /// With which password; empty where the folder says it.
    pub password: Secret<String>,
    /// The folder with both, which is read at each login.
    pub credentials_folder: Option<CredentialFiles>,
    /// What the cluster is called.
    pub cluster_name: String,
    /// Where instances are kept, below the datacenter's folder of VMs.
    pub folder: String,
    /// The datacenter, where one is given for all classes.
    pub datacenter: Option<String>,
    /// Whether the vCenter's certificate is not looked at.
    pub insecure: bool,
    /// Certificates to trust besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// The hash of the one certificate to trust: of 20 or 32 bytes.
    pub thumbprint: Option<Vec<u8>>,
}

impl VsphereAccess {
    /// Where name and password are found at each login.
    pub fn credentials(&self) -> CredentialsSource {
        match &self.credentials_folder {
            Some(folder) => folder.clone().source(),
            None => Credentials::new(&self.username, self.password.reveal()).into_source(),
        }
    }

    /// Reads what is given; problems are kept by the reader. `why` says what cannot be done without
    /// it.
    pub fn read(from: &mut Reader<'_>, cluster_name: &str, why: &str) -> Self {
        let authority = authority(from, why);
        let credentials_folder = credentials_folder(from);
        let (username, password) = if credentials_folder.is_some() {
            (String::new(), String::new())
        } else {
            (
                from.required(&declared::VSPHERE_USERNAME, why).to_owned(),
                from.required(&declared::VSPHERE_PASSWORD, why).to_owned(),
            )
        };
        let access = Self {
            cluster_name: cluster_name.to_owned(),
            authority,
            credentials_folder,
            username,
            password: password.into(),
            folder: from.required(&declared::VSPHERE_PATH, why).to_owned(),
            datacenter: from.given(&declared::VSPHERE_DC).map(str::to_owned),
            insecure: from.switch(&declared::VSPHERE_INSECURE),
            ca_files: from
                .text(&declared::VSPHERE_TLS_CA_CERTS)
                .split(':')
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
                .collect(),
            thumbprint: thumbprint(from),
        };
        if access.insecure {
            from.warn(
                "the vCenter's certificate is not checked (--vsphere-insecure, GOVC_INSECURE), so \
                 that anybody on the way there can read the password: use GOVC_TLS_CA_CERTS or \
                 VSPHERE_THUMBPRINT instead",
            );
        }
        access
    }
}

/// The folder with name and password. One that cannot be read now would not be found out before the
/// first login.
fn credentials_folder(from: &mut Reader<'_>) -> Option<CredentialFiles> {
    let setting = &declared::VSPHERE_CREDENTIALS_PATH;
    let folder = CredentialFiles::in_folder(
        from.path(setting)?,
        &["username", "GOVC_USERNAME"],
        &["password", "GOVC_PASSWORD"],
        "the vCenter's user",
    );
    if let Err(problem) = folder.read() {
        from.refuse_with(setting, &problem);
    }
    Some(folder)
}

/// The vCenter's host and port, from a host, an address or a URL.
fn authority(from: &mut Reader<'_>, why: &str) -> String {
    let setting = &declared::VSPHERE_ENDPOINT;
    let text = from.required(setting, why);
    if text.is_empty() {
        return String::new();
    }
    match read_authority(text) {
        Ok(authority) => authority,
        Err(problem) => {
            // The text is not repeated: there may be a password in it.
            from.refuse_with(setting, problem);
            String::new()
        }
    }
}

fn read_authority(text: &str) -> Result<String, &'static str> {
    if let Ok(IpAddr::V6(address)) = text.parse() {
        return Ok(format!("[{address}]"));
    }
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let no_address = "it is no address: use a host, or https://HOST:PORT";
    let uri: Uri = text.parse().map_err(|_| no_address)?;
    let authority = uri.authority().ok_or(no_address)?;
    if authority.as_str().contains('@') {
        return Err("there is a user in it: give GOVC_USERNAME and GOVC_PASSWORD instead");
    }
    if uri.scheme_str() != Some("https") {
        return Err("it is not HTTPS: a vCenter is reached by https://HOST");
    }
    // A port that is no number of 16 bits is none, but is there.
    let has_odd_port = authority.port_u16().is_none() && authority.as_str() != authority.host();
    if authority.host().is_empty() || has_odd_port {
        return Err(no_address);
    }
    if !matches!(uri.path().trim_matches('/'), "" | "sdk") || uri.query().is_some() {
        return Err("it has a path: leave out what comes after host and port");
    }
    Ok(authority.as_str().to_owned())
}

/// A hash as programs print it: hex numbers separated by colons.
fn thumbprint(from: &mut Reader<'_>) -> Option<Vec<u8>> {
    let setting = &declared::VSPHERE_THUMBPRINT;
    let text = from.given(setting)?;
    let bytes = text
        .split(':')
        .map(|byte| (byte.len() == 2).then(|| u8::from_str_radix(byte, 16).ok()).flatten());
    let bytes = bytes.collect::<Option<Vec<u8>>>();
    let usable = bytes.filter(|bytes| matches!(bytes.len(), 20 | 32));
    if usable.is_none() {
        let remedy = "use 20 (SHA-1) or 32 (SHA-256) hex numbers separated by ':'";
        from.refuse(setting, text, remedy);
    }
    usable
}

#[cfg(test)]
mod tests {
    use joiner_settings::Values;

    use super::*;

    #[test]
    fn a_password_is_read_and_not_shown() {
        let mut values = Values::default();
        for (setting, text) in [
            (&declared::VSPHERE_ENDPOINT, "https://vcenter.example.org/sdk"),
            (&declared::VSPHERE_USERNAME, "joiner"),
            (&declared::VSPHERE_PASSWORD, "hunter2"),
            (&declared::VSPHERE_PATH, "k8s/prod"),
        ] {
            values.give(setting, text);
        }
        let mut reader = Reader::new(&values);
        let access = VsphereAccess::read(&mut reader, "prod", "it is needed");
        assert_eq!(reader.accept(()).unwrap().warnings, Vec::<String>::new());
        assert_eq!(access.password.reveal(), "hunter2");
        assert!(!format!("{access:?}").contains("hunter2"));
        assert_eq!((&*access.cluster_name, &*access.folder), ("prod", "k8s/prod"));
        assert_eq!((access.datacenter, access.thumbprint), (None, None));
    }

    #[test]
    fn every_spelling_of_a_vcenter_is_understood() {
        for (text, expected) in [
            ("vcenter.example.org", "vcenter.example.org"),
            ("vcenter:8443", "vcenter:8443"),
            ("https://vcenter/sdk", "vcenter"),
            ("https://10.0.0.5:443/", "10.0.0.5:443"),
            ("fd00::5", "[fd00::5]"),
            ("https://[fd00::5]:8443/sdk", "[fd00::5]:8443"),
        ] {
            assert_eq!(read_authority(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_vcenter_says_so_without_repeating_it() {
        for text in [
            "http://vcenter",
            "https://root:hunter2@vcenter/sdk",
            "vcenter/ui",
            "vcenter:99999",
            "a b",
        ] {
            let refused = read_authority(text).unwrap_err();
            assert!(!refused.contains("hunter2") && refused.contains(": "), "{text}: {refused}");
        }
    }
}
