//! The comparison as a whole. What needs a real control plane runs where `JOINER_CONTROL_PLANE`
//! names a file with what `scripts/install-real-parts control-plane kwok` printed.

mod canned;
mod comparison;
mod generator;
mod real;
mod real_cluster;
