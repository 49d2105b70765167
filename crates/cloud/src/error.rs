//! The errors of a provider.

/// Why a call to a provider failed. The kind decides the operator's next step.
///
/// There is no kind for "not found": where an instance may be gone, the answer says so
/// ([`Deletion::Gone`](crate::Deletion::Gone), `None` of [`get`](crate::CloudProvider::get)), and an
/// error never means it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// The cloud has no capacity for this instance now. The claim is given up and its pods are
    /// planned again. The provider marks the offering as unavailable for a while.
    #[error("{0}")]
    InsufficientCapacity(String),
    /// The class cannot be used now. The claim is given up.
    #[error("{0}")]
    NodeClassNotReady(String),
    /// The instance cannot be made in the present state; it is tried again. The reason is a
    /// `CamelCase` word that the claim's condition shows.
    #[error("{message}")]
    Create {
        /// For programs.
        reason: &'static str,
        /// For people: the object, the field, the remedy.
        message: String,
    },
    /// A setting or a class is invalid. Repeating the call does not help.
    #[error("{0}")]
    Invalid(String),
    /// The cloud did not answer in time, or its answer is invalid. The call may have had an effect.
    #[error("{0}")]
    Unknown(String),
}

impl CloudError {
    /// The name by which metrics tell errors apart; Karpenter's.
    pub fn metric_name(&self) -> &'static str {
        match self {
            Self::InsufficientCapacity(_) => "InsufficientCapacityError",
            Self::NodeClassNotReady(_) => "NodeClassNotReadyError",
            Self::Create { .. } | Self::Invalid(_) | Self::Unknown(_) => "",
        }
    }
}
