//! XML as vCenters write it: read into small trees, written in the order of the schema.

mod element;
mod read;
mod write;

pub use element::Element;
pub(crate) use read::{Reader, Unreadable};
pub(crate) use write::Writer;
