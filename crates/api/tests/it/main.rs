//! Tests of the public types and CRDs: manifests in, manifests out.

mod crds;
mod hostile;
mod leniency;
mod manifests;
