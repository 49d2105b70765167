//! The provider on the laboratory's API server, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conformance;
mod provider;
mod stage;
