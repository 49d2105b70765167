//! What hosts have, what runs on them, and where another instance fits.
//!
//! One resource list of a region says what runs, containers among it. [`topology`] is what is known
//! of a host's processors, [`host`] counts, [`packed`] chooses CPUs for an instance of its own, and
//! [`placement`] puts zones in the order in which they are tried.

pub mod cpu_set;
pub mod host;
pub mod packed;
pub mod pinning;
pub mod placement;
pub mod region;
pub mod rows;
pub mod storage;
pub mod topology;
