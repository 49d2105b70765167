//! Instances that exist.

use std::net::IpAddr;

use jiff::Timestamp;
use joiner_core::{label::Labels, resources::Resources};

use crate::order::ClaimId;

/// An instance in the cloud that carries this cluster's mark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Instance {
    /// What the provider and the Node object call it. Final from the first answer on.
    pub provider_id: String,
    /// Whom it was made for, as its mark says; none when the mark has become unreadable.
    pub claim: Option<ClaimId>,
    /// The image it runs, where there is such a thing.
    pub image_id: Option<String>,
    /// What the provider decided: instance type, zone, capacity type and whatever else it knows.
    pub labels: Labels,
    /// Annotations for the claim and the node.
    pub annotations: Labels,
    /// What it has.
    pub capacity: Resources,
    /// What pods can use of it.
    pub allocatable: Resources,
    /// When it was made, where the cloud says so.
    pub created: Option<Timestamp>,
    /// Whether it is being destroyed.
    pub deleting: bool,
    /// Why it will never run again although it is still listed; none while it may run.
    pub lost: Option<Lost>,
    /// Whether its mark has the name of this cluster and not its identity: another cluster of the
    /// same name may have made it.
    pub cluster_unproven: bool,
    /// Whether the cloud still keeps what its guest was given to join with.
    pub holds_join_data: bool,
    /// Its addresses, as the hypervisor reports them.
    pub addresses: Vec<IpAddr>,
    /// The name that its guest has, as the hypervisor reports it.
    pub host_name: Option<String>,
    /// The UUID that its guest reads from the firmware, as nodes report it in
    /// `status.nodeInfo.systemUUID`; none where the hypervisor does not say.
    pub system_uuid: Option<String>,
}

/// An instance that the cloud is sure will never run again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lost {
    /// What happened to it, for people.
    pub why: String,
    /// The labels of the offering that failed, such as instance type, zone and capacity type; empty
    /// where it is the one that the claim names.
    pub offering: Labels,
}

impl Instance {
    /// Whether it may be the instance of this claim: its mark names the claim, or cannot be read. A
    /// provider id alone proves nothing, since clouds give ids of removed instances again. A claim
    /// without UID stands for any claim.
    pub fn may_be_of(&self, claim: &ClaimId) -> bool {
        let owner = self.claim.as_ref().map_or("", |own| &own.uid);
        owner.is_empty() || claim.uid.is_empty() || owner == claim.uid
    }
}

/// What the node of an instance shows of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured<'m> {
    /// The instance.
    pub provider_id: &'m str,
    /// Its type.
    pub instance_type: &'m str,
    /// The image it runs; empty where there is no such thing.
    pub image_id: &'m str,
    /// What its guest sees.
    pub capacity: &'m Resources,
}
