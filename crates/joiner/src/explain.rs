//! `joiner explain`: why something is as it is, and what would have to change.

mod drain;
mod instance;
mod loaded;
mod near;
mod node;
mod nodes;
mod places;
mod pod;

use crate::{
    cli::Explain,
    errors::{Exit, Failure},
};

/// Runs `joiner explain`.
pub(crate) fn run(what: &Explain) -> Result<Exit, Failure> {
    match what {
        Explain::Pod(args) => pod::run(args),
        Explain::Node(args) => node::run(args),
        Explain::Nodes(args) => nodes::run(args),
        Explain::Drain(args) => drain::run(args),
    }
}
