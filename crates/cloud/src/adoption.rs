//! Instances of a predecessor.

use joiner_core::label::Labels;

use crate::order::ClaimId;

/// The claim that names a predecessor's instance, and the facts that the claim records about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Adoption {
    /// The claim.
    pub claim: ClaimId,
    /// The pool it was made from; none for a claim that was written by hand.
    pub node_pool: Option<String>,
    /// The name of its class.
    pub class: String,
    /// The claim's labels, such as the instance type and the zone that the predecessor chose.
    pub labels: Labels,
}
