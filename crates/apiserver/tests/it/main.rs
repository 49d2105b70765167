//! What the API server answers.

mod face;
mod objects;
mod support;
