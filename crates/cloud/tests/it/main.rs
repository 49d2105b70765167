//! The text that makes a machine a worker, from outside: what goes in and what comes out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

mod butane;
mod distributions;
mod guest;
mod meeting;
mod merging;
mod proxies;
mod replace;
mod secrets;
mod shared;
mod sizes;
mod talos;
mod tokens;
mod trust;
