//! What goes over the wire: elements that are read, values that are written, and the schema that
//! requests have to keep.

pub(crate) mod element;
pub(crate) mod schema;
pub(crate) mod value;
