//! What a provider may answer instead of what it was asked for.

/// Why a provider did not do what it was asked for. The kind decides what the operator does next.
///
/// There is no kind for "not found": where an instance may be gone, the answer says so
/// ([`Deletion::Gone`](crate::Deletion::Gone), `None` of [`get`](crate::CloudProvider::get)), and an
/// error never means it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// There is no room for this instance now. The claim is given up, its pods are planned again,
    /// and the provider does not offer the same for a while.
    #[error("{0}")]
    InsufficientCapacity(String),
    /// The class cannot be used now. The claim is given up.
    #[error("{0}")]
    NodeClassNotReady(String),
    /// The instance cannot be made as things are; it is tried again. The reason is a `CamelCase`
    /// word that the claim's condition shows.
    #[error("{message}")]
    Create {
        /// For programs.
        reason: &'static str,
        /// For people: the object, the field, the remedy.
        message: String,
    },
    /// A setting or a class is wrong in a way that trying again does not mend.
    #[error("{0}")]
    Invalid(String),
    /// The cloud did not answer in time, or with something that makes no sense. It is not known
    /// whether the call had an effect.
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
