//! The client against a server that says what a test tells it to say, in virtual time, and what
//! classes come to.

mod jobs;
mod requests;
mod scripted;
