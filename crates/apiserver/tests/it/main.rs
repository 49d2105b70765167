//! What the API server answers.

mod face;
mod fuzz;
mod likeness;
mod objects;
mod support;
