//! The custom resources Joiner serves, as Rust types, and their CRDs.
