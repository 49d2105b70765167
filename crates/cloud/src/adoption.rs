//! Instances of a predecessor.

use joiner_core::label::Labels;

use crate::order::ClaimId;

/// The claim that names an instance of a predecessor, and what it says of the instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Adoption {
    /// The claim.
    pub claim: ClaimId,
    /// The pool it was made from; none for a claim that somebody wrote by hand.
    pub node_pool: Option<String>,
    /// The name of its class.
    pub class: String,
    /// The claim's labels: instance type, zone and whatever else the predecessor decided.
    pub labels: Labels,
}
