//! What there is to say about a cloud and the classes that use it, before instances are made.
//!
//! Each cloud judges what it has read of itself; the words for what is looked at and what is found
//! are the same for all.

mod finding;

use std::collections::BTreeMap;

use crate::{class::NodeClass, inputs::SecretData, needs::SecretName};

pub use self::finding::{Finding, Severity, Subject};

/// What is looked at.
#[derive(Debug, Clone)]
pub struct Patient {
    /// Where the cloud is, as the user names it.
    pub address: String,
    /// The classes, or why there are none to look at.
    pub classes: Result<Vec<NodeClass>, String>,
    /// The cluster's `NodeClaim`s, or why they are not known.
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
    /// Why it is not known.
    Unread(String),
}

/// A `NodeClaim` of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Its identity.
    pub uid: String,
    /// Its instance, once it has one.
    pub provider_id: Option<String>,
}
