//! What the API server answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail where they are wrong")]

mod face;
mod fuzz;
mod likeness;
mod objects;
mod support;
