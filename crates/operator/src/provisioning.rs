//! From pods that wait to claims: collect, plan, create.
//!
//! [`pass`] is the pure part: what a cluster's objects and its providers' types lead to. `batch`
//! decides when the next pass is due. `claim` writes a planned claim as an object. The loop that
//! does it all is [`Provisioner`].

mod batch;
pub(crate) mod claim;
pub mod pass;
mod provisioner;
pub(crate) mod telling;

pub use self::{
    batch::Triggers,
    provisioner::{Created, Provisioner},
};
