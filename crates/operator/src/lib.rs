//! From Kubernetes objects to a snapshot.
//!
//! [`files`] reads the output of `kubectl get -o yaml|json`. [`objects`] holds the objects typed
//! and validated. [`index`] converts them to the planner's types. Only the index decides three
//! things: which Node and `NodeClaim` are one instance, what a pod requests, and where its volumes
//! can attach.
//!
//! This crate knows no cloud: the caller provides the catalog of instance types.

#![cfg_attr(
    test,
    expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so"),
    expect(clippy::needless_pass_by_value, reason = "expectations are made for one call")
)]

pub mod answers;
mod attempts;
pub mod budgets;
pub mod buffers;
pub mod catalog;
pub mod claim_creation;
pub mod claims;
pub mod classes;
pub mod clocks;
pub mod cloud_calls;
pub mod cloud_clusters;
pub mod cluster;
pub mod conditions;
pub mod consistency;
pub mod context;
pub mod controller;
mod definitions;
pub mod disrupted;
pub mod disruption;
pub mod disruption_conditions;
pub mod engine;
pub mod events;
pub mod eviction;
pub mod expiration;
pub mod files;
pub mod garbage;
mod hashes;
pub mod hydration;
pub mod identity;
pub mod index;
pub mod inputs;
pub mod introduction;
pub mod lease;
pub mod lifecycle;
pub mod live;
pub mod log;
pub mod marks;
pub mod measuring;
pub mod metrics;
pub mod node_ids;
pub mod notes;
pub mod objects;
pub mod observability;
mod offload;
pub mod overlays;
pub mod pod_events;
pub mod pods;
pub mod pools;
pub mod probes;
pub mod provisioning;
pub mod queue;
pub mod random;
mod reboot;
pub mod registration_health;
pub mod repair;
pub mod rounds;
pub mod settings;
pub mod settlement;
pub mod static_pools;
pub mod stop;
pub mod termination;
pub mod text;
pub mod throttle;
pub mod trouble;
pub mod updates;
mod validate;
pub mod workloads;
pub mod world;
