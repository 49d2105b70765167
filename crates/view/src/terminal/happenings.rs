//! What happened, newest first.

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{fitted, width},
};
use crate::{
    amounts::clock,
    scene::{Happening, Kind, Scene},
};

/// Columns before what happened.
const INDENT: usize = 8;

/// Each happening in one line or, where there is room, with its reason in a second one.
pub(super) fn lines(
    scene: &Scene,
    columns: u16,
    roomy: bool,
    palette: Palette,
) -> Vec<Vec<Line<'static>>> {
    let columns = usize::from(columns);
    let told = |happening: &Happening| {
        let mut first = head(happening, columns, palette);
        let Happening { why, .. } = happening;
        let left = columns.saturating_sub(first.width());
        if why.is_empty() || (roomy && width(why) + 2 > left) {
            let room = columns.saturating_sub(INDENT);
            let second =
                Line::styled(format!("{:INDENT$}{}", "", fitted(why, room)), palette.quiet());
            return if why.is_empty() { vec![first] } else { vec![first, second] };
        }
        first.push_span(Span::styled(fitted(&format!("  {why}"), left), palette.quiet()));
        vec![first]
    };
    scene.happenings.iter().rev().map(told).collect()
}

/// When, to whom and what.
fn head(happening: &Happening, columns: usize, palette: Palette) -> Line<'static> {
    let (sign, style) = palette.sign(happening.kind);
    let subject = match happening.subject.as_str() {
        "" => String::new(),
        subject => format!("{} ", fitted(subject, 15)),
    };
    let room = columns.saturating_sub(INDENT + width(&subject));
    let what_style = if happening.kind == Kind::Story { Palette::strong() } else { style };
    let what = fitted(&happening.what, room.min(width(&happening.what)));
    Line::from(vec![
        Span::styled(format!("{} ", clock(happening.at)), palette.quiet()),
        Span::styled(format!("{sign} "), style),
        Span::raw(subject),
        Span::styled(what, what_style),
    ])
}
