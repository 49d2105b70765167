//! Objects together with their shape: comparing, merging, taking parts away.

mod compare;
mod fieldset;
mod merge;
mod remove;
mod validate;

pub(crate) use compare::{Comparison, Origin, compare};
pub(crate) use fieldset::{field_set, reconcile, with_named_fields};
pub(crate) use merge::merge;
pub(crate) use remove::remove;
pub(crate) use validate::{validate, validate_written};
