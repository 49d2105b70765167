//! What the API server does with changes: live object and patch in, result out.

mod apply;
mod json_patch;
mod managed;
mod merge_patch;
mod properties;
mod recorded;
mod strategic;
mod support;
