//! What the API server (1.36.3) answered, and what this crate says.
//!
//! The fixtures were recorded from a running kube-apiserver: schemas, objects, and the causes of its
//! Status. Their order follows Go's maps there, so both sides are compared sorted.

mod fuzz;
mod meta;
mod schemas;
mod selectors;

use joiner_schema::FieldError;

/// Errors as text, sorted.
fn texts(errors: &[FieldError]) -> Vec<String> {
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}
