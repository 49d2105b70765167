//! What the controllers do to a cluster, on the laboratory and in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anywhere;
mod bad_days;
mod buffers;
mod calm;
mod classes;
mod cloud_clusters;
mod consistency;
mod disruption;
mod disruption_conditions;
mod end_to_end;
mod eviction;
mod expiration;
mod feeds;
mod figures;
mod garbage;
mod hydration;
mod identity;
mod inputs;
mod leaving;
mod lifecycle;
mod live;
mod migration;
mod node_ids;
mod notes;
mod overlays;
mod play;
mod pod_events;
mod pool_budgets;
mod pools;
mod registration_health;
mod repair;
mod roles;
mod stage;
mod static_pools;
mod templates;
mod termination;
mod updates;
mod whole;
