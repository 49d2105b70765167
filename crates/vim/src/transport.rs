//! A vCenter on the network.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use joiner_line::{HttpsSettings, SettingNames};
pub use joiner_line::{
    InvalidThumbprint, Thumbprint, TlsProblem, TlsSettings, Transport, TransportError,
};
use joiner_proxy::{Proxies, Way};

use crate::Endpoint;

/// A vCenter on the network, by HTTP/1.1 over TLS. What is said of its certificate names vSphere's
/// settings.
#[derive(Debug)]
pub struct Https(joiner_line::Https);

impl Https {
    /// A vCenter at an address that is reached directly.
    pub fn new(endpoint: Endpoint, tls: &TlsSettings) -> Result<Self, TlsProblem> {
        Self::behind(&Proxies::default(), endpoint, tls)
    }

    /// A vCenter at an address that may be behind a proxy. It is reached without encryption only
    /// where any certificate is accepted too.
    pub fn behind(
        proxies: &Proxies,
        endpoint: Endpoint,
        tls: &TlsSettings,
    ) -> Result<Self, TlsProblem> {
        let names = SettingNames {
            server: "the vCenter".into(),
            ca_files: "GOVC_TLS_CA_CERTS".into(),
            ca_inline: None,
            thumbprint: Some("VSPHERE_THUMBPRINT".into()),
        };
        let settings = HttpsSettings {
            tls: tls.clone(),
            proxies: proxies.clone(),
            plain_allowed: tls.insecure,
            ..HttpsSettings::new(names)
        };
        joiner_line::Https::new(endpoint, settings).map(Self)
    }

    /// How the vCenter is reached.
    pub fn way(&self) -> &Way {
        self.0.way()
    }
}

#[async_trait]
impl Transport for Https {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.0.send(request).await
    }
}
