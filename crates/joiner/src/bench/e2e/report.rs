//! What was measured, for people.

use super::{
    controller::Program,
    phases::{IDLE, Measured, Phase, SCALE_IN, SCALE_OUT},
};
use crate::{
    bench::{
        report::duration,
        scenarios::{Limit, fleet::Fleet},
    },
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
        right("BOUND PODS"),
        right("NODES"),
        right("PRICE/H"),
        right("CPU"),
        right("MEMORY"),
        right("EVICTIONS"),
        right("COMMANDS"),
        right("P95 RSS"),
        right("CORES"),
    ]);
    for (scenario, phase) in scenarios_and_phases(results) {
        for result in results.iter().filter(|result| result.scenario == scenario) {
            if let Some(found) = result.phase(phase) {
                table.row(cells(result, found));
            }
        }
        let mut same = results.iter().filter(|result| result.scenario == scenario);
        if let Some(limit) = same.find_map(|result| result.phase(phase)?.limit) {
            table.row(limit_cells(scenario, phase, limit));
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
    if results.iter().flat_map(|result| &result.phases).any(|phase| phase.limit.is_some()) {
        lines.push("(limit) is what Karpenter's performance suite allows Karpenter.".to_owned());
    }
    let mut ways: Vec<String> = results.iter().map(what_happened_then).collect();
    // Both programs are asked the same.
    ways.dedup();
    lines.extend(ways);
    lines.extend(results.iter().flat_map(remarks));
    lines.extend(pairs(results).into_iter().flat_map(|(ours, theirs)| worse(ours, theirs)));
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

fn cells(result: &Measured, phase: &Phase) -> [Cell; 15] {
    let fleet = phase.fleet.as_ref();
    // A phase that was over before it was looked at twice tells nothing.
    let usage = (phase.usage.samples > 1).then_some(phase.usage);
    let since = |seconds: Option<f64>| seconds.map(|s| format!("{s:.0} s")).unwrap_or_default();
    let time = match phase.unfinished {
        None => Cell::from(format!("{:.0} s", phase.seconds)),
        Some(_) => Cell::new(format!("> {:.0} s", phase.seconds), BAD),
    };
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let nodes = fleet.filter(|fleet| fleet.nodes > 0);
    [
        result.scenario.into(),
        phase.name.into(),
        result.program.clone().into(),
        time,
        since(fleet.and_then(|fleet| fleet.last_bound_seconds)).into(),
        since(fleet.and_then(|fleet| fleet.last_running_seconds)).into(),
        fleet.map(|fleet| text::thousands(fleet.pods)).unwrap_or_default().into(),
        fleet.map(|fleet| text::thousands(fleet.nodes)).unwrap_or_default().into(),
        nodes.map(|fleet| text::price(fleet.price)).unwrap_or_default().into(),
        nodes.map(|fleet| percent(fleet.cpu_requested)).unwrap_or_default().into(),
        nodes.map(|fleet| percent(fleet.memory_requested)).unwrap_or_default().into(),
        phase.moved.map(|moved| text::thousands(moved.evictions)).unwrap_or_default().into(),
        phase.moved.map(|moved| text::thousands(moved.commands)).unwrap_or_default().into(),
        usage.map(|usage| mb(usage.p95_bytes)).unwrap_or_default().into(),
        usage.map(|usage| cores(usage.mean_cores)).unwrap_or_default().into(),
    ]
}

/// What Karpenter's suite allows Karpenter.
fn limit_cells(scenario: &str, phase: &str, limit: Limit) -> [Cell; 15] {
    let mut cells = std::array::from_fn(|_| Cell::from(String::new()));
    cells[0] = scenario.to_owned().into();
    cells[1] = phase.to_owned().into();
    cells[2] = "(limit)".to_owned().into();
    cells[3] = format!("{} s", whole(limit.seconds)).into();
    cells[13] = format!("{} MB", limit.p95_megabytes).into();
    cells[14] = cores(limit.mean_cores).into();
    cells
}

/// As the figures that others give about Karpenter: millions of bytes.
fn mb(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

fn what_happened_then(result: &Measured) -> String {
    format!("{}: once all pods run: {}.", result.scenario, result.then)
}

/// What a row of figures does not say.
fn remarks(result: &Measured) -> Vec<String> {
    let name = format!("{}, {}", result.scenario, result.program);
    let limit = result.memory_limit_bytes.map(|limit| format!(" of {} allowed", mb(limit)));
    let load = &result.under_load;
    let peak = format!("{}{}", mb(result.peak_bytes), limit.unwrap_or_default());
    let mut remarks = vec![format!(
        "{name}: under load {} p95 and {:.2} cores; at most {} at any moment.",
        mb(load.p95_bytes),
        load.mean_cores,
        if result.exceeds_its_memory() { text::styled(&peak, BAD) } else { peak },
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
    // Logs are kept; the last end is told at length.
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let again = result.restarts.iter().map(|why| format!("was started again: {}", first_line(why)));
    let ended = result.unfinished().map(|(phase, why)| format!("{phase} did not end: {why}"));
    remarks.extend(again.chain(ended).map(|what| bad(&name, &what)));
    remarks
}

fn bad(name: &str, what: &str) -> String {
    format!("{name}: {}", text::styled(what, BAD))
}

/// Scenarios that both programs ran: ours and theirs.
fn pairs(results: &[Measured]) -> Vec<(&Measured, &Measured)> {
    let of = |program: Program| {
        let name = program.to_string();
        results.iter().filter(move |result| result.program == name)
    };
    let other =
        |ours: &Measured| of(Program::Karpenter).find(|theirs| theirs.scenario == ours.scenario);
    of(Program::Joiner).filter_map(|ours| Some((ours, other(ours)?))).collect()
}

/// What Karpenter did better. A figure that either does not have is not compared.
fn worse(ours: &Measured, theirs: &Measured) -> Vec<String> {
    type Figure = (&'static str, fn(&Measured) -> Option<f64>, fn(f64) -> String);
    let figures: [Figure; 10] = [
        ("nodes", |one| Some(fleet(one)?.nodes as f64), whole),
        ("price per hour", |one| Some(fleet(one)?.price), text::price),
        ("seconds to the last bound pod", |one| fleet(one)?.last_bound_seconds, whole),
        (
            "price per hour after scale-in",
            |one| Some(one.phase(SCALE_IN)?.fleet.as_ref()?.price),
            text::price,
        ),
        ("evictions", |one| Some(one.phase(SCALE_IN)?.moved?.evictions as f64), whole),
        ("seconds of scale-in", |one| Some(one.phase(SCALE_IN)?.seconds), whole),
        ("p95 memory under load", |one| Some(one.under_load.p95_bytes as f64), megabytes),
        ("cores under load", |one| Some(one.under_load.mean_cores), cores),
        ("p95 memory when idle", |one| Some(one.phase(IDLE)?.usage.p95_bytes as f64), megabytes),
        ("seconds to the slowest probe", |one| Some(one.probes.slowest_seconds), cores),
    ];
    let told = figures.into_iter().filter_map(|(what, figure, print)| {
        let (ours_is, theirs_is) = (figure(ours)?, figure(theirs)?);
        let text = format!("more {what} than Karpenter: {} > {}", print(ours_is), print(theirs_is));
        (ours_is > theirs_is).then(|| bad(ours.scenario, &text))
    });
    told.collect()
}

fn fleet(result: &Measured) -> Option<&Fleet> {
    result.phase(SCALE_OUT)?.fleet.as_ref()
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn cores(value: f64) -> String {
    format!("{value:.2}")
}

fn megabytes(value: f64) -> String {
    mb(value as u64)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::bench::e2e::{phases::START, probe::Answers, usage::Usage};
    use crate::bench::scenarios::moved::Moved;

    fn phase(name: &'static str, seconds: f64, megabytes: u64, fleet: Option<Fleet>) -> Phase {
        let bytes = megabytes * 1_000_000;
        let usage = Usage { p95_bytes: bytes, max_bytes: bytes, mean_cores: 0.125, samples: 9 };
        Phase { name, seconds, unfinished: None, usage, fleet, moved: None, limit: None }
    }

    fn fleet(nodes: usize, pods: usize) -> Fleet {
        Fleet {
            nodes,
            pods,
            price: nodes as f64 * 0.5,
            cpu_requested: 0.887,
            memory_requested: 0.837,
            last_bound_seconds: (pods > 0).then_some(66.4),
            last_running_seconds: (pods > 0).then_some(67.4),
        }
    }

    fn measured(program: Program, nodes: usize) -> Measured {
        let mut start = phase(START, 1.5, 0, None);
        start.usage.samples = 1;
        let mut scale_in = phase(SCALE_IN, 50.0, 200, Some(fleet(0, 0)));
        // One for each instance.
        scale_in.moved = Some(Moved { evictions: nodes, commands: 8 });
        scale_in.limit = Some(Limit { seconds: 1200.0, p95_megabytes: 260, mean_cores: 0.25 });
        Measured {
            scenario: "basic",
            program: program.to_string(),
            then: "all pods go".to_owned(),
            phases: vec![
                start,
                phase(IDLE, 30.0, 67, None),
                phase(SCALE_OUT, 68.0, 217, Some(fleet(nodes, 1000))),
                scale_in,
            ],
            under_load: phase("", 0.0, 217, None).usage,
            peak_bytes: 221_000_000,
            memory_limit_bytes: None,
            probes: Answers { ready: true, asked: 4000, failed: 0, slowest_seconds: 0.012 },
            restarts: Vec::new(),
        }
    }

    fn plain(results: &[Measured]) -> String {
        anstream::adapter::strip_str(&render(results)).to_string()
    }

    #[test]
    fn two_programs_stand_below_each_other_and_the_worse_figures_are_named() {
        expect![[r"
            SCENARIO  PHASE      PROGRAM      TIME  LAST BOUND  LAST RUNNING  BOUND PODS  NODES  PRICE/H    CPU  MEMORY  EVICTIONS  COMMANDS  P95 RSS  CORES
            basic     start      joiner        2 s
            basic     start      karpenter     2 s
            basic     idle       joiner       30 s                                                                                              67 MB   0.12
            basic     idle       karpenter    30 s                                                                                              67 MB   0.12
            basic     scale-out  joiner       68 s        66 s          67 s       1,000    158  79.0000  88.7%   83.7%                        217 MB   0.12
            basic     scale-out  karpenter    68 s        66 s          67 s       1,000    157  78.5000  88.7%   83.7%                        217 MB   0.12
            basic     scale-in   joiner       50 s                                     0      0                                158         8   200 MB   0.12
            basic     scale-in   karpenter    50 s                                     0      0                                157         8   200 MB   0.12
            basic     scale-in   (limit)    1200 s                                                                                             260 MB   0.25

            CPU and MEMORY are what pods ask for of what a node has for them, on average over the nodes; CORES is the controller's mean, RSS what it has in RAM, looked at every second.
            LAST BOUND and LAST RUNNING count from the load's coming, in Kubernetes' whole seconds.
            (limit) is what Karpenter's performance suite allows Karpenter.
            basic: once all pods run: all pods go.
            basic, joiner: under load 217 MB p95 and 0.12 cores; at most 221 MB at any moment.
            basic, joiner: 0 of 4,000 probes not answered well, the slowest answer took 12.0 ms.
            basic, karpenter: under load 217 MB p95 and 0.12 cores; at most 221 MB at any moment.
            basic, karpenter: 0 of 4,000 probes not answered well, the slowest answer took 12.0 ms.
            basic: more nodes than Karpenter: 158 > 157
            basic: more price per hour than Karpenter: 79.0000 > 78.5000
            basic: more evictions than Karpenter: 158 > 157
        "]].assert_eq(&plain(&[
            measured(Program::Joiner, 158),
            measured(Program::Karpenter, 157),
        ]));
    }

    #[test]
    fn what_did_not_come_to_its_end_is_not_shown_as_a_time() {
        let mut result = measured(Program::Karpenter, 157);
        result.memory_limit_bytes = Some(256 << 20);
        result.restarts = vec!["it had 257 MiB of memory".to_owned()];
        result.probes.slowest_seconds = 0.5;
        result.phases.truncate(3);
        result.phases[2].unfinished = Some("not over after 30 minutes".to_owned());
        expect![[r"
            SCENARIO  PHASE      PROGRAM      TIME  LAST BOUND  LAST RUNNING  BOUND PODS  NODES  PRICE/H    CPU  MEMORY  P95 RSS  CORES
            basic     start      karpenter     2 s
            basic     idle       karpenter    30 s                                                                         67 MB   0.12
            basic     scale-out  karpenter  > 68 s        66 s          67 s       1,000    157  78.5000  88.7%   83.7%   217 MB   0.12

            CPU and MEMORY are what pods ask for of what a node has for them, on average over the nodes; CORES is the controller's mean, RSS what it has in RAM, looked at every second.
            LAST BOUND and LAST RUNNING count from the load's coming, in Kubernetes' whole seconds.
            basic: once all pods run: all pods go.
            basic, karpenter: under load 217 MB p95 and 0.12 cores; at most 221 MB of 268 MB allowed at any moment.
            basic, karpenter: 0 of 4,000 probes not answered well, the slowest answer took 500.0 ms.
            basic, karpenter: was started again: it had 257 MiB of memory
            basic, karpenter: scale-out did not end: not over after 30 minutes
        "]].assert_eq(&plain(&[result]));
    }
}
