//! The custom resources of Joiner, as Rust types with their CRDs.
//!
//! There is one module for each kind. The types are lenient. A field that was ever optional in the API is optional
//! here, `null` means absent, and unknown fields are ignored. Operators and policies are plain text. So every
//! object that an older or newer CRD accepted can be read. The rules for new objects are in the CRDs, which
//! [`crd::crds`] generates from the same types.

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

/// Amounts by resource name, in the notation of Kubernetes.
pub type ResourceList = BTreeMap<String, Quantity>;
