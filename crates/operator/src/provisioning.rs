//! From pending pods to claims: batch, plan, create.
//!
//! [`pass`] is pure: it turns the cluster's objects and the instance types into a plan. `batch`
//! decides when the next pass is due. `claim` converts a planned claim to an object.
//! [`Provisioner`] is the loop around them.

mod batch;
pub(crate) mod claim;
pub mod pass;
mod provisioner;
pub(crate) mod telling;

pub use self::{
    batch::Triggers,
    provisioner::{Created, Provisioner},
};
