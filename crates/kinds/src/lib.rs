//! The kinds that Kubernetes has built in, as data and as pure functions of JSON values: what the
//! API serves, what the types look like, and what becomes of an object on its way into the store.
//!
//! A new object goes through [`normalize`], [`default`], [`admit_create`], [`prepare_create`],
//! [`validate::create`] and [`admit_valid`], in this order; admission webhooks come after
//! [`admit_create`]. A change goes through [`normalize`], [`default`], [`prepare_update`] and
//! [`validate::update`]. Everything is exact to kube-apiserver 1.36 unless a `COMPAT:` comment says
//! otherwise.

mod decode;
mod default;
mod edit;
mod events;
mod fields;
mod prepare;
mod protobuf;
mod resource;
mod scale;
mod schema;
mod selectable;
pub mod table;
mod types;
pub mod validate;

pub use decode::{
    DecodeError, Decoded, as_sent, normalize, normalize_kind, normalize_merged, normalize_sent,
};
pub use default::default;
pub use events::{event_from_core, event_to_core};
pub use prepare::{
    Refusal, User, World, admit_create, admit_valid, as_written, bare_metadata, bind, grace_period,
    prepare_create, prepare_update, system_priority_classes,
};
pub use protobuf::from_protobuf;
pub use resource::{Resource, Subresource, find, find_kind, resources};
pub use scale::{scale, set_scale};
pub use schema::{schema, schema_named};
pub use selectable::{selectable_field, selectable_fields};
