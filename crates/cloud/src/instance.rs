//! Instances that exist.

use std::net::IpAddr;

use jiff::Timestamp;
use joiner_core::{label::Labels, resources::Resources};

use crate::order::ClaimId;

/// An instance in the cloud that carries this cluster's mark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Instance {
    /// The provider id, as the Node object has it. It never changes.
    pub provider_id: String,
    /// The claim that its mark names; none where the mark is unreadable.
    pub claim: Option<ClaimId>,
    /// The image it runs, where there is such a thing.
    pub image_id: Option<String>,
    /// The labels that the provider chose, such as instance type, zone and capacity type.
    pub labels: Labels,
    /// Annotations for the claim and the node.
    pub annotations: Labels,
    /// Its capacity.
    pub capacity: Resources,
    /// Its allocatable resources.
    pub allocatable: Resources,
    /// When it was made, where the cloud says so.
    pub created: Option<Timestamp>,
    /// Whether it is being destroyed.
    pub deleting: bool,
    /// Why a listed instance will never run again; none while it may run.
    pub lost: Option<Lost>,
    /// Whether its mark has the name of this cluster but lacks its UID. Another cluster of the same
    /// name may have made it.
    pub cluster_unproven: bool,
    /// Whether the cloud still stores the join data of its guest.
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
    /// provider id alone proves nothing, since clouds reuse the ids of removed instances. A claim
    /// without UID stands for any claim.
    pub fn may_be_of(&self, claim: &ClaimId) -> bool {
        let owner = self.claim.as_ref().map_or("", |own| &own.uid);
        owner.is_empty() || claim.uid.is_empty() || owner == claim.uid
    }
}

/// The facts about an instance that its node reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured<'m> {
    /// The instance.
    pub provider_id: &'m str,
    /// Its type.
    pub instance_type: &'m str,
    /// The image it runs; empty where there is no such thing.
    pub image_id: &'m str,
    /// The capacity that its guest reports.
    pub capacity: &'m Resources,
}
