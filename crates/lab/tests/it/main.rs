mod common;
//! Stories of simulated clusters.

mod workloads;
