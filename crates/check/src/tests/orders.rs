//! Whatever the order in which pods are placed by the rules, the result is clean.

use joiner_core::{label, pod::Pod, testing::*};
use proptest::prelude::*;

use super::{rules::sizes, scene::Scene};

const ZONES: [&str; 3] = ["a", "b", "c"];
const APPS: [&str; 2] = ["x", "y"];

/// What a pod asks for, about the pods of one app.
#[derive(Debug, Clone, Copy)]
enum Wish {
    Nothing,
    Spread(i32, usize),
    Near(usize),
    Away(usize),
}

#[derive(Debug, Clone, Copy)]
struct Plain {
    app: usize,
    wish: Wish,
}

fn pod_of(name: &str, plain: Plain) -> PodBuilder {
    let like = |app: usize| selector([("app", APPS[app])]);
    let pod = pod(name).cpu("100m").label("app", APPS[plain.app]);
    match plain.wish {
        Wish::Nothing => pod,
        Wish::Spread(skew, app) => pod.spread(label::ZONE, skew, like(app)),
        Wish::Near(app) => pod.affinity(label::ZONE, like(app)),
        Wish::Away(app) => pod.anti_affinity(label::ZONE, like(app)),
    }
}

/// The zones that a pod may go to, when these are there already.
fn allowed(pod: Plain, there: &[(usize, Plain)]) -> Vec<usize> {
    let count = |zone: usize, app: usize| {
        there.iter().filter(|(at, other)| *at == zone && other.app == app).count() as i32
    };
    let counts = |app: usize| (0..ZONES.len()).map(move |zone| count(zone, app));
    let unwelcome = |zone: usize| {
        there.iter().any(|(at, other)| {
            *at == zone && matches!(other.wish, Wish::Away(app) if app == pod.app)
        })
    };
    let fits = |zone: usize| match pod.wish {
        Wish::Nothing => true,
        Wish::Spread(skew, app) => {
            let itself = i32::from(app == pod.app);
            count(zone, app) + itself - counts(app).min().unwrap_or_default() <= skew
        }
        Wish::Near(app) => {
            count(zone, app) > 0 || (app == pod.app && counts(app).all(|count| count == 0))
        }
        Wish::Away(app) => count(zone, app) == 0,
    };
    (0..ZONES.len()).filter(|&zone| fits(zone) && !unwelcome(zone)).collect()
}

fn wishes() -> impl Strategy<Value = Plain> {
    let app = 0..APPS.len();
    let wish = prop_oneof![
        Just(Wish::Nothing),
        (1..3i32, app.clone()).prop_map(|(skew, app)| Wish::Spread(skew, app)),
        app.clone().prop_map(Wish::Near),
        app.clone().prop_map(Wish::Away),
    ];
    (app, wish).prop_map(|(app, wish)| Plain { app, wish })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pods_placed_by_the_rules_break_none(
        bound in prop::collection::vec((0..ZONES.len(), 0..APPS.len()), 0..4),
        pods in prop::collection::vec((wishes(), any::<prop::sample::Index>()), 1..10),
    ) {
        let mut cluster = snapshot().pool(pool("general"), sizes());
        let mut there = Vec::new();
        for (i, (zone, app)) in bound.into_iter().enumerate() {
            let plain = Plain { app, wish: Wish::Nothing };
            let name = format!("node-{i}");
            cluster = cluster.node(node(&name).zone(ZONES[zone]).pod(pod_of(&name, plain)));
            there.push((zone, plain));
        }
        let names: Vec<String> = (0..pods.len()).map(|i| format!("pod-{i}")).collect();
        let all = pods.iter().zip(&names);
        cluster = cluster.pods(all.map(|((plain, _), name)| Pod::from(pod_of(name, *plain))));
        let mut scene = Scene::new(cluster);
        for ((plain, pick), name) in pods.iter().zip(&names) {
            let zones = allowed(*plain, &there);
            scene = if zones.is_empty() {
                scene.unschedulable(name)
            } else {
                let zone = zones[pick.index(zones.len())];
                there.push((zone, *plain));
                scene.claim_in(ZONES[zone], "general", [name.as_str()])
            };
        }
        scene.assert_clean();
    }
}
