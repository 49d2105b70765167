//! What a cloud calls its settings.

use std::borrow::Cow;

use crate::Thumbprint;

/// What a cloud calls its server and its settings, for messages that name the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingNames {
    /// The server, as in `name the vCenter's authority`: `the vCenter`.
    pub server: Cow<'static, str>,
    /// The setting with files of authorities: `GOVC_TLS_CA_CERTS`.
    pub ca_files: Cow<'static, str>,
    /// The setting with certificates of authorities in its own text, where the cloud has one.
    pub ca_inline: Option<Cow<'static, str>>,
    /// The setting with the certificate to accept by its digest, where the cloud has one.
    pub thumbprint: Option<Cow<'static, str>>,
}

impl SettingNames {
    /// How to accept one certificate by its digest, as the end of a sentence; empty where the
    /// cloud has no such setting.
    pub(crate) fn or_pin(&self, thumbprint: &Thumbprint) -> String {
        let setting = self.thumbprint.as_deref();
        setting.map_or_else(String::new, |setting| {
            format!(
                ", or accept this one certificate by its thumbprint {thumbprint} ({setting}) after \
                 comparing it"
            )
        })
    }
}

#[cfg(test)]
impl SettingNames {
    /// Names for tests.
    pub(crate) fn of_vsphere() -> Self {
        Self {
            server: "the vCenter".into(),
            ca_files: "GOVC_TLS_CA_CERTS".into(),
            ca_inline: Some("ca_data".into()),
            thumbprint: Some("VSPHERE_THUMBPRINT".into()),
        }
    }
}
