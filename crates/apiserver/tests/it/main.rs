//! What the API server answers.

mod fuzz;
mod likeness;
mod objects;
mod support;
