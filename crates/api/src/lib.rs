//! The custom resources Joiner serves, as Rust types, and their CRDs.
//!
//! One module per kind. The types are lenient: whatever was ever optional on the wire is optional
//! here, `null` means absent, unknown fields are ignored, and words such as operators and policies
//! stay text, so that an object which an older or newer CRD accepted can always be read. The rules
//! a new object must keep are in the CRDs, which [`crd::crds`] generates from the same types.

pub mod capacity_buffer;
pub mod condition;
pub mod crd;
pub mod duration;
pub mod facts;
pub mod hash;
pub mod kwok_node_class;
pub mod node_claim;
pub mod node_class_reference;
pub mod node_overlay;
pub mod node_pool;
pub mod requirement;
pub mod schema;

mod null;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Amounts by resource name, as Kubernetes writes them.
pub type ResourceList = BTreeMap<String, Quantity>;
