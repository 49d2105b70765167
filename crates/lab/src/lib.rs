//! The laboratory: a cluster that lives in the process.
//!
//! The API server is [`joiner_apiserver`]'s; [`cluster`] is the rest of a cluster, as far as nodes
//! and pods need it. Everything goes by one clock and draws its chances from one seed.

pub mod chance;
pub mod cluster;
