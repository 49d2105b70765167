//! Pure decisions about instances.
//!
//! [`provision`] answers which instances the pods of a snapshot need, [`disrupt::disrupt`] which
//! instances are not needed or wrong, [`drain`](drain()) where the pods of instances go that somebody
//! wants gone. Nothing here knows of Kubernetes clients, files, clocks or async, and equal snapshots
//! give equal plans, in the same order.

pub mod disrupt;
mod drain;
pub mod explain;
pub mod overlay;
mod provision;
mod solve;
mod static_claim;
mod validate;
mod work;

pub use drain::{Moves, drain};
pub use provision::{Planned, Report, provision};
pub use static_claim::static_claim;
