//! Where instances are, and whose they are.

use serde::Deserialize;

use super::{Tag, lenient, listed_by_id};

/// A zone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Zone {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `Enabled` or `Disabled`.
    #[serde(rename = "allocationstate")]
    pub allocation_state: Option<String>,
    /// Whether instances may have disks on their host.
    #[serde(rename = "localstorageenabled", deserialize_with = "lenient::flag")]
    pub has_local_storage: bool,
    /// Whether it has security groups.
    #[serde(rename = "securitygroupsenabled", deserialize_with = "lenient::flag")]
    pub has_security_groups: bool,
}

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Network {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its zone.
    #[serde(rename = "zoneid")]
    pub zone_id: String,
    /// `Isolated`, `Shared` or `L2`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `Allocated`, `Setup`, `Implementing`, `Implemented`…
    pub state: Option<String>,
    /// Whether an instance can be in it now.
    #[serde(rename = "canusefordeploy", deserialize_with = "lenient::maybe_flag")]
    pub can_use_for_deploy: Option<bool>,
    /// What it offers to its guests.
    #[serde(rename = "service", deserialize_with = "lenient::list")]
    pub services: Vec<NetworkService>,
    /// Its tags.
    #[serde(deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
}

impl Network {
    /// Whether its guests are given user data.
    pub fn has_user_data(&self) -> bool {
        self.services.iter().any(|service| service.name == "UserData")
    }
}

/// Something that a network offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct NetworkService {
    /// Its name, such as `UserData`.
    pub name: String,
}

/// What a server can do, and what it allows the key's owner.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// The server's version.
    #[serde(rename = "cloudstackversion")]
    pub version: Option<String>,
    /// Whether removed instances may be expunged at once.
    #[serde(rename = "allowuserexpungerecovervm", deserialize_with = "lenient::flag")]
    pub may_expunge: bool,
    /// Whether removed instances are shown.
    #[serde(rename = "allowuserviewdestroyedvm", deserialize_with = "lenient::flag")]
    pub sees_destroyed: bool,
    /// Whether instances may be stopped without asking their guests.
    #[serde(rename = "allowuserforcestopvm", deserialize_with = "lenient::maybe_flag")]
    pub may_force_stop: Option<bool>,
    /// How many requests an account may send in an interval.
    #[serde(rename = "apilimitmax", deserialize_with = "lenient::number")]
    pub api_limit_max: Option<i64>,
    /// The interval in seconds.
    #[serde(rename = "apilimitinterval", deserialize_with = "lenient::number")]
    pub api_limit_interval: Option<i64>,
}

/// A limit of an account or a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ResourceLimit {
    /// The account.
    pub account: Option<String>,
    /// The id of the account's domain.
    #[serde(rename = "domainid")]
    pub domain_id: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The resource, by its number.
    #[serde(rename = "resourcetype")]
    pub kind: String,
    /// The resource, by its name.
    #[serde(rename = "resourcetypename")]
    pub name: Option<String>,
    /// The limit; -1 for none.
    #[serde(deserialize_with = "lenient::number")]
    pub max: Option<i64>,
    /// The tag of hosts or storage that it is about.
    pub tag: Option<String>,
}

impl crate::client::Listed for ResourceLimit {
    const OBJECT: &'static str = "resourcelimit";

    fn identity(&self) -> String {
        let Self { account, project, kind, tag, .. } = self;
        format!("{account:?}/{project:?}/{kind}/{tag:?}")
    }
}

/// A command that the key's role has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ApiName {
    /// Its name.
    pub name: String,
}

impl crate::client::Listed for ApiName {
    const OBJECT: &'static str = "api";

    fn identity(&self) -> String {
        self.name.clone()
    }
}

/// A group of instances that are kept together or apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct AffinityGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `host anti-affinity`…
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// A group of rules on what reaches instances.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SecurityGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `Active`, `Suspended`…
    pub state: Option<String>,
}

/// An SSH key pair.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SshKeyPair {
    /// Its name.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: Option<String>,
}

impl crate::client::Listed for SshKeyPair {
    const OBJECT: &'static str = "sshkeypair";

    fn identity(&self) -> String {
        self.name.clone()
    }
}

listed_by_id! {
    Zone => "zone",
    Network => "network",
    AffinityGroup => "affinitygroup",
    SecurityGroup => "securitygroup",
    Project => "project",
}
