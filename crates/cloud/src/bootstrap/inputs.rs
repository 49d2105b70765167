//! Everything that an instance's text may depend on.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    str::FromStr,
};

use joiner_core::{label::Labels, resources::Resources, taint::Taint};

use super::{
    error::{Error, ErrorKind},
    secret::Secret,
    token::Token,
    trust::CaBundle,
};

/// The distribution of the cluster, which decides how instances join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distro {
    /// `kubeadm join`, with kubelet and kubeadm in the image.
    Kubeadm,
    /// RKE2, installed from the network.
    Rke2,
    /// RKE2, installed from what the image brings.
    Rke2Airgapped,
    /// k3s.
    K3s,
    /// Talos Linux, whose configuration is the whole user data.
    Talos,
    /// The user's text joins the instance itself.
    None,
}

impl Distro {
    /// Every one, in the order in which messages list them.
    pub const ALL: [Self; 6] =
        [Self::Kubeadm, Self::Rke2, Self::Rke2Airgapped, Self::K3s, Self::Talos, Self::None];

    /// Whether instances join by a supervisor of the distribution's own.
    pub(super) fn is_supervised(self) -> bool {
        matches!(self, Self::Rke2 | Self::Rke2Airgapped | Self::K3s)
    }

    /// The word for it in a `NodeClass`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::Rke2 => "rke2",
            Self::Rke2Airgapped => "rke2airgapped",
            Self::K3s => "k3s",
            Self::Talos => "talos",
            Self::None => "none",
        }
    }

    /// The distribution of a cluster, by its API server's version and whether it has the ConfigMap
    /// `kube-public/cluster-info`. `None` means that the answer is unknown.
    pub fn detect(git_version: &str, cluster_info: Option<bool>) -> Result<Self, Error> {
        let build = git_version.split_once('+').map_or("", |(_, build)| build);
        if build.starts_with("rke2r") {
            return Ok(Self::Rke2);
        }
        if build.starts_with("k3s") {
            return Ok(Self::K3s);
        }
        let problem = match cluster_info {
            Some(true) => return Ok(Self::Kubeadm),
            Some(false) => "the cluster has no ConfigMap kube-public/cluster-info",
            None => "the ConfigMap kube-public/cluster-info could not be read",
        };
        Err(Error::new(
            ErrorKind::DistroUnknown,
            "distro",
            format!("API server {git_version:?} is neither RKE2 nor k3s, and {problem}"),
            format!(
                "write the distribution down, in the class or as KUBE_DISTRO (--kube-distro): {}",
                Self::words()
            ),
        ))
    }

    fn words() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl Display for Distro {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Distro {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|distro| distro.as_str() == text).ok_or_else(|| {
            let problem = format!("{text:?} is no distribution");
            let remedy = format!("write one of {}", Self::words());
            Error::new(ErrorKind::DistroUnknown, "distro", problem, remedy)
        })
    }
}

/// The formats of first-boot programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// cloud-init, in any of its forms.
    CloudInit,
    /// Ignition: Flatcar, Fedora CoreOS.
    Ignition,
    /// A Talos machine configuration.
    Talos,
    /// A user's text that is sent unchanged and is not parsed.
    Unknown,
}

impl Display for Format {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CloudInit => "cloud-config",
            Self::Ignition => "ignition",
            Self::Talos => "talos",
            Self::Unknown => "text of the user's own",
        })
    }
}

/// Who gives the Node its `spec.providerID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderId {
    /// It is known before the instance is.
    Known(String),
    /// The instance finds it out when it boots.
    Guest(GuestLookup),
    /// A cloud controller in the cluster writes it.
    Cloud,
}

/// How an instance finds out its provider id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestLookup {
    /// vSphere: the serial number that the firmware shows.
    Dmi,
    /// CloudStack: the instance id of cloud-init's datasource.
    Metadata,
}

/// What the user's text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It is added to what is generated.
    #[default]
    Merge,
    /// It is the whole text, with the instance's values substituted.
    Replace,
}

/// A text that the user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserText {
    /// Path of the field, for messages.
    pub field: String,
    /// The content of the field. Users may put secrets into it.
    pub bytes: Secret<Vec<u8>>,
    /// Whether read access to the `NodeClass` includes this text.
    pub readable: bool,
    /// Whether a YAML map without a header counts as cloud-config, as in vSphere's
    /// `additionalUserdata`.
    pub headerless: bool,
}

impl UserText {
    /// The text of a field of a `NodeClass`.
    pub fn inline(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            bytes: Secret::new(text.into().into_bytes()),
            readable: true,
            headerless: false,
        }
    }
}

/// How the kubelet divides its instance. The numbers are those that the planner counted with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kubelet {
    /// Pods at most; zero is the same as nothing.
    pub max_pods: Option<u32>,
    /// Kept for Kubernetes' own programs.
    pub kube_reserved: Resources,
    /// Kept for the rest of the system.
    pub system_reserved: Resources,
    /// Evictions start below these, by signal: amounts or shares.
    pub eviction_hard: BTreeMap<String, String>,
    /// Further arguments by name, without dashes.
    pub extra_args: BTreeMap<String, String>,
}

/// Where images come from instead of a registry's own host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// The registry as image names spell it, or `*` for all others.
    pub host: String,
    /// URLs to try, in order, before the registry itself.
    pub endpoints: Vec<String>,
    /// For every endpoint, or for the registry itself where there is none.
    pub login: Option<Login>,
    /// Certificates to trust, as PEM.
    pub ca_pem: Option<String>,
    /// Whether any certificate will do.
    pub skip_verify: bool,
}

/// A name and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The name.
    pub username: String,
    /// The password.
    pub password: Secret<String>,
}

/// How the instance reaches the outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proxy {
    /// For `http:` addresses; it may contain a password.
    pub http: Option<Secret<String>>,
    /// For `https:` addresses; it may contain a password.
    pub https: Option<Secret<String>>,
    /// Hosts and networks that are reached directly, besides those of the cluster.
    pub no_proxy: Vec<String>,
    /// The cluster's DNS domain; `cluster.local` by default.
    pub cluster_domain: Option<String>,
    /// Networks of pods and services.
    pub cluster_cidrs: Vec<String>,
}

/// How RKE2 and k3s get onto an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Install {
    /// Where the install script is fetched from; the distribution's public address otherwise.
    pub url: Option<String>,
    /// The install script in the image, used instead of fetching one.
    pub script: Option<String>,
    /// Folder of the image's RKE2 artifacts (air-gapped only).
    pub artifacts: Option<String>,
}

/// Everything that an instance's text may depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// Kind and name of the `NodeClass`, for messages.
    pub object: String,
    /// How the instance joins.
    pub distro: Distro,
    /// What the image understands. `None` follows from the distribution and the user's text.
    pub format: Option<Format>,
    /// Name of instance, guest and Node.
    pub node_name: String,
    /// Where the cluster is reached: a host, with port and scheme or without.
    pub endpoint: Option<String>,
    /// What the instance proves itself with.
    pub token: Option<Token>,
    /// What the cluster proves itself with.
    pub ca: Option<CaBundle>,
    /// Whether a short RKE2 or k3s token gets the certificate authority's hash.
    pub pin_ca: bool,
    /// Kubernetes' version, in full, such as `v1.33.4+rke2r1`.
    pub version: Option<String>,
    /// The claim's labels.
    pub labels: Labels,
    /// The claim's taints.
    pub taints: Vec<Taint>,
    /// The claim's startup taints.
    pub startup_taints: Vec<Taint>,
    /// How the kubelet divides the instance.
    pub kubelet: Kubelet,
    /// Who gives the Node its provider id.
    pub provider_id: ProviderId,
    /// The container runtime's socket (kubeadm); containerd's otherwise.
    pub cri_socket: Option<String>,
    /// Mirrors of image registries.
    pub registries: Vec<Registry>,
    /// The way to the outside.
    pub proxy: Option<Proxy>,
    /// How RKE2 and k3s are installed.
    pub install: Install,
    /// A Talos configuration that a Secret holds.
    pub talos_base: Option<Secret<String>>,
    /// The user's text.
    pub user: UserText,
    /// What the user's text does.
    pub mode: Mode,
}
