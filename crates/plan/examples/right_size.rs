//! How long a whole pass over the instances of a cluster takes: `cargo run --release -p joiner-plan
//! --example right_size -- 2000 70 10`.
//!
//! A cluster of that many instances with about 15 pods each, which use so many percent of the CPUs. One instance in so
//! many has drifted; none without the third number.

use std::{collections::BTreeMap, io::Write, time::Instant};

use joiner_core::{
    disruption::{DisruptionSettings, Fleet},
    label,
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{
        NodeBuilder, PodBuilder, SnapshotBuilder, fake_instance_types, fleet, node, pod, pool,
        rng::Rng, selector, snapshot,
    },
};
use joiner_plan::disrupt::disrupt;

const MILLIS: [usize; 5] = [100, 250, 500, 750, 1000];
/// As the controller asks: moves have to hold, too, where the scheduler puts pods.
const AS_THE_CONTROLLER: DisruptionSettings =
    DisruptionSettings { spot_to_spot: false, as_scheduled: true };
const ZONES: [&str; 3] = ["test-zone-1", "test-zone-2", "test-zone-3"];

/// Every tenth workload is spread over zones, every tenth must be alone on its host.
fn workload(number: usize, rng: &mut Rng) -> (PodBuilder, usize) {
    let app = format!("app-{}", number % 500);
    let own = selector([("app", app.as_str())]);
    let millis = MILLIS[rng.below(MILLIS.len())];
    let made = pod(&format!("pod-{number:06}")).cpu(&format!("{millis}m")).mem("200Mi");
    let made = made.label("app", &app);
    let made = match number % 10 {
        0 => made.spread(label::ZONE, 500, own),
        1 => made.anti_affinity(label::HOSTNAME, own),
        _ => made,
    };
    (made, millis)
}

fn cluster(instances: usize, percent: usize, rng: &mut Rng) -> Snapshot {
    let mut number = 0;
    let mut instance = |at: usize| -> NodeBuilder {
        let cpus = 8 + 2 * rng.below(4);
        let mut made = node(&format!("node-{at:05}"))
            .pool("default")
            .of_type(&format!("fake-it-{}", cpus - 1))
            .zone(ZONES[rng.below(3)])
            .cpu(&format!("{}m", cpus * 1000 - 100))
            .mem(&format!("{}Mi", cpus * 2048 - 10));
        let full = cpus * 10 * (percent + rng.below(21)).saturating_sub(10);
        let mut used = 0;
        while used < full {
            let (pod, millis) = workload(number, rng);
            made = made.pod(pod);
            used += millis;
            number += 1;
        }
        made
    };
    let cluster = snapshot().pool(pool("default"), fake_instance_types(100));
    (0..instances).map(&mut instance).fold(cluster, SnapshotBuilder::node).build()
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let instances = arguments.next().unwrap_or(2000);
    let percent = arguments.next().unwrap_or(70);
    let cluster = cluster(instances, percent, &mut Rng::new(1));
    let drifted = arguments.next().map(|one_in| cluster.nodes.iter().step_by(one_in));
    let drifted = drifted.into_iter().flatten();
    let fleet: Fleet =
        drifted.fold(fleet(&cluster), |fleet, node| fleet.drifted(node.name(), 60)).build();
    let begin = Instant::now();
    let decided = disrupt(&cluster, &fleet, &PlanSettings::default(), &AS_THE_CONTROLLER);
    let taken = begin.elapsed();
    let mut out = std::io::stdout().lock();
    let pods: usize = cluster.nodes.iter().map(|node| node.pods.len()).sum();
    writeln!(out, "{instances} instances, {pods} pods: {taken:?}")?;
    let going: usize = decided.commands.iter().map(|command| command.candidates.len()).sum();
    let saved: f64 = decided.commands.iter().map(|command| command.savings).sum();
    writeln!(out, "{} commands, {going} instances go, {saved:.2} saved", decided.commands.len())?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in decided.staying.iter().filter_map(|staying| staying.reasons.first()) {
        *reasons.entry(reason.id.as_str()).or_default() += 1;
    }
    for (reason, count) in reasons {
        writeln!(out, "{count:6} stay: {reason}")?;
    }
    Ok(())
}
