//! Stories of simulated clusters.

mod workloads;
