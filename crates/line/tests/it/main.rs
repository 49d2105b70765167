//! Requests on loopback sockets, and to servers in the process in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connections;
mod deadlines;
mod network;
mod servers;

use joiner_line::SettingNames;

/// What a cloud calls its settings.
fn names() -> SettingNames {
    SettingNames {
        server: "the vCenter".into(),
        ca_files: "GOVC_TLS_CA_CERTS".into(),
        ca_inline: None,
        thumbprint: Some("VSPHERE_THUMBPRINT".into()),
    }
}
