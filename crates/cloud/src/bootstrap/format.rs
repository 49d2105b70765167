//! Formats: which one the user's text is in, and how it goes together with what is generated.

pub(crate) mod butane;
pub(crate) mod cloud_config;
pub(crate) mod detect;
pub(crate) mod ignition;
pub(crate) mod mergers;
pub(crate) mod mime;
