//! What Kubernetes knows about the shape of an object: a [`Schema`], and what the API server does
//! with it (fill in defaults, drop what is unknown, refuse what is wrong, evaluate rules).
//!
//! The laboratory's API server uses one schema type for kinds that Kubernetes has built in and for
//! those that a CustomResourceDefinition adds. Everything here is a pure function of JSON values.

mod cel;
mod correlate;
mod crd;
mod defaults;
mod error;
mod formats;
pub mod meta;
pub mod names;
mod parse;
mod path;
mod prune;
mod publish;
mod regexes;
mod schema;
pub mod selector;
mod structural;
mod text;
mod time;
mod url;
mod validate;

pub use defaults::{apply_defaults, fill_defaults};
pub use error::{ErrorKind, FieldError};
pub use prune::prune;
pub use schema::{Additional, ListType, Patch, Rule, Schema, Type};
pub use text::go_word;
pub use validate::{Validator, validate};
