//! A real control plane for tests, a simulated vCenter, and the comparison of two API servers.
//!
//! [`control_plane`] starts etcd and Kubernetes' own programs on loopback and stops them again;
//! [`vcsim`] does the same with govmomi's vCenter simulator.
//! The rest asks two servers the same questions and says where their answers differ: [`generate`]
//! makes the questions out of a seed, [`compare`] asks them in lockstep, [`normal`] takes out what
//! no two servers have in common (identifiers, versions, times), [`diff`] finds what remains, and
//! [`report`] shows each kind of difference once.

pub mod accepted;
pub mod compare;
pub mod control_plane;
pub mod diff;
mod disputed;
pub mod exchange;
pub mod generate;
pub mod http;
pub mod memory;
pub mod normal;
pub mod report;
pub mod vcsim;
