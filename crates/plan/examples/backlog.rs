//! How long a large backlog takes and how much memory: `cargo run --release -p joiner-plan
//! --example backlog -- 100000`.
//!
//! The workload is the diverse mix of `joiner bench` built in memory, so that what the process
//! needs is the snapshot and the planner, and nothing for reading files.

use std::{collections::HashMap, io::Write, time::Instant};

use joiner_core::{
    label,
    pod::Pod,
    settings::PlanSettings,
    testing::{fake_instance_types, pod, pool, rng::Rng, selector, snapshot},
};

const APPS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
const CPU: [&str; 5] = ["100m", "250m", "500m", "1", "1500m"];
const MEMORY: [&str; 6] = ["100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"];

/// A fifth each: plain, spread over zones, spread over hosts, together in a zone, alone on a host.
fn pods(count: usize) -> Vec<Pod> {
    let mut random = Rng::new(42);
    let mut templates: HashMap<[usize; 5], Pod> = HashMap::new();
    (0..count)
        .map(|i| {
            let kind = i * 5 / count;
            let draw = [7, 7, CPU.len(), MEMORY.len()].map(|n| random.below(n));
            let [own, other, cpu, memory] = draw;
            let template = templates.entry([kind, own, other, cpu, memory]).or_insert_with(|| {
                let pod = pod("").cpu(CPU[cpu]).mem(MEMORY[memory]).label("app", APPS[own]);
                let others = selector([("app", APPS[other])]);
                match kind {
                    0 => pod,
                    1 => pod.spread(label::ZONE, 1, others),
                    2 => pod.spread(label::HOSTNAME, 1, others),
                    3 => {
                        let group = selector([("group", APPS[own])]);
                        pod.label("group", APPS[own]).affinity(label::ZONE, group)
                    }
                    _ => {
                        let alone = selector([("alone", "true")]);
                        pod.label("alone", "true").anti_affinity(label::HOSTNAME, alone)
                    }
                }
                .build()
            });
            let uid = format!("{:016x}", random.below(usize::MAX)).into();
            Pod { name: format!("pod-{i:06}").into(), uid, ..template.clone() }
        })
        .collect()
}

fn main() -> std::io::Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let cluster = snapshot().pool(pool("default"), fake_instance_types(400)).pods(pods(count));
    let snapshot = cluster.build();
    let start = Instant::now();
    let plan = joiner_plan::provision(&snapshot, &PlanSettings::default()).plan;
    let elapsed = start.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or(" unknown");
    writeln!(
        std::io::stdout(),
        "{count} pods on {} instances, {} without a place, in {elapsed:?}; peak memory{peak}",
        plan.claims.len(),
        plan.unschedulable.len() + plan.deferred.len(),
    )
}
