//! What the controllers do to a cluster, on the laboratory and in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anywhere;
mod bad_days;
mod consistency;
mod eviction;
mod expiration;
mod garbage;
mod hydration;
mod leaving;
mod lifecycle;
mod live;
mod play;
mod pod_events;
mod registration_health;
mod roles;
mod stage;
mod termination;
mod whole;
