//! What was measured, for people.

use super::run::{Measured, Phase};
use crate::{
    bench::report::duration,
    text::{self, Align, BAD, Cell, Table},
};

/// The longest that an answer to a probe may take, in seconds.
const PROBE_SECONDS_MAX: f64 = 0.1;

/// The report: one line for each phase and program, so that programs stand below each other.
pub(super) fn render(results: &[Measured]) -> String {
    let right = |title| (title, Align::Right);
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("PHASE", Align::Left),
        ("PROGRAM", Align::Left),
        right("TIME"),
        right("LAST BOUND"),
        right("LAST RUNNING"),
        right("PODS"),
        right("NODES"),
        right("PRICE/H"),
        right("CPU"),
        right("MEMORY"),
        right("P95 RSS"),
        right("CORES"),
    ]);
    for (scenario, phase) in scenarios_and_phases(results) {
        for result in results.iter().filter(|result| result.scenario == scenario) {
            if let Some(found) = result.phases.iter().find(|found| found.name == phase) {
                table.row(cells(result, found));
            }
        }
    }
    let mut lines = vec![
        table.render().trim_end().to_owned(),
        String::new(),
        "CPU and MEMORY are what pods ask for of what a node has for them, on average over the \
         nodes; CORES is the controller's mean, RSS what it has in RAM, looked at every second."
            .to_owned(),
        "LAST BOUND and LAST RUNNING count from the load's coming, in Kubernetes' whole seconds."
            .to_owned(),
    ];
    lines.extend(results.iter().flat_map(remarks));
    lines.join("\n") + "\n"
}

/// Each phase of each scenario once, in the order in which they were measured.
fn scenarios_and_phases(results: &[Measured]) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for result in results {
        for phase in &result.phases {
            let one = (result.scenario, phase.name);
            if !found.contains(&one) {
                // A phase that only a later program came to is put behind its scenario's others.
                let after = found.iter().rposition(|(scenario, _)| *scenario == result.scenario);
                found.insert(after.map_or(found.len(), |index| index + 1), one);
            }
        }
    }
    found
}

fn cells(result: &Measured, phase: &Phase) -> [Cell; 13] {
    let fleet = phase.fleet.as_ref();
    let since = |seconds: Option<f64>| seconds.map(|s| format!("{s:.0} s")).unwrap_or_default();
    let time = match phase.unfinished {
        None => Cell::from(format!("{:.0} s", phase.seconds)),
        Some(_) => Cell::new(format!("> {:.0} s", phase.seconds), BAD),
    };
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    [
        result.scenario.into(),
        phase.name.into(),
        result.program.clone().into(),
        time,
        since(fleet.and_then(|fleet| fleet.last_bound_seconds)).into(),
        since(fleet.and_then(|fleet| fleet.last_running_seconds)).into(),
        fleet.map(|fleet| text::thousands(fleet.pods)).unwrap_or_default().into(),
        fleet.map(|fleet| text::thousands(fleet.nodes)).unwrap_or_default().into(),
        fleet.map(|fleet| text::price(fleet.price)).unwrap_or_default().into(),
        fleet.map(|fleet| percent(fleet.cpu_requested)).unwrap_or_default().into(),
        fleet.map(|fleet| percent(fleet.memory_requested)).unwrap_or_default().into(),
        mb(phase.usage.p95_bytes).into(),
        format!("{:.2}", phase.usage.mean_cores).into(),
    ]
}

/// As the figures that others give about Karpenter: millions of bytes.
fn mb(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

/// What a row of figures does not say.
fn remarks(result: &Measured) -> Vec<String> {
    let name = format!("{}, {}", result.scenario, result.program);
    let limit = result.memory_limit_bytes.map(|limit| format!(" of {} allowed", mb(limit)));
    let load = &result.under_load;
    let mut remarks = vec![format!(
        "{name}: under load {} p95 and {:.2} cores; at most {}{} at any moment.",
        mb(load.p95_bytes),
        load.mean_cores,
        mb(result.peak_bytes),
        limit.unwrap_or_default(),
    )];
    let probes = &result.probes;
    let slowest = duration(probes.slowest_seconds);
    let slow = probes.slowest_seconds > PROBE_SECONDS_MAX;
    remarks.push(format!(
        "{name}: {} of {} not answered well, the slowest answer took {}.",
        text::thousands(probes.failed),
        text::count(probes.asked, "probe"),
        if slow { text::styled(&slowest, BAD) } else { slowest },
    ));
    let again = result.restarts.iter().map(|why| ("was started again", why.as_str()));
    let ended = result.unfinished().map(|(phase, why)| (phase, format!("did not end: {why}")));
    remarks.extend(again.map(|(what, why)| bad(&name, &format!("{what}: {why}"))));
    remarks.extend(ended.map(|(phase, why)| bad(&name, &format!("{phase} {why}"))));
    remarks
}

fn bad(name: &str, what: &str) -> String {
    format!("{name}: {}", text::styled(what, BAD))
}
