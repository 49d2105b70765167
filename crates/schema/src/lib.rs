//! What Kubernetes knows about the shape of an object: a [`Schema`], and what the API server does
//! with it (fill in defaults, drop what is unknown, refuse what is wrong, evaluate rules).
//!
//! The laboratory's API server uses one schema type for kinds that Kubernetes has built in and for
//! those that a CustomResourceDefinition adds. Everything here is a pure function of JSON values.

mod error;
pub mod meta;
pub mod names;
mod parse;
mod publish;
mod schema;
pub mod selector;
mod text;

pub use error::{ErrorKind, FieldError};
pub use schema::{Additional, ListType, Patch, Rule, Schema, Type};
