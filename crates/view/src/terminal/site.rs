//! Hosts, datastores and virtual machines.

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{bar, fitted, width},
};
use crate::{
    amounts::{bytes, cores, count},
    scene::Amount,
    site::{Datastore, Host, Power, Site, VirtualMachine},
};

/// Columns of what an instance is doing.
const POWER: usize = 12;
/// Columns of a host's line besides its name, its zone and its bars: figures are never cut.
const FIGURES: usize = 2 + 1 + 5 + CPU + 5 + MEMORY + 7;
/// Columns of amounts of CPU and of memory.
const CPU: usize = 10;
const MEMORY: usize = 14;

/// The widths of columns; a column that is left out has a width of 0.
#[derive(Clone, Copy, Debug)]
struct Columns {
    name: usize,
    zone: usize,
    bar: usize,
}

impl Columns {
    fn of(site: &Site, columns: usize) -> Self {
        let hosts = site.hosts.iter().map(|host| width(&host.name));
        let name = hosts.chain(site.datastores.iter().map(|own| width(&own.name))).max();
        let zone = site.hosts.iter().map(|host| width(&host.zone) + 1).max().unwrap_or(0);
        let name = name.unwrap_or(0).min(columns.saturating_sub(FIGURES).max(8));
        let mut left = columns.saturating_sub(FIGURES + name);
        let bar = [10, 6].into_iter().find(|bar| 2 * bar + zone <= left);
        let bar = bar.or_else(|| Some(6).filter(|bar| 2 * bar <= left)).unwrap_or(0);
        left -= 2 * bar;
        Self { name, zone: if zone <= left { zone } else { 0 }, bar }
    }
}
/// Below this share a datastore is as good as full.
const LITTLE: f64 = 0.05;

/// How full the place is, for a title.
pub(super) fn title(site: &Site) -> String {
    format!(
        "{}: {}, {}, {}",
        site.name,
        count(site.hosts.len(), "host"),
        count(site.datastores.len(), "datastore"),
        count(site.instances.len(), "VM")
    )
}

/// One line for each host, each datastore and each virtual machine.
pub(super) fn lines(site: &Site, columns: u16, palette: Palette) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let widths = Columns::of(site, columns);
    let hosts = site.hosts.iter().map(|host| host_line(host, widths, palette));
    let stores = site.datastores.iter().map(|own| datastore_line(own, widths, palette));
    let instances = site.instances.iter();
    let instances = instances.map(|own| instance_line(own, widths, columns, palette));
    hosts.chain(stores).chain(instances).collect()
}

fn host_line(host: &Host, widths: Columns, palette: Palette) -> Line<'static> {
    let (sign, name) = if host.up { ("▪", palette.good()) } else { ("✗", palette.bad()) };
    let mut spans = vec![
        Span::styled(format!("{sign} {} ", fitted(&host.name, widths.name)), name),
        Span::styled(fitted(&host.zone, widths.zone), palette.quiet()),
    ];
    if !host.up {
        spans.push(Span::styled("does not answer", palette.bad()));
        return Line::from(spans);
    }
    let of = |amount: Amount, in_words: fn(f64) -> String| {
        format!(" {}/{} ", in_words(amount.requested), in_words(amount.total))
    };
    spans.extend(bar(host.cpu.share(), widths.bar, palette.cpu(), palette.quiet()));
    spans.push(Span::raw(format!("{:CPU$}", of(host.cpu, cores))));
    spans.extend(bar(host.memory.share(), widths.bar, palette.memory(), palette.quiet()));
    spans.push(Span::raw(format!("{:MEMORY$}", of(host.memory, bytes))));
    spans.push(Span::styled(count(host.instances, "VM"), palette.quiet()));
    Line::from(spans)
}

fn datastore_line(own: &Datastore, widths: Columns, palette: Palette) -> Line<'static> {
    let full = own.space.share() > 1.0 - LITTLE;
    let style = if full || !own.usable { palette.bad() } else { palette.good() };
    let free = bytes((own.space.total - own.space.requested).max(0.0));
    let says = match (own.usable, full) {
        (false, _) => "out of reach".to_owned(),
        (true, true) => format!("full: {free} free"),
        (true, false) => format!("{free} free"),
    };
    let mut spans = vec![
        Span::styled(format!("◫ {} ", fitted(&own.name, widths.name)), style),
        Span::raw(fitted("", widths.zone)),
    ];
    spans.extend(bar(own.space.share(), widths.bar, style, palette.quiet()));
    spans.push(Span::styled(format!(" {says}"), if full { style } else { palette.quiet() }));
    Line::from(spans)
}

fn instance_line(
    own: &VirtualMachine,
    widths: Columns,
    columns: usize,
    palette: Palette,
) -> Line<'static> {
    let style = match own.power {
        Power::Cloning | Power::Booting => palette.coming(),
        Power::On => palette.good(),
        Power::Off => palette.waits(),
    };
    let progress = own.progress.map(|percent| format!(" {percent}%")).unwrap_or_default();
    let doing = fitted(&format!("{}{progress}", own.power.word()), POWER);
    let place = format!("{} {}", fitted(&own.host, widths.name), own.datastore);
    let name = columns.saturating_sub(POWER + place.chars().count() + 5);
    Line::from(vec![
        Span::styled("▌", style),
        Span::raw(format!("{} ", fitted(&own.name, name))),
        Span::styled(format!("{doing} "), style),
        Span::styled(place, palette.quiet()),
    ])
}
