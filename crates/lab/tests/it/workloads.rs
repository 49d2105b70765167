//! What the controllers of a cluster do, with a scheduler and kubelets that always do as told.

mod budgets;
mod daemonsets;
mod deployments;
mod garbage;
mod jobs;
mod nodes;
mod stage;
mod statefulsets;
