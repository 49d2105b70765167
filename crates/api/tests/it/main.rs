//! Tests of the public types and CRDs: manifests in, manifests out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crds;
mod hostile;
mod leniency;
mod manifests;
