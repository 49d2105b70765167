//! The suite that providers run, on the cloud for tests: as it is, and with one flaw at a time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conformance;
mod flawed;
