//! Whole stories on the laboratory's API server, in virtual time.

mod common;
mod kubelet;
mod scheduler;
mod volumes;
