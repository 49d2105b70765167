//! References to what is in a vCenter's inventory.

use std::fmt::{self, Display, Formatter};

/// A reference to a managed object: what kind of thing it is, and the name that the server gave it.
///
/// Stable as long as the object lives; meaningless in another vCenter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoRef {
    /// The managed object's type, `VirtualMachine`.
    pub kind: String,
    /// The server's name for it, `vm-42`.
    pub id: String,
}

impl MoRef {
    /// A reference of its two parts.
    pub fn new(kind: impl Into<String>, id: impl Into<String>) -> Self {
        Self { kind: kind.into(), id: id.into() }
    }
}

impl Display for MoRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}
