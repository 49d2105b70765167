//! Instances, under their pools.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::Widget as _,
};

use super::{
    Palette,
    words::{bar, fitted, width},
};
use crate::{
    amounts::{bytes, cores, count, price},
    scene::{Amount, Node, PodState, Pool, Scene},
};

/// The widths of a table's columns; none has a width of 0. Where there is little room, whole columns
/// are left out: a part of a number would be another number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Columns {
    name: usize,
    instance_type: usize,
    capacity_type: usize,
    zone: usize,
    price: usize,
    bar: usize,
}

/// Columns of a phase.
const PHASE: usize = 8;
/// Columns of a percentage with the blanks around it.
const PERCENT: usize = 6;
/// Columns that are kept for pods, enough for `for 12 pods`.
const PODS: usize = 11;
/// Columns of bars, from the shortest.
const BARS: [usize; 3] = [6, 8, 14];

/// Pools and their instances, one line each, with the number of the instance that it is about.
pub(super) fn lines(
    scene: &Scene,
    columns: u16,
    palette: Palette,
) -> Vec<(Option<usize>, Line<'static>)> {
    let columns = usize::from(columns);
    let widths = Columns::of(scene, columns);
    let mut lines = Vec::new();
    for pool in &scene.pools {
        lines.push((None, pool_line(pool, columns, palette)));
        let own = scene.nodes.iter().enumerate().filter(|(_, node)| node.pool == pool.name);
        for (number, node) in own {
            lines.push((Some(number), node_line(node, widths, columns, palette)));
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
    /// As many columns as there is room for, those first that matter most.
    fn of(scene: &Scene, columns: usize) -> Self {
        let widest = |text: fn(&Node) -> String| {
            scene.nodes.iter().map(|node| width(&text(node))).max().unwrap_or(0)
        };
        let always = 1 + PHASE + 1 + 2 * PERCENT + PODS;
        let name = widest(|node| node.name.clone()).clamp(8, columns.saturating_sub(always).max(8));
        let mut left = columns.saturating_sub(always + name + 1);
        let mut bar = 0;
        let mut longer_bars = |left: &mut usize, most: usize| {
            for next in BARS.into_iter().filter(|next| *next <= most) {
                if next > bar && 2 * (next - bar) <= *left {
                    *left -= 2 * (next - bar);
                    bar = next;
                }
            }
            bar
        };
        longer_bars(&mut left, BARS[0]);
        let mut column = |wanted: usize| {
            let fits = wanted > 0 && wanted < left;
            left -= if fits { wanted + 1 } else { 0 };
            if fits { wanted } else { 0 }
        };
        let instance_type = column(widest(|node| node.instance_type.clone()));
        let price = column(widest(price_of));
        let capacity_type = column(widest(|node| node.capacity_type.clone()));
        let zone = column(widest(|node| node.zone.clone()));
        let bar = longer_bars(&mut left, usize::MAX);
        Self { name, instance_type, capacity_type, zone, price, bar }
    }
}

fn price_of(node: &Node) -> String {
    node.price.map(price).unwrap_or_default()
}

fn pool_line(pool: &Pool, columns: usize, palette: Palette) -> Line<'static> {
    let name = if pool.name.is_empty() { "no pool" } else { &pool.name };
    let name = format!("{name}  ");
    let figures = pool_figures(pool, columns.saturating_sub(width(&name)));
    Line::from(vec![Span::styled(name, Palette::strong()), Span::styled(figures, palette.quiet())])
}

/// As many figures of a pool as there is room for.
fn pool_figures(pool: &Pool, room: usize) -> String {
    let of = |amount: Amount, in_words: fn(f64) -> String| {
        format!("{} of {}", in_words(amount.requested), in_words(amount.total))
    };
    let limit = pool.cpu_limit.map(|limit| format!("cpu limit {}", cores(limit)));
    // With how much they matter: what does not fit is left out from the end of that order.
    let figures = match pool.nodes {
        0 => vec![(0, "no nodes".to_owned()), (1, limit.unwrap_or_default())],
        nodes => vec![
            (0, count(nodes, "node")),
            (4, count(pool.pods, "pod")),
            (1, format!("cpu {}", of(pool.cpu, cores))),
            (2, format!("memory {}", of(pool.memory, bytes))),
            (3, format!("{}/h", price(pool.price))),
            (5, limit.unwrap_or_default()),
        ],
    };
    let most_of = |most: usize| {
        let kept = figures.iter().filter(|(rank, text)| *rank <= most && !text.is_empty());
        kept.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    };
    let fits = (0..=5).rev().map(most_of).find(|text| width(text) <= room);
    fits.unwrap_or_else(|| most_of(0))
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
    ];
    let more = [
        (widths.instance_type, node.instance_type.clone(), Style::new()),
        (widths.capacity_type, node.capacity_type.clone(), palette.quiet()),
        (widths.zone, node.zone.clone(), palette.quiet()),
        (widths.price, format!("{:>1$}", price_of(node), widths.price), palette.quiet()),
    ];
    for (columns, text, style) in more.into_iter().filter(|(columns, ..)| *columns > 0) {
        spans.push(Span::styled(format!("{} ", fitted(&text, columns)), style));
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
