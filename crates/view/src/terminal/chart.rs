//! The cluster's CPU over time: what there is, and what is asked for.

use ratatui::{buffer::Buffer, layout::Rect};

use super::Palette;
use crate::scene::Sample;

/// Blocks that fill a cell by eighths.
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws the samples over the whole width, each column the moment at its right edge.
pub(super) fn draw(samples: &[Sample], palette: Palette, area: Rect, buffer: &mut Buffer) {
    let Some(last) = samples.last() else { return };
    let top = samples.iter().map(|sample| sample.totals.cpu.total).fold(1.0, f64::max);
    for column in 0..area.width {
        let at = last.at * f64::from(column + 1) / f64::from(area.width);
        let after = samples.partition_point(|sample| sample.at <= at);
        let Some(sample) = after.checked_sub(1).map(|index| &samples[index]) else { continue };
        let cells = |amount: f64| amount / top * f64::from(area.height);
        let (there, asked) = (cells(sample.totals.cpu.total), cells(sample.totals.cpu.requested));
        for row in 0..area.height {
            let above = asked - f64::from(row);
            let cell = &mut buffer[(area.x + column, area.bottom() - 1 - row)];
            let eighths = (above * 8.0).round().clamp(0.0, 8.0) as usize;
            if eighths > 0 {
                cell.set_symbol(EIGHTHS[eighths]).set_style(palette.cpu());
            } else if there - f64::from(row) > 0.5 {
                cell.set_symbol("░").set_style(palette.quiet());
            }
        }
    }
}
