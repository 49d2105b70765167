//! What happened, newest first.

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{fitted, fitted_words, width, wrapped},
};
use crate::{
    amounts::clock,
    scene::{Happening, Kind, Scene},
};

/// Columns before what happened.
const INDENT: usize = 8;
/// Lines that most reasons take at most; all of each is among the details.
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
        // Why something goes is what people ask about most.
        let most = if happening.kind == Kind::Leaving { usize::MAX } else { REASON_LINES };
        if (roomy || most > REASON_LINES) && width(why) + 2 > left {
            let mut lines = vec![first];
            lines.extend(reason(why, columns, most).map(|line| line.style(palette.quiet())));
            return lines;
        }
        if !why.is_empty() {
            first.push_span(Span::styled(fitted_words(&format!("  {why}"), left), palette.quiet()));
        }
        vec![first]
    };
    scene.happenings.iter().rev().map(told).collect()
}

/// A reason below what happened, cut where it gets too long.
fn reason(why: &str, columns: usize, most: usize) -> impl Iterator<Item = Line<'static>> {
    let room = columns.saturating_sub(INDENT);
    let lines = wrapped(why, room);
    let cut = lines.len() > most;
    lines.into_iter().take(most).enumerate().map(move |(number, line)| {
        let more = if cut && number + 1 == most { " …" } else { "" };
        Line::from(format!("{:INDENT$}{}", "", fitted_words(&format!("{line}{more}"), room)))
    })
}

/// Time, subject and event.
fn head(happening: &Happening, columns: usize, palette: Palette) -> Line<'static> {
    let (sign, style) = palette.sign(happening.kind);
    let subject = match happening.subject.as_str() {
        "" => String::new(),
        subject => format!("{} ", fitted(subject, 15)),
    };
    let room = columns.saturating_sub(INDENT + width(&subject));
    let what_style = if happening.kind == Kind::Story { Palette::strong() } else { style };
    let what = fitted_words(&happening.what, room.min(width(&happening.what)));
    Line::from(vec![
        Span::styled(format!("{} ", clock(happening.at)), palette.quiet()),
        Span::styled(format!("{sign} "), style),
        Span::raw(subject),
        Span::styled(what, what_style),
    ])
}
