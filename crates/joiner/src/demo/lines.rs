//! What happens, a line each, for logs and tests.

use joiner_view::{
    amounts::clock,
    scene::{Happening, Kind},
};

use crate::{errors::Failure, output};

/// Prints what happened, a line each.
pub(super) fn print(news: &[Happening]) -> Result<(), Failure> {
    news.iter().try_for_each(|happening| output::text(&line(happening)))
}

fn line(happening: &Happening) -> String {
    let Happening { at, kind, subject, what, why, .. } = happening;
    let colon = if why.is_empty() { "" } else { ": " };
    format!("{}  {:<9} {subject:<20} {what}{colon}{why}\n", clock(*at), word(*kind))
}

/// What kind of thing happened, in one word.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Story => "story",
        Kind::Arrived => "arrived",
        Kind::Refused => "refused",
        Kind::Asked => "asked",
        Kind::Launched => "launched",
        Kind::Thwarted => "thwarted",
        Kind::Ready => "ready",
        Kind::Lost => "lost",
        Kind::Back => "back",
        Kind::Moved => "moved",
        Kind::Leaving => "leaving",
        Kind::Gone => "gone",
        Kind::Settled => "settled",
    }
}
