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

/// One line for each happening.
pub(super) fn lines(scene: &Scene, columns: u16, palette: Palette) -> Vec<Line<'static>> {
    let line = |happening: &Happening| {
        let (sign, style) = palette.sign(happening.kind);
        let at = format!("{} ", clock(happening.at));
        let subject = if happening.subject.is_empty() {
            String::new()
        } else {
            format!("{} ", fitted(&happening.subject, 15))
        };
        let used = width(&at) + 2 + width(&subject);
        let room = usize::from(columns).saturating_sub(used);
        let what_style = if happening.kind == Kind::Story { palette.strong() } else { style };
        let what = fitted(&happening.what, room.min(width(&happening.what)));
        let why =
            if happening.why.is_empty() { String::new() } else { format!("  {}", happening.why) };
        let why = fitted(&why, room.saturating_sub(width(&what)));
        Line::from(vec![
            Span::styled(at, palette.quiet()),
            Span::styled(format!("{sign} "), style),
            Span::raw(subject),
            Span::styled(what, what_style),
            Span::styled(why, palette.quiet()),
        ])
    };
    scene.happenings.iter().rev().map(line).collect()
}
