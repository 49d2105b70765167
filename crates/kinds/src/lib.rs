//! The kinds that Kubernetes has built in, as data and pure functions on JSON values.

mod fields;
pub mod table;
pub mod validate;
