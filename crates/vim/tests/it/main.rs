//! The client against a server that says what a test tells it to say, in virtual time.

mod network;
mod questions;
mod scripted;
mod sessions;
mod tagging;
mod tasks;
mod watching;
