//! Random clusters: whatever is decided breaks no rule.

use joiner_core::{
    disruption::{ConsolidationPolicy, KeptBy},
    label::{HOSTNAME, ZONE},
    testing::{
        FleetBuilder, PodBuilder, SnapshotBuilder, budget, fleet, minutes, node, now, pod, pool,
        rng::Rng, selector, snapshot,
    },
};

use super::{SIZES, Settings, decide, instance_of, sizes};

fn random_pod(rng: &mut Rng, name: &str) -> PodBuilder {
    let app = ["web", "db", "job"][rng.below(3)];
    let cpu = ["100m", "500m", "1", "1500m", "3"][rng.below(5)];
    let made = pod(name).cpu(cpu).mem("200Mi").label("app", app);
    match rng.below(12) {
        0 => made.spread(ZONE, 1, selector([("app", app)])),
        1 => made.anti_affinity(HOSTNAME, selector([("app", app)])),
        2 => made.on_node_selector(ZONE, ["a", "b"][rng.below(2)]),
        3 => made.host_port(8080),
        4 => made.spread_anyway(HOSTNAME, 1, selector([("app", app)])),
        _ => made,
    }
}

fn random_cluster(rng: &mut Rng) -> SnapshotBuilder {
    let mut cluster = snapshot().pool(pool("a"), sizes()).pool(pool("b").weight(5), sizes());
    for i in 0..=rng.below(9) {
        let (size, ..) = SIZES[rng.below(4)];
        let name = format!("n{i}");
        let mut instance =
            instance_of(["a", "b"][rng.below(2)], &name, size).zone(["a", "b", "c"][rng.below(3)]);
        for p in 0..rng.below(4) {
            instance = instance.pod(random_pod(rng, &format!("p{i}-{p}")));
        }
        cluster =
            cluster.node(if rng.below(12) == 0 { instance.uninitialized() } else { instance });
    }
    if rng.below(3) == 0 {
        cluster = cluster.node(node("foreign"));
    }
    for i in 0..rng.below(3) {
        let waits = random_pod(rng, &format!("w{i}"));
        cluster = cluster.pod(if rng.below(2) == 0 { waits.buffer() } else { waits });
    }
    cluster
}

fn random_fleet(rng: &mut Rng, mut made: FleetBuilder, instances: usize) -> FleetBuilder {
    for i in 0..instances {
        let name = format!("n{i}");
        made = match rng.below(10) {
            0 | 1 => made.drifted(&name, rng.below(60) as i64),
            2 => made.busy(&name, rng.below(20) as i64),
            3 => made.instance(&name, |instance| instance.ready = false),
            4 => made.instance(&name, |instance| instance.nominated = true),
            5 => made.instance(&name, |instance| {
                let pods = instance.pods.iter_mut().filter(|facts| facts.reschedulable);
                for facts in pods {
                    facts.kept_by = Some(KeptBy::DoNotDisrupt(Some(now() + minutes(5))));
                    facts.movable = false;
                }
            }),
            6 => made.claim(&name, |claim| claim.has_grace_period = true),
            _ => made,
        };
    }
    let budgets = ["0", "1", "2", "50%", "100%"];
    let policies = [
        ConsolidationPolicy::WhenEmpty,
        ConsolidationPolicy::WhenEmptyOrUnderutilized,
        ConsolidationPolicy::Balanced,
    ];
    for name in ["a", "b"] {
        let (nodes, policy) = (budgets[rng.below(5)], policies[rng.below(3)]);
        made = made.budgets(name, [budget(nodes)]).pool(name, |rules| {
            rules.policy = policy;
            rules.consolidate_after = Some(minutes(10));
        });
    }
    made
}

#[test]
fn decisions_about_random_clusters_break_no_rule() {
    let mut commands = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let cluster = random_cluster(&mut rng).build();
        let instances = cluster.nodes.iter().filter(|node| node.claim.is_some()).count();
        let fleet = random_fleet(&mut rng, fleet(&cluster), instances).build();
        commands += decide(&Settings::default(), &cluster, &fleet).commands.len();
    }
    assert!(commands > 100, "too little is decided: {commands}");
}
