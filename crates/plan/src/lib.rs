//! Pure decisions about instances.
//!
//! [`provision`] decides which instances the pods of a snapshot need. [`disrupt::disrupt`] decides which instances
//! are removed or replaced. [`drain`](drain()) predicts where the pods of drained instances go. Nothing here uses
//! Kubernetes clients, files, clocks or async. Equal snapshots give equal plans, in the same order.

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
