//! What `joiner doctor` says about a cloud and its classes, before instances depend on them.
//!
//! A provider reads what there is and answers [`Finding`]s
//! ([`CloudProvider::examine`](crate::CloudProvider::examine)). Nothing is changed. The doctor
//! repeats the messages of a class's conditions unchanged ([`Subject::condition`]). The judgements
//! that all clouds share are here: instances and their claims ([`instances`]), Secrets with texts
//! ([`users_secret`]), the way to the server ([`reached`], [`clocks`]), and how instances join
//! ([`joining`]).

mod finding;
mod instances;
mod joining;
mod report;
mod secrets;
mod server;

use std::collections::BTreeMap;

use crate::{class::NodeClass, inputs::SecretData, needs::SecretName};

pub use self::{
    finding::{Finding, Severity, Subject},
    instances::{InstanceSeen, Owner, instances},
    joining::joining,
    report::{Report, Summary},
    secrets::users_secret,
    server::{clocks, reached},
};

/// What is examined.
#[derive(Debug, Clone)]
pub struct Patient {
    /// The server of the cloud, as the user names it.
    pub address: String,
    /// The classes, or the reason why there are none.
    pub classes: Result<Vec<NodeClass>, String>,
    /// The cluster's `NodeClaim`s, or the reason why they are unknown.
    pub claims: Result<Vec<ClaimSeen>, String>,
    /// Secrets that classes refer to. A Secret that is missing here was not read.
    pub secrets: BTreeMap<SecretName, SecretSeen>,
}

/// What was found of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSeen {
    /// Its data.
    Found(SecretData),
    /// The cluster says that it does not exist.
    Absent,
    /// The reason why it is unknown.
    Unread(String),
}

/// A `NodeClaim` of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Its identity.
    pub uid: String,
    /// The provider id of its instance, once it has one.
    pub provider_id: Option<String>,
}
