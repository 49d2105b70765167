//! Pure decisions from the cluster's data: how its instances join.

use std::net::SocketAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use joiner_cloud::{
    bootstrap::{
        Distro, Error, ErrorKind, ProviderId, Secret,
        provider_id::{self, Evidence},
        token::{MintTokens, TokenSource, choose_source},
        trust::CaBundle,
    },
    needs::IdNeed,
};
use kube::config::Kubeconfig;

use super::{
    Missing,
    memory::{Read, Unread},
};

/// The port at which RKE2 agents join; RKE2's constant.
const RKE2_SUPERVISOR_PORT: u16 = 9345;

/// The contents of kubeadm's `cluster-info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterInfo {
    /// The API server's URL.
    pub(super) server: Option<String>,
    /// Its certificate authority, as PEM.
    pub(super) ca: Option<String>,
}

impl ClusterInfo {
    /// Reads the kubeconfig of the ConfigMap `kube-public/cluster-info`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let refuse = |why: String| format!("ConfigMap kube-public/cluster-info: kubeconfig: {why}");
        let config = Kubeconfig::from_yaml(text).map_err(|error| refuse(error.to_string()))?;
        let cluster = config.clusters.into_iter().find_map(|named| named.cluster);
        let cluster = cluster.ok_or_else(|| refuse("there is no cluster in it".to_owned()))?;
        let ca = match cluster.certificate_authority_data {
            None => None,
            Some(data) => {
                let pem = STANDARD.decode(data).ok().and_then(|pem| String::from_utf8(pem).ok());
                let what = "certificate-authority-data is no text in base64";
                Some(pem.ok_or_else(|| refuse(what.to_owned()))?)
            }
        };
        Ok(Self { server: cluster.server, ca })
    }
}

impl Missing {
    /// A problem with the join data of a class.
    pub(super) fn problem(class: &str, mut error: Error) -> Self {
        class.clone_into(&mut error.object);
        Self::Problem { reason: error.kind.reason(), message: error.to_string() }
    }

    /// A failed read: it is unknown whether the data exists.
    pub(super) fn unread(class: &str, what: &str, why: &Unread) -> Self {
        Self::Unknown(format!("{class}: {what} could not be read: {}", why.why()))
    }
}

/// The distribution as configured: the class overrides the setting.
pub(super) fn written_distro(
    of_class: Option<&str>,
    setting: Option<Distro>,
) -> Result<Option<Distro>, Error> {
    match of_class.filter(|word| !word.is_empty()) {
        Some(word) => word.parse().map(Some),
        None => Ok(setting),
    }
}

/// The distribution of a cluster, detected from its API server.
pub(super) fn distro(
    class: &str,
    version: &str,
    cluster_info: &Read<Option<ClusterInfo>>,
) -> Result<Distro, Missing> {
    let is_there = match cluster_info {
        Ok(found) => Some(found.is_some()),
        Err(_) => None,
    };
    match (Distro::detect(version, is_there), cluster_info) {
        (Ok(distro), _) => Ok(distro),
        (Err(_), Err(away @ Unread::Away(_))) => {
            Err(Missing::unread(class, "ConfigMap kube-public/cluster-info", away))
        }
        (Err(error), _) => Err(Missing::problem(class, error)),
    }
}

/// Possible join addresses, derived from the API servers.
pub(super) fn join_addresses(distro: Distro, api_servers: &[SocketAddr]) -> Vec<SocketAddr> {
    let by = |address: &SocketAddr| match distro {
        Distro::Rke2 | Distro::Rke2Airgapped => SocketAddr::new(address.ip(), RKE2_SUPERVISOR_PORT),
        Distro::Kubeadm | Distro::K3s | Distro::Talos | Distro::None => *address,
    };
    api_servers.iter().map(by).collect()
}

/// The error for an unknown join endpoint.
pub(super) fn endpoint_unknown(distro: Distro, problem: impl Into<String>) -> Error {
    let example = match distro {
        Distro::Rke2 | Distro::Rke2Airgapped => "https://10.0.0.10:9345",
        _ => "https://10.0.0.10:6443",
    };
    Error {
        kind: ErrorKind::EndpointUnknown,
        object: String::new(),
        field: "endpoint".to_owned(),
        problem: problem.into(),
        remedy: format!("set CLUSTER_ENDPOINT (--cluster-endpoint), for example to {example}"),
    }
}

/// The certificate authority of a cluster: the one that pods use, or the one from `cluster-info`.
/// If both exist, they are equal. The first is preferred, because RKE2 and k3s hash exactly that
/// file.
pub(super) fn authority(
    class: &str,
    root_ca: &Read<Option<String>>,
    cluster_info: Option<&Read<Option<ClusterInfo>>>,
) -> Result<Option<CaBundle>, Missing> {
    let published = cluster_info.and_then(|info| info.as_ref().ok()?.as_ref()?.ca.as_ref());
    let pem = match root_ca {
        Ok(Some(pem)) => Some(pem),
        _ => published,
    };
    match (pem, root_ca) {
        (Some(pem), _) => {
            CaBundle::read(pem).map(Some).map_err(|error| Missing::problem(class, error))
        }
        (None, Err(away @ Unread::Away(_))) => {
            Err(Missing::unread(class, "ConfigMap kube-root-ca.crt", away))
        }
        (None, _) => Ok(None),
    }
}

/// The source of tokens.
pub(super) fn token_source(
    class: &str,
    given: Option<&Secret<String>>,
    setting: MintTokens,
    may_mint: &Read<bool>,
) -> Result<TokenSource, Missing> {
    match (choose_source(given, setting, may_mint.as_ref().ok().copied()), may_mint) {
        (Ok(source), _) => Ok(source),
        (Err(_), Err(away @ Unread::Away(_))) if setting != MintTokens::Never => {
            Err(Missing::unread(class, "whether Secrets may be created in kube-system", away))
        }
        (Err(error), _) => Err(Missing::problem(class, error)),
    }
}

/// The component that sets the provider ID of nodes.
pub(super) fn id_giver(
    class: &str,
    need: IdNeed,
    foreign_ids: Option<Vec<String>>,
    images: &Read<Vec<String>>,
) -> Result<ProviderId, Missing> {
    let seen = Evidence { foreign_ids, images: images.as_ref().ok().cloned() };
    match (provider_id::choose(need.cloud, need.setting, &seen), images) {
        (Ok(giver), _) => Ok(giver),
        (Err(_), Err(away @ Unread::Away(_))) => {
            Err(Missing::unread(class, "DaemonSets and Deployments in kube-system", away))
        }
        (Err(error), _) => Err(Missing::problem(class, error)),
    }
}

#[cfg(test)]
mod tests;
