//! What there is to say about a vCenter and the classes that use it, before anybody relies on them.
//!
//! Everything here is a judgement of what was read; who reads is `provider::examine`. Wherever a
//! condition of a class says something, the doctor says the same, in its words.

mod class;
mod finding;
mod hosts;
mod instances;
mod room;
mod secrets;
mod template;
mod vcenter;

use std::collections::BTreeMap;

use joiner_cloud::{class as cloud_class, inputs::SecretData, needs::SecretName};

use crate::{node_class::NodeClass, user_data};

pub use self::finding::{Finding, Severity};
pub(crate) use self::{
    class::{conditions, joining, network, tags},
    finding::Subject,
    hosts::hosts,
    instances::instances,
    room::{pool, room},
    secrets::users_secret,
    template::template,
    vcenter::{clocks, reached, version},
};

/// What is looked at.
#[derive(Debug, Clone)]
pub struct Patient {
    /// The vCenter, as the user names it.
    pub address: String,
    /// The classes, or why there are none to look at.
    pub classes: Result<Vec<cloud_class::NodeClass>, String>,
    /// The cluster's `NodeClaim`s, or why nobody knows them.
    pub claims: Result<Vec<ClaimSeen>, String>,
    /// Secrets that classes refer to. One that is not here was not looked for.
    pub secrets: BTreeMap<SecretName, SecretSeen>,
}

/// What was found of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSeen {
    /// What is in it.
    Found(SecretData),
    /// The cluster says that there is none.
    Absent,
    /// Why nobody knows.
    Unread(String),
}

/// The Secret that a class refers to, if it does.
pub fn secret_of(class: &cloud_class::NodeClass) -> Option<SecretName> {
    let read = NodeClass::read(&class.object()).ok()?;
    user_data::secret_need(&read).map(|need| need.secret)
}

/// A `NodeClaim` of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Its identity.
    pub uid: String,
    /// Its instance, once it has one.
    pub provider_id: Option<String>,
}
