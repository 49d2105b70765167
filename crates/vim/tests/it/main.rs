//! The client against a server that says what a test tells it to say, in virtual time, and against the
//! vCenter simulator where `JOINER_VCSIM` names the program that `scripts/install-real-parts vcsim`
//! printed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod network;
mod questions;
mod real;
mod scripted;
mod sessions;
mod tagging;
mod tasks;
mod watching;
