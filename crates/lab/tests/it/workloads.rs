//! What the controllers of a cluster do, with a scheduler and kubelets that always do as told.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a story that cannot go on has failed, and its objects are written in place"
)]

mod budgets;
mod daemonsets;
mod deployments;
mod garbage;
mod jobs;
mod nodes;
mod stage;
mod statefulsets;
