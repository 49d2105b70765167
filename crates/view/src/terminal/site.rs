//! Hosts, datastores and virtual machines.

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{bar, fitted},
};
use crate::{
    amounts::{bytes, cores, count},
    scene::Amount,
    site::{Datastore, Host, Power, Site, VirtualMachine},
};

/// Columns of the name of a host or datastore, of a zone, and of what a machine is doing.
const NAME: usize = 12;
const ZONE: usize = 6;
const POWER: usize = 12;
/// Below this share a datastore is as good as full.
const LITTLE: f64 = 0.05;

/// How full the place is, for a title.
pub(super) fn title(site: &Site) -> String {
    format!(
        "{}: {}, {}, {}",
        site.name,
        count(site.hosts.len(), "host"),
        count(site.datastores.len(), "datastore"),
        count(site.machines.len(), "VM")
    )
}

/// One line for each host, each datastore and each virtual machine.
pub(super) fn lines(site: &Site, columns: u16, palette: Palette) -> Vec<Line<'static>> {
    let bars = if columns >= 86 { 10 } else { 6 };
    let hosts = site.hosts.iter().map(|host| host_line(host, bars, palette));
    let stores = site.datastores.iter().map(|own| datastore_line(own, bars, palette));
    let machines = site.machines.iter();
    let machines = machines.map(|own| machine_line(own, usize::from(columns), palette));
    hosts.chain(stores).chain(machines).collect()
}

fn host_line(host: &Host, bars: usize, palette: Palette) -> Line<'static> {
    let (sign, name) = if host.up { ("▪", palette.good()) } else { ("✗", palette.bad()) };
    let mut spans = vec![
        Span::styled(format!("{sign} {} ", fitted(&host.name, NAME)), name),
        Span::styled(format!("{} ", fitted(&host.zone, ZONE)), palette.quiet()),
    ];
    if !host.up {
        spans.push(Span::styled("does not answer", palette.bad()));
        return Line::from(spans);
    }
    let of = |amount: Amount, in_words: fn(f64) -> String| {
        format!(" {}/{} ", in_words(amount.requested), in_words(amount.total))
    };
    spans.extend(bar(host.cpu.share(), bars, palette.cpu(), palette.quiet()));
    spans.push(Span::raw(format!("{:10}", of(host.cpu, cores))));
    spans.extend(bar(host.memory.share(), bars, palette.memory(), palette.quiet()));
    spans.push(Span::raw(format!("{:14}", of(host.memory, bytes))));
    spans.push(Span::styled(count(host.machines, "VM"), palette.quiet()));
    Line::from(spans)
}

fn datastore_line(own: &Datastore, bars: usize, palette: Palette) -> Line<'static> {
    let full = own.space.share() > 1.0 - LITTLE;
    let style = if full || !own.usable { palette.bad() } else { palette.good() };
    let free = bytes((own.space.total - own.space.requested).max(0.0));
    let says = match (own.usable, full) {
        (false, _) => "out of reach".to_owned(),
        (true, true) => format!("full: {free} free"),
        (true, false) => format!("{free} free"),
    };
    let mut spans = vec![
        Span::styled(format!("◫ {} ", fitted(&own.name, NAME)), style),
        Span::styled(format!("{} ", fitted("", ZONE)), palette.quiet()),
    ];
    spans.extend(bar(own.space.share(), bars, style, palette.quiet()));
    spans.push(Span::styled(format!(" {says}"), if full { style } else { palette.quiet() }));
    Line::from(spans)
}

fn machine_line(own: &VirtualMachine, columns: usize, palette: Palette) -> Line<'static> {
    let style = match own.power {
        Power::Cloning | Power::Booting => palette.coming(),
        Power::On => palette.good(),
        Power::Off => palette.waits(),
    };
    let progress = own.progress.map(|percent| format!(" {percent}%")).unwrap_or_default();
    let doing = fitted(&format!("{}{progress}", own.power.word()), POWER);
    let place = format!("{} {}", fitted(&own.host, NAME), own.datastore);
    let name = columns.saturating_sub(POWER + place.chars().count() + 5);
    Line::from(vec![
        Span::styled("▌", style),
        Span::raw(format!("{} ", fitted(&own.name, name))),
        Span::styled(format!("{doing} "), style),
        Span::styled(place, palette.quiet()),
    ])
}
