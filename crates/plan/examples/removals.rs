//! How long it takes to ask what happens if instances go: `cargo run --release -p joiner-plan
//! --example removals -- 30000 10`.
//!
//! A cluster is made by planning for deployments of 20 pods and giving every claim its instance; then
//! some of the pods are gone (the second argument, in percent), and every instance is asked about.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use joiner_core::{
    disruption::{ClaimFacts, Fleet, Instance, PodFacts},
    label,
    pod::Pod,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
    testing::{fake_instance_types, node, pod, pool, rng::Rng, selector, snapshot},
};
use joiner_plan::{
    disrupt::simulate::{Question, Simulator},
    provision,
};

const CPU: [&str; 5] = ["100m", "250m", "500m", "1", "1500m"];
const MEMORY: [&str; 6] = ["100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"];
const REPLICAS: usize = 20;
/// Types of up to 14 CPUs and 28 GiB, so that an instance has about 15 pods.
const TYPES: usize = 14;

/// Half of the deployments are plain; the others are spread over zones, over hosts, together in a
/// zone, or alone on hosts.
fn pods(count: usize, rng: &mut Rng) -> Vec<Pod> {
    (0..count / REPLICAS)
        .flat_map(|n| {
            let name = format!("app-{n:05}");
            let own = selector([("app", name.as_str())]);
            let pod = pod(&name)
                .cpu(CPU[rng.below(CPU.len())])
                .mem(MEMORY[rng.below(MEMORY.len())])
                .label("app", &name);
            match n % 8 {
                0 => pod.spread(label::ZONE, 1, own),
                1 => pod.spread(label::HOSTNAME, 1, own),
                2 => pod.affinity(label::ZONE, own),
                3 => pod.anti_affinity(label::HOSTNAME, own),
                _ => pod,
            }
            .replicas(REPLICAS)
        })
        .collect()
}

/// The cluster after all claims of a plan have become instances.
fn built(planned: &Snapshot, gone: usize, rng: &mut Rng) -> Snapshot {
    let plan = provision(planned, &PlanSettings::default()).plan;
    let types = planned.catalog.types("default");
    let by_key: std::collections::HashMap<String, &Pod> =
        planned.pods.iter().map(|pod| (pod.key(), pod)).collect();
    let nodes = plan.claims.iter().enumerate().map(|(n, claim)| {
        let zones = claim.requirements.iter().find(|each| each.key == label::ZONE);
        let zone =
            zones.map_or_else(|| "test-zone-1".to_owned(), |zones| rng.pick(&zones.values).clone());
        let made = node(&format!("node-{n:05}")).pool("default").zone(&zone).build();
        let size = types.iter().find(|each| each.name == claim.instance_types[0]);
        let allocatable = size.map(|size| size.allocatable(&size.offerings[0])).unwrap_or_default();
        let staying: Vec<&String> = claim.pods.iter().filter(|_| !rng.chance(gone)).collect();
        let bound = |key: &&String| {
            let role = joiner_core::pod::Role::Bound { daemon_set: None, terminating: false };
            Pod { role, ..by_key[*key].clone() }
        };
        let pods = staying.iter().map(bound).collect();
        Node { capacity: allocatable.clone(), allocatable, pods, ..made }
    });
    Snapshot { nodes: nodes.collect(), pods: Vec::new(), ..planned.clone() }
}

fn facts(snapshot: &Snapshot) -> Fleet {
    let instance = |node: &Node| Instance {
        claim: Some(ClaimFacts::default()),
        ready: true,
        pods: vec![PodFacts::default(); node.pods.len()],
        ..Instance::default()
    };
    Fleet { instances: snapshot.nodes.iter().map(instance).collect(), ..Fleet::default() }
}

/// Asks about each group of instances, and says how long it took and how it went.
fn ask(simulator: &mut Simulator<'_>, groups: &[Vec<usize>]) -> (Duration, Duration, [usize; 4]) {
    let question = Question { respect_quiet: true, claims_max: Some(1) };
    let (mut all, mut longest, mut kinds) = (Duration::ZERO, Duration::ZERO, [0; 4]);
    for instances in groups {
        let start = Instant::now();
        let outcome = simulator.without(instances, question);
        let took = start.elapsed();
        all += took;
        longest = longest.max(took);
        kinds[if outcome.homeless.is_empty() { outcome.claims.len() } else { 3 }] += 1;
    }
    (all, longest, kinds)
}

fn main() -> std::io::Result<()> {
    let argument = |at| std::env::args().nth(at).and_then(|number| number.parse().ok());
    let (count, gone) = (argument(1).unwrap_or(30_000), argument(2).unwrap_or(10));
    let rng = &mut Rng::new(42);
    let planned =
        snapshot().pool(pool("default"), fake_instance_types(TYPES)).pods(pods(count, rng));
    let snapshot = built(&planned.build(), gone, rng);
    let fleet = facts(&snapshot);
    let mut out = std::io::stdout();
    let pods: usize = snapshot.nodes.iter().map(|node| node.pods.len()).sum();
    writeln!(out, "{} instances with {pods} pods", snapshot.nodes.len())?;
    let start = Instant::now();
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    writeln!(out, "prepared in {:?}", start.elapsed())?;
    let ones: Vec<Vec<usize>> = (0..snapshot.nodes.len()).map(|at| vec![at]).collect();
    let all: Vec<usize> = (0..snapshot.nodes.len()).collect();
    let several = |size: usize| all.chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>();
    for (about, groups) in [
        ("one instance, for the first time", ones.clone()),
        ("one instance, again", ones),
        ("10 instances", several(10)),
        ("100 instances", several(100)),
    ] {
        let (all, longest, [none, one, more, homeless]) = ask(&mut simulator, &groups);
        writeln!(
            out,
            "{about}: {} questions in {all:?}, {:?} each, the longest {longest:?}; {none} need no \
             instance, {one} need one, {more} more, {homeless} have homeless pods",
            groups.len(),
            all / groups.len() as u32,
        )?;
    }
    Ok(())
}
