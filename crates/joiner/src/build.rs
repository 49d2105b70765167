//! What this program was built from.

use joiner_operator::metrics::{Build, Registry};

use crate::errors::{Failure, chain};

/// What this program was built from.
pub(crate) const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    architecture: std::env::consts::ARCH,
    compiler: concat!("rust", env!("CARGO_PKG_RUST_VERSION")),
    commit: match option_env!("JOINER_COMMIT") {
        Some(commit) => commit,
        None => "unknown",
    },
};

/// A page of metrics that says so.
pub(crate) fn metrics_page() -> Result<Registry, Failure> {
    Registry::new(&BUILD).map_err(|error| Failure::Ended(chain(&error)))
}
