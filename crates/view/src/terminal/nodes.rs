//! Machines, under their pools.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::Widget as _,
};

use super::{
    Palette,
    words::{bar, fitted, width},
};
use crate::{
    amounts::{bytes, cores, count, price},
    scene::{Node, PodState, Pool, Scene},
};

/// The widths of a table's columns.
#[derive(Clone, Copy, Debug)]
struct Columns {
    name: usize,
    instance_type: usize,
    /// Whether there is room for each of these.
    price: bool,
    capacity_type: bool,
    zone: bool,
    bar: usize,
}

/// Columns of a phase.
const PHASE: usize = 8;
/// Columns of a zone.
const ZONE: usize = 13;

/// Pools and their machines, one line each, with the number of the machine that it is about.
pub(super) fn lines(
    scene: &Scene,
    columns: u16,
    palette: Palette,
) -> Vec<(Option<usize>, Line<'static>)> {
    let widths = Columns::of(scene, usize::from(columns));
    let mut lines = Vec::new();
    for pool in &scene.pools {
        lines.push((None, pool_line(pool, palette)));
        let own = scene.nodes.iter().enumerate().filter(|(_, node)| node.pool == pool.name);
        for (number, node) in own {
            lines.push((Some(number), node_line(node, widths, usize::from(columns), palette)));
        }
    }
    lines
}

/// Draws lines from the first that must be seen.
pub(super) fn draw(
    lines: &[(Option<usize>, Line<'static>)],
    selected: Option<usize>,
    first: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let rows = lines.iter().skip(first).zip(area.rows());
    for ((number, line), row) in rows {
        line.render(row, buffer);
        if number.is_some() && *number == selected {
            buffer.set_style(Rect { width: 1, ..row }, Palette::selected());
        }
    }
}

impl Columns {
    fn of(scene: &Scene, columns: usize) -> Self {
        let widest = |text: fn(&Node) -> &String, least, most| {
            let widest = scene.nodes.iter().map(|node| width(text(node))).max().unwrap_or(0);
            widest.clamp(least, most)
        };
        let name = widest(|node| &node.name, 8, if columns < 100 { 14 } else { 24 });
        let instance_type = widest(|node| &node.instance_type, 4, 20);
        let bar = match columns {
            150.. => 14,
            86.. => 8,
            _ => 6,
        };
        let (price, capacity_type, zone) = (columns >= 92, columns >= 106, columns >= 124);
        Self { name, instance_type, price, capacity_type, zone, bar }
    }
}

fn pool_line(pool: &Pool, palette: Palette) -> Line<'static> {
    let name = if pool.name.is_empty() { "no pool" } else { &pool.name };
    let limit = pool.cpu_limit.map(|limit| format!(" (limit {})", cores(limit)));
    let limit = limit.unwrap_or_default();
    let figures = if pool.nodes == 0 {
        format!("no nodes{limit}")
    } else {
        format!(
            "{}, {}, cpu {} of {}{limit}, memory {} of {}, {}/h",
            count(pool.nodes, "node"),
            count(pool.pods, "pod"),
            cores(pool.cpu.requested),
            cores(pool.cpu.total),
            bytes(pool.memory.requested),
            bytes(pool.memory.total),
            price(pool.price),
        )
    };
    Line::from(vec![
        Span::styled(format!("{name}  "), Palette::strong()),
        Span::styled(figures, palette.quiet()),
    ])
}

fn node_line(node: &Node, widths: Columns, columns: usize, palette: Palette) -> Line<'static> {
    let style = palette.phase(node.phase);
    // What is only planned is drawn as such.
    let (cpu, memory) = if node.phase.is_coming() {
        (palette.quiet(), palette.quiet())
    } else {
        (palette.cpu(), palette.memory())
    };
    let mut spans = vec![
        Span::styled("▌", style),
        Span::raw(format!("{} ", fitted(&node.name, widths.name))),
        Span::styled(format!("{} ", fitted(node.phase.word(), PHASE)), style),
        Span::raw(format!("{} ", fitted(&node.instance_type, widths.instance_type))),
    ];
    let more = [
        (widths.capacity_type, format!("{:9} ", node.capacity_type)),
        (widths.zone, format!("{} ", fitted(&node.zone, ZONE))),
        (widths.price, format!("{:>6} ", node.price.map(price).unwrap_or_default())),
    ];
    for (_, text) in more.into_iter().filter(|(has_room, _)| *has_room) {
        spans.push(Span::styled(text, palette.quiet()));
    }
    spans.extend(bar(node.cpu.share(), widths.bar, cpu, palette.quiet()));
    spans.push(Span::raw(" "));
    spans.extend(bar(node.memory.share(), widths.bar, memory, palette.quiet()));
    spans.push(Span::raw(" "));
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    spans.extend(pods(node, columns.saturating_sub(used), palette));
    Line::from(spans)
}

/// Its pods, one sign each, as many as there is room for.
fn pods(node: &Node, room: usize, palette: Palette) -> Vec<Span<'static>> {
    if node.phase.is_coming() {
        let planned = format!("for {}", count(node.planned_pods, "pod"));
        let fits = node.planned_pods > 0 && width(&planned) <= room;
        return if fits { vec![Span::styled(planned, palette.quiet())] } else { Vec::new() };
    }
    let signs = node.pods.iter().map(|pod| match (pod.daemon, pod.state) {
        (true, _) => ("·", palette.quiet()),
        (false, state @ PodState::Running) => ("■", palette.pod(state)),
        (false, state @ (PodState::Starting | PodState::Unready)) => ("□", palette.pod(state)),
        (false, state @ PodState::Ending) => ("×", palette.pod(state)),
    });
    let mut signs: Vec<Span<'static>> =
        signs.map(|(sign, style)| Span::styled(sign, style)).collect();
    if signs.len() > room {
        let shown = room.saturating_sub(4);
        let rest = format!("+{}", signs.len() - shown);
        signs.truncate(shown);
        if width(&rest) + shown <= room {
            signs.push(Span::styled(rest, palette.quiet()));
        }
    }
    signs
}
