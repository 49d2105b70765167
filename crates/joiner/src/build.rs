//! What this program was built from.

use joiner_operator::metrics::Build;

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
