//! What there is to say about a vCenter and the classes that use it, before anybody relies on them.
//!
//! Everything here is a judgement of what was read; who reads is `provider::examine`. Wherever a
//! condition of a class says something, the doctor says the same, in its words.

mod class;
mod finding;
mod hosts;
mod machines;
mod room;
mod template;
mod vcenter;

use joiner_cloud::class as cloud_class;

pub use self::finding::{Finding, Severity};
pub(crate) use self::{
    class::{conditions, joining, network, tags},
    finding::Subject,
    hosts::hosts,
    machines::machines,
    room::room,
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
}

/// A `NodeClaim` of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Its identity.
    pub uid: String,
    /// Its machine, once it has one.
    pub provider_id: Option<String>,
}
