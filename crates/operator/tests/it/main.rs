//! What the controllers do to a cluster, on the laboratory and in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod eviction;
mod hydration;
mod leaving;
mod stage;
mod termination;
