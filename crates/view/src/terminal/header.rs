//! The lines at the top and at the bottom.

use ratatui::{
    Frame,
    layout::{Alignment, Rect},
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{
    Palette,
    words::{fitted_words, width},
};
use crate::{
    amounts::{clock, price},
    scene::{Scene, Totals},
    stage::Stage,
};

/// The lines at the bottom take at most this part of a screen.
const LINES_SHARE: u16 = 6;

/// Name, time and figures.
pub(super) fn draw_top(
    frame: &mut Frame,
    area: Rect,
    scene: &Scene,
    stage: &Stage,
    palette: Palette,
) {
    let pace = if stage.held { " paused ".to_owned() } else { format!(" ×{} ", stage.pace()) };
    let pace_style = if stage.held { Palette::selected() } else { palette.quiet() };
    let left = Line::from(vec![
        Span::styled(format!(" {} ", stage.title), palette.brand()),
        Span::styled(format!(" {} ", clock(scene.now)), Palette::strong()),
        Span::styled(pace, pace_style),
    ]);
    let room = usize::from(area.width).saturating_sub(left.width() + 1);
    let right = figures(&scene.totals, palette, room);
    frame.render_widget(Paragraph::new(left), area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), area);
}

/// The chapter of the story, or what came of it.
pub(super) fn draw_chapter(frame: &mut Frame, area: Rect, stage: &Stage, palette: Palette) {
    let room = usize::from(area.width).saturating_sub(2);
    let line = match (&stage.summary, &stage.chapter) {
        (Some(summary), _) => {
            let text = fitted_words(summary, room.saturating_sub(1));
            Line::from(vec![Span::styled(" ★ ", palette.good()), Span::raw(text)])
        }
        (None, Some(chapter)) => {
            let title = format!(" {}/{} {} ", chapter.number, chapter.of, chapter.title);
            let rest = room.saturating_sub(width(&title));
            Line::from(vec![
                Span::styled(title, Palette::strong()),
                Span::styled(fitted_words(&chapter.text, rest), palette.quiet()),
            ])
        }
        (None, None) => Line::default(),
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// What keys do.
fn keys(stage: &Stage) -> String {
    let hold = if stage.held { "resume" } else { "pause" };
    format!(" q quit  p {hold}  +/- speed  tab ↑↓ select  esc clear")
}

/// The lines at the bottom beside and below the keys: how to get at the cluster. A path that is cut
/// is of no use, so that each is shown as a whole, on lines of its own where it has to be.
pub(super) fn bottom(stage: &Stage, area: Rect) -> Vec<String> {
    let columns = usize::from(area.width).saturating_sub(2);
    let mut room = columns.saturating_sub(width(&keys(stage)));
    let mut lines = vec![String::new()];
    let ways = [&stage.page, &stage.kubectl, &stage.vcenter].map(String::as_str);
    for way in ways.into_iter().filter(|way| !way.is_empty()) {
        let last = lines.len() - 1;
        let taken = if lines[last].is_empty() { 0 } else { width(&lines[last]) + 2 };
        if taken + width(way) <= room {
            if taken > 0 {
                lines[last].push_str("  ");
            }
            lines[last].push_str(way);
            continue;
        }
        room = columns;
        let signs: Vec<char> = way.chars().collect();
        lines.extend(signs.chunks(columns.max(1)).map(|piece| piece.iter().collect::<String>()));
    }
    lines.truncate(usize::from(area.height / LINES_SHARE).max(1));
    lines
}

/// Keys, and how to get at the cluster.
pub(super) fn draw_bottom(
    frame: &mut Frame,
    area: Rect,
    stage: &Stage,
    lines: &[String],
    palette: Palette,
) {
    frame.render_widget(Paragraph::new(Line::styled(keys(stage), palette.quiet())), area);
    let lines: Vec<Line<'_>> = lines.iter().map(|line| Line::raw(format!("{line} "))).collect();
    frame.render_widget(Paragraph::new(lines).alignment(Alignment::Right), area);
}

/// As many figures as there is room for.
fn figures(totals: &Totals, palette: Palette, room: usize) -> Line<'static> {
    let nodes = if totals.ready == 1 { "node" } else { "nodes" };
    // With how much they matter: what does not fit is left out from the end of that order.
    let figures = [
        (0, totals.waiting, "waiting", palette.waits()),
        (6, totals.starting, "starting", palette.waits()),
        (1, totals.running, "running", palette.good()),
        (5, totals.unready, "not ready", palette.bad()),
        (2, totals.ready, nodes, palette.good()),
        (4, totals.coming, "coming", palette.coming()),
        (3, totals.lost, "lost", palette.bad()),
        (7, totals.leaving, "leaving", palette.waits()),
    ];
    let price = format!("{}/h ", price(totals.price));
    let always = ["running", nodes];
    let mut most = 7;
    loop {
        let mut spans = Vec::new();
        for (rank, number, word, style) in figures {
            if rank <= most && (number > 0 || always.contains(&word)) {
                spans.push(Span::styled(number.to_string(), Palette::strong().patch(style)));
                spans.push(Span::raw(format!(" {word}  ")));
            }
        }
        spans.push(Span::styled(price.clone(), Palette::strong()));
        let line = Line::from(spans);
        if line.width() <= room || most == 0 {
            return line;
        }
        most -= 1;
    }
}
