//! Whole stories on the laboratory's API server, in virtual time.

mod common;
mod kubelet;
mod scale;
mod scheduler;
mod volumes;
mod workloads;
