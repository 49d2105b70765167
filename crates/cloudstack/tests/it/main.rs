//! The client against a server that says what a test tells it to say, in virtual time, and what
//! classes come to.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_pass_by_value, reason = "values of tests are made for one call")]

mod jobs;
mod requests;
mod scripted;
