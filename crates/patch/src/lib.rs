//! How the API server changes objects, as pure functions of JSON values: JSON patch, merge patch,
//! strategic merge patch, server-side apply, and who owns which field.
//!
//! Results and error texts are those of kube-apiserver 1.36, including its departures from the
//! standards it follows: clients see them, so the laboratory has them too.
//!
//! A write goes through this crate in the order in which the API server does it:
//!
//! 1. [`json_patch`], [`merge_patch`] or [`strategic_merge`] makes the new object from the live one
//!    (a create or an update brings it along);
//! 2. [`track_update`] writes down in `metadata.managedFields` what changed and who changed it; it
//!    comes before admission, so fields that admission adds have no owner;
//! 3. [`keep_timestamps`], right before storing, undoes times where nothing else changed.
//!
//! [`apply`] does the first two in one step, because ownership decides what it merges.

mod apply;
mod error;
mod fields;
mod go;
mod json_patch;
mod last_applied;
mod managed;
mod merge_patch;
mod shape;
mod strategic;
mod timestamps;
mod typed;
mod update;

pub use apply::{Applied, apply};
pub use error::{Cause, PatchError};
pub use fields::{FieldSet, PathElement, path_text};
pub use json_patch::{JsonPatched, json_patch};
pub use merge_patch::merge_patch;
pub use strategic::{strategic_merge, strategic_remainder};
pub use timestamps::keep_timestamps;
pub use update::{Endpoint, track_update};
