//! The join data of all instances of a class.

use super::{
    endpoint::Endpoint,
    error::Error,
    inputs::{Distro, ProviderId},
    secret::Secret,
    token::{self, BootstrapToken, SupervisorToken, Token, TokenSource},
    trust::{CaBundle, Pin},
    version::KubeVersion,
};

/// The join data of all instances of a class: the cluster's part of [`Inputs`](super::Inputs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// How instances join.
    pub distro: Distro,
    /// Where the cluster is reached.
    pub endpoint: Option<String>,
    /// Kubernetes' version, in full.
    pub version: Option<String>,
    /// What the cluster proves itself with.
    pub ca: Option<CaBundle>,
    /// Whether a short RKE2 or k3s token gets the certificate authority's hash.
    pub pin_ca: bool,
    /// Where tokens come from; none where instances need none.
    pub token: Option<TokenSource>,
    /// Who gives nodes their provider id; none where it is known before the instance is.
    pub provider_id: Option<ProviderId>,
}

impl Facts {
    /// Facts with one token for all instances, and without a certificate authority.
    pub fn given(distro: Distro, endpoint: &str, version: &str, token: &str) -> Self {
        Self {
            distro,
            endpoint: Some(endpoint.to_owned()),
            version: Some(version.to_owned()),
            ca: None,
            pin_ca: false,
            token: Some(TokenSource::Given(Secret::from(token))),
            provider_id: None,
        }
    }

    /// Whether instances could join with these. Answers what there is to say about them although
    /// they could.
    pub fn check(&self) -> Result<Vec<String>, Error> {
        if self.distro == Distro::None {
            return Ok(Vec::new());
        }
        Endpoint::read(self.endpoint.as_deref(), self.distro)?;
        KubeVersion::of_cluster(self.version.as_deref(), self.distro)?;
        if matches!(self.distro, Distro::Kubeadm | Distro::Talos) {
            token::needed(self.ca.as_ref())?;
        }
        let Some(token) = self.example_token() else { return Ok(Vec::new()) };
        let ready = token::ready(Some(&token), self.distro, self.ca.as_ref(), self.pin_ca)?;
        Ok(ready.warnings)
    }

    /// The certificate pin of RKE2 and k3s instances. None where they trust the first server that
    /// they reach, and for the other distributions.
    pub fn pin(&self) -> Option<Pin> {
        if !self.distro.is_supervised() {
            return None;
        }
        let endpoint = Endpoint::read(self.endpoint.as_deref(), self.distro).ok()?;
        let token = self.example_token()?;
        let ready = token::ready(Some(&token), self.distro, self.ca.as_ref(), self.pin_ca).ok()?;
        let hash = SupervisorToken::read(&ready.text).ok()?.pinned_hash()?.to_owned();
        Some(Pin { shown_at: format!("{}/cacerts", endpoint.url()), hash })
    }

    /// A token like those of instances.
    fn example_token(&self) -> Option<Token> {
        self.token.as_ref().map(|source| match source {
            TokenSource::Given(text) => Token::Given(text.clone()),
            TokenSource::Mint => Token::Minted(BootstrapToken::example()),
        })
    }
}
