//! What happened, newest first.

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{fitted, width, wrapped},
};
use crate::{
    amounts::clock,
    scene::{Happening, Kind, Scene},
};

/// Columns before what happened.
const INDENT: usize = 8;
/// Lines that a reason takes at most; all of it is among the details.
const REASON_LINES: usize = 2;

/// Each happening in one line or, where there is room, with its reason in lines of its own.
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
        if roomy && width(why) + 2 > left {
            let mut lines = vec![first];
            lines.extend(reason(why, columns).map(|line| line.style(palette.quiet())));
            return lines;
        }
        if !why.is_empty() {
            first.push_span(Span::styled(fitted(&format!("  {why}"), left), palette.quiet()));
        }
        vec![first]
    };
    scene.happenings.iter().rev().map(told).collect()
}

/// A reason below what happened, cut where it gets too long.
fn reason(why: &str, columns: usize) -> impl Iterator<Item = Line<'static>> {
    let room = columns.saturating_sub(INDENT);
    let lines = wrapped(why, room);
    let cut = lines.len() > REASON_LINES;
    lines.into_iter().take(REASON_LINES).enumerate().map(move |(number, line)| {
        let more = if cut && number + 1 == REASON_LINES { " …" } else { "" };
        Line::from(format!("{:INDENT$}{}", "", fitted(&format!("{line}{more}"), room)))
    })
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
