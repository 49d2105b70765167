//! What this program was built from.

use joiner_operator::metrics::{Build, Registry};

use crate::errors::{Failure, chain};

/// What `joiner --version` says: the version, and the commit or `unknown`.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("JOINER_BUILT_FROM"), ")");

/// What this program was built from.
pub(crate) const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    architecture: std::env::consts::ARCH,
    compiler: concat!("rust", env!("CARGO_PKG_RUST_VERSION")),
    commit: env!("JOINER_BUILT_FROM"),
};

/// A page of metrics that says so.
pub(crate) fn metrics_page() -> Result<Registry, Failure> {
    Registry::new(&BUILD).map_err(|error| Failure::Ended(chain(&error)))
}
