//! Whole stories on the laboratory's API server, in virtual time.

mod common;
//! Stories of simulated clusters.

mod workloads;
mod kubelet;
mod scale;
mod scheduler;
mod volumes;
