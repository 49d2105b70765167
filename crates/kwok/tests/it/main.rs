//! The provider on the laboratory's API server, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")]

mod conformance;
mod provider;
mod stage;
