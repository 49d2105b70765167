//! The client against a server that says what a test tells it to say, in virtual time, what classes
//! come to, and the provider against a simulated management server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_pass_by_value, reason = "values of tests are made for one call")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")]

mod bad_input;
mod bench;
mod class;
mod cloud;
mod conformance;
mod crashes;
mod instances;
mod jobs;
mod launching;
mod requests;
mod resolving;
mod scripted;
mod user_data;
