//! How instances join their cluster, as far as it is set for all classes.

use joiner_cloud::bootstrap::{Distro, Secret, token::MintTokens};
use joiner_settings::Reader;

use super::declared;

/// How instances join their cluster. Unset values are detected, or reported for each class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Joining {
    /// The cluster's name, which instance names and marks contain.
    pub cluster_name: Option<String>,
    /// Where instances join.
    pub endpoint: Option<String>,
    /// The token.
    pub token: Option<Secret<String>>,
    /// How they join.
    pub distro: Option<Distro>,
    /// Kubernetes' version that they join with.
    pub version: Option<String>,
    /// Whether tokens are made.
    pub mint: MintTokens,
    /// Whether a short token of RKE2 or k3s gets the certificate authority's hash.
    pub pin_ca: bool,
}

impl Joining {
    pub(super) fn read(from: &mut Reader<'_>) -> Self {
        let words = Distro::ALL.map(|distro| (distro.as_str(), Some(distro)));
        let distro = if from.given(&declared::KUBE_DISTRO).is_some() {
            from.choice(&declared::KUBE_DISTRO, words)
        } else {
            None
        };
        Self {
            cluster_name: from.given(&declared::CLUSTER_NAME).map(str::to_owned),
            endpoint: from.given(&declared::CLUSTER_ENDPOINT).map(str::to_owned),
            token: from.given(&declared::JOIN_TOKEN).map(Secret::from),
            distro,
            version: from.given(&declared::KUBE_VERSION).map(str::to_owned),
            mint: from.choice(
                &declared::MINT_TOKENS,
                [
                    ("auto", MintTokens::Auto),
                    ("always", MintTokens::Always),
                    ("never", MintTokens::Never),
                ],
            ),
            pin_ca: from.switch(&declared::PIN_CA),
        }
    }
}
