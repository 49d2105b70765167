//! Reading XML.

/// An answer that is no XML, or breaks off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub(crate) String);
pub(crate) struct Reader;
