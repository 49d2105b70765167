//! What a cluster looks like.
//!
//! [`View`] takes note of API objects as they come, change and go, and says at any moment what the
//! cluster looks like: a [`Scene`](scene::Scene), which [`terminal`] draws and [`page`] serves to
//! browsers. Everything in a scene comes from Kubernetes objects, so it works for real and simulated
//! clusters. Only the [`site`] under the instances comes from a program with access to it. This crate
//! is independent of controllers and laboratories.

#![cfg_attr(
    test,
    expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")
)]

pub mod amounts;
mod happenings;
pub mod page;
pub mod prices;
pub mod scene;
pub mod site;
pub mod stage;
pub mod terminal;
#[cfg(test)]
mod testing;
mod timeline;
mod types;
mod view;

pub use view::{Change, Seen, Unreadable, View};
