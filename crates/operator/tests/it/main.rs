//! What the controllers do to a cluster, on the laboratory and in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod consistency;
mod expiration;
mod garbage;
mod hydration;
mod lifecycle;
mod play;
mod pod_events;
mod registration_health;
mod stage;
