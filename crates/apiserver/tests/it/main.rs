//! What the API server answers.

mod objects;
mod support;
