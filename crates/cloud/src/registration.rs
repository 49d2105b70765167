//! The steps of a provider between the join of a node and its use.

use async_trait::async_trait;
use joiner_core::label::Labels;

use crate::{CloudError, order::ClaimId, progress::Progress};

/// A claim whose node has joined the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JoinedClaim {
    /// The claim.
    pub claim: ClaimId,
    /// The provider id, in the form that the node has.
    pub provider_id: String,
    /// The name of the node.
    pub node: String,
    /// Labels of the claim.
    pub labels: Labels,
    /// Annotations of the claim.
    pub annotations: Labels,
}

/// A step that has to be done before a node counts as registered.
#[async_trait]
pub trait RegistrationHook: std::fmt::Debug + Send + Sync {
    /// The name that the claim's condition shows while the step is not done.
    fn name(&self) -> &str;

    /// Does the step for a claim whose node has joined. It is repeated until it is done, and may be
    /// repeated after that. The claim and its node get the labels that come back.
    async fn registered(&self, joined: &JoinedClaim) -> Result<Progress, CloudError>;
}
