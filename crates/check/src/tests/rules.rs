//! For each rule a plan that keeps it, and one that breaks it and no other.

use std::{collections::BTreeSet, sync::Arc};

use joiner_core::{
    label,
    plan::ExistingPlacement,
    pool::Readiness,
    requirement::{Operator, RequirementSpec},
    settings::MinValuesPolicy,
    taint::Effect,
    testing::*,
};

use super::scene::Scene;
use crate::Rule;

/// A plan that keeps a rule, and one that breaks it.
struct Example {
    clean: Scene,
    broken: Scene,
}

impl Scene {
    /// An example whose second plan is this one, changed.
    fn but(self, change: impl FnOnce(&mut Scene)) -> Example {
        Example { broken: self.clone().edit(change), clean: self }
    }

    /// An example with another second scene.
    fn not(self, broken: Scene) -> Example {
        Example { clean: self, broken }
    }
}

#[test]
fn every_rule_can_be_kept_and_be_broken_alone() {
    for rule in Rule::ALL.iter().copied().filter(|rule| !rule.is_about_commands()) {
        let Example { clean, broken } = example(rule);
        assert_eq!(clean.broken(), BTreeSet::new(), "{rule}: the clean plan");
        assert_eq!(broken.broken(), BTreeSet::from([rule]), "{rule}: the broken plan");
    }
}

#[test]
fn every_rule_has_its_own_word() {
    let words: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(words.len(), Rule::ALL.len());
}

fn example(rule: Rule) -> Example {
    match rule {
        Rule::PodUnknown
        | Rule::PodRepeated
        | Rule::PodMissing
        | Rule::PodDra
        | Rule::PodVolumeWaiting => pods(rule),
        Rule::PoolUnknown
        | Rule::PoolUnusable
        | Rule::ClaimEmpty
        | Rule::ClaimLabels
        | Rule::ClaimAnnotations
        | Rule::ClaimTaints
        | Rule::ClaimRequirements
        | Rule::ClaimRequests => claims(rule),
        Rule::NodeUnknown
        | Rule::NodeRepeated
        | Rule::NodeEmpty
        | Rule::NodeLeaving
        | Rule::NodeOverfull => nodes(rule),
        Rule::TypeUnknown
        | Rule::TypeCount
        | Rule::TypeIncompatible
        | Rule::TypeTooSmall
        | Rule::TypeTooSmallAsOffered
        | Rule::TypeOrder
        | Rule::TypePrice
        | Rule::MinValues
        | Rule::MinValuesUnmarked => types(rule),
        Rule::Taint
        | Rule::Requirement
        | Rule::RequirementAssumed
        | Rule::HostPort
        | Rule::VolumeTopology
        | Rule::VolumeLimit
        | Rule::VolumeLimitOfType => suitability(rule),
        Rule::Limit | Rule::LimitNodes | Rule::LimitInFlight | Rule::Reservation => limits(rule),
        Rule::AntiAffinity
        | Rule::Affinity
        | Rule::AffinityBootstrap
        | Rule::TopologyNowhere
        | Rule::Spread
        | Rule::SpreadUnpinned
        | Rule::SpreadMiscounted => topology(rule),
        Rule::CommandUnknown
        | Rule::CommandRepeated
        | Rule::CommandKept
        | Rule::CommandPods
        | Rule::CommandDestination
        | Rule::CommandPrice
        | Rule::CommandBudget => unreachable!("{rule} has examples of its own"),
    }
}

/// Three sizes in three zones.
pub(super) fn sizes() -> [TypeBuilder; 3] {
    [
        instance_type("small").cpu("2").mem("4Gi").price(1.0),
        instance_type("medium").cpu("4").mem("8Gi").price(2.0),
        instance_type("large").cpu("8").mem("16Gi").price(4.0),
    ]
}

pub(super) fn cluster() -> SnapshotBuilder {
    snapshot().pool(pool("general"), sizes())
}

/// One pod on one claim.
pub(super) fn one_pod(pod: PodBuilder) -> Scene {
    Scene::new(cluster().pod(pod)).claim("general", ["web"])
}

pub(super) fn web() -> PodBuilder {
    pod("web").cpu("1").mem("1Gi").label("app", "web")
}

/// Replicas `web-0`, `web-1`… of a pod.
pub(super) fn webs(cluster: SnapshotBuilder, pod: PodBuilder, count: usize) -> Scene {
    Scene::new(cluster.pods(pod.replicas(count)))
}

fn pods(rule: Rule) -> Example {
    let scene = one_pod(web());
    match rule {
        Rule::PodUnknown => scene.but(|it| it.claim_mut(0).pods.push("default/ghost".into())),
        Rule::PodRepeated => scene.but(|it| *it = it.clone().unschedulable("web")),
        Rule::PodMissing => scene.but(|it| it.snapshot.pods.push(pod("late").build())),
        Rule::PodDra => {
            let devices = Scene::new(cluster().pod(web().dra())).unschedulable("web");
            devices.not(one_pod(web().dra()))
        }
        _ => {
            let waits = web().waits_for_volume("PVC default/data is not bound");
            let waiting = Scene::new(cluster().pod(waits.clone())).unschedulable("web");
            waiting.not(one_pod(waits))
        }
    }
}

fn claims(rule: Rule) -> Example {
    let scene = one_pod(web());
    match rule {
        Rule::PoolUnknown => scene.but(|it| it.claim_mut(0).node_pool = "other".into()),
        Rule::PoolUnusable => scene.but(|it| it.snapshot.pools[0].readiness = Readiness::Deleting),
        Rule::ClaimEmpty => scene.but(|it| {
            let nobody = it.clone().claim("general", []).plan.claims.remove(1);
            it.plan.claims.push(nobody);
        }),
        Rule::ClaimLabels => scene.but(|it| {
            Arc::make_mut(&mut it.claim_mut(0).labels).insert("team".into(), "a".into());
        }),
        Rule::ClaimAnnotations => scene.but(|it| {
            let annotations = Arc::make_mut(&mut it.claim_mut(0).annotations);
            annotations.insert(label::NODE_POOL_HASH.into(), "of yesterday".into());
        }),
        Rule::ClaimTaints => scene.but(|it| {
            it.claim_mut(0).taints = [taint("dedicated", "", Effect::NoSchedule)].into();
        }),
        Rule::ClaimRequirements => scene.but(|it| {
            let claim = it.claim_mut(0);
            let pool = |spec: &RequirementSpec| spec.key == label::NODE_POOL;
            let others = claim.requirements.iter().filter(|spec| !pool(spec)).cloned();
            claim.requirements = others.collect();
        }),
        _ => scene.but(|it| it.claim_mut(0).requests = resources([("cpu", "1"), ("pods", "1")])),
    }
}

fn nodes(rule: Rule) -> Example {
    let scene = Scene::new(cluster().node(node("n1")).pod(web())).node("n1", ["web"]);
    match rule {
        Rule::NodeUnknown => scene.but(|it| it.plan.existing[0].node_claim = "other".into()),
        Rule::NodeRepeated => {
            let two = webs(cluster().node(node("n1")), web(), 2);
            let together = two.clone().node("n1", ["web-0", "web-1"]);
            together.not(two.node("n1", ["web-0"]).node("n1", ["web-1"]))
        }
        Rule::NodeEmpty => Scene::new(cluster().node(node("n1"))).but(|it| {
            it.plan.existing.push(ExistingPlacement { node: "n1".into(), ..Default::default() });
        }),
        Rule::NodeLeaving => scene.but(|it| it.snapshot.nodes[0].leaving = true),
        _ => {
            // 4 CPUs, of which 1 is taken, 1 is for a daemon that is there, 1 for one to come.
            let daemon = |name: &str| pod(name).cpu("1");
            let busy = |web: PodBuilder| {
                let there = daemon("logs-x").of_daemon("default/logs");
                let node = node("n1").pod(pod("old").cpu("1")).pod(there);
                let all = cluster().node(node).daemon(daemon("logs")).daemon(daemon("metrics"));
                Scene::new(all.pod(web)).node("n1", ["web"])
            };
            busy(web()).not(busy(web().cpu("1001m")))
        }
    }
}

fn types(rule: Rule) -> Example {
    let scene = one_pod(web());
    let list = |scene: &mut Scene, names: &[&str]| {
        scene.claim_mut(0).instance_types = names.iter().map(|&name| name.to_owned()).collect();
    };
    match rule {
        Rule::TypeUnknown => scene.but(|it| list(it, &["small", "medium", "large", "large"])),
        Rule::TypeCount => scene.but(|it| it.settings.instance_types_max = 2),
        Rule::TypeIncompatible => scene.but(|it| {
            // All offerings of one of the types are gone.
            let gone = instance_type("large").cpu("8").mem("16Gi").zones([]).price(4.0).build();
            let mut types = it.snapshot.catalog.types("general").to_vec();
            types[2] = Arc::new(gone);
            it.snapshot.catalog.by_pool.insert("general".into(), types.into());
        }),
        Rule::TypeTooSmall => {
            let daemons = |cpu: &str| cluster().daemon(pod("logs").cpu(cpu));
            let scene = Scene::new(daemons("1").pod(web())).claim("general", ["web"]);
            scene.but(|it| {
                it.snapshot.daemons[0] = pod("logs").cpu("1001m").daemon();
            })
        }
        Rule::TypeTooSmallAsOffered => {
            // Four CPUs, but two where it is offered.
            let less = joiner_core::instance_type::Offering {
                capacity: resources([("cpu", "2")]),
                ..offering("a", label::CAPACITY_TYPE_ON_DEMAND, 1.0)
            };
            let only = instance_type("small").zones([]).offering(less);
            let small = Scene::new(snapshot().pool(pool("general"), [only]).pod(web().cpu("2")));
            small.claim("general", ["web"]).but(|it| {
                it.snapshot.pods = vec![web().cpu("3").build()];
                it.claim_mut(0).requests.set("cpu", quantity("3"));
            })
        }
        Rule::TypeOrder => scene.but(|it| list(it, &["small", "large", "medium"])),
        Rule::TypePrice => scene.but(|it| it.claim_mut(0).price = 0.9),
        _ => min_values(rule),
    }
}

fn min_values(rule: Rule) -> Example {
    let of_pool = |min| pool("general").min_values(label::INSTANCE_TYPE, Operator::Exists, [], min);
    let scene = Scene::new(snapshot().pool(of_pool(3), sizes()).pod(web()));
    let scene = scene.claim("general", ["web"]);
    let relaxed = |it: &mut Scene, value: &str| {
        let annotations = Arc::make_mut(&mut it.claim_mut(0).annotations);
        annotations.insert(label::MIN_VALUES_RELAXED.into(), value.into());
    };
    if rule == Rule::MinValues {
        // The smallest type is too small, and two are left of three.
        return scene.but(|it| {
            let large = pod("web").cpu("3").mem("1Gi").build();
            it.snapshot.pods = vec![large];
            it.plan.claims.clear();
            *it = it.clone().claim("general", ["web"]);
        });
    }
    // The same with a planner that does its best, and lowers three to two.
    let lowered = |scene: Scene| {
        scene.edit(|it| {
            it.settings.min_values = MinValuesPolicy::BestEffort;
            it.snapshot.pods = vec![pod("web").cpu("3").mem("1Gi").build()];
            it.plan.claims.clear();
            *it = it.clone().claim("general", ["web"]);
            let claim = it.claim_mut(0);
            let lower = |spec: &RequirementSpec| RequirementSpec {
                min_values: spec.min_values.map(|_| 2),
                ..spec.clone()
            };
            claim.requirements = claim.requirements.iter().map(lower).collect();
        })
    };
    lowered(scene).edit(|it| relaxed(it, "true")).but(|it| relaxed(it, "false"))
}

fn suitability(rule: Rule) -> Example {
    match rule {
        Rule::Taint => {
            let tainted = || pool("general").taint("dedicated", "db", Effect::NoSchedule);
            let on = |pod: PodBuilder| {
                Scene::new(snapshot().pool(tainted(), sizes()).pod(pod)).claim("general", ["web"])
            };
            on(web().tolerate("dedicated")).not(on(web()))
        }
        Rule::Requirement => {
            // The claim may still be in zone b, and the pod does not want to.
            let picky = web().require(label::ZONE, Operator::In, ["a"]);
            let scene = one_pod(picky);
            scene.but(|it| {
                let claim = it.claim_mut(0);
                let widen = |spec: &RequirementSpec| match spec.key.as_str() {
                    label::ZONE => requirement(label::ZONE, Operator::In, ["a", "b"]),
                    _ => spec.clone(),
                };
                claim.requirements = claim.requirements.iter().map(widen).collect();
            })
        }
        Rule::RequirementAssumed => {
            let first = || web().require("disk", Operator::NotIn, ["hdd"]);
            let second = |node: NodeBuilder| {
                let ssd = pod("db").on_node_selector("disk", "ssd");
                Scene::new(cluster().node(node).pod(first()).pod(ssd)).node("n1", ["web", "db"])
            };
            second(node("n1").label("disk", "ssd")).not(second(node("n1")))
        }
        Rule::HostPort => {
            let on = |port: i32| {
                let one = pod("web").host_port(80);
                let other = pod("db").host_port(port);
                Scene::new(cluster().pod(one).pod(other)).claim("general", ["web", "db"])
            };
            on(81).not(on(80))
        }
        Rule::VolumeTopology => {
            let on = |zone: &str| {
                let there = cluster().node(node("n1").zone(zone));
                Scene::new(there.pod(web().volume_in(label::ZONE, ["a"]))).node("n1", ["web"])
            };
            on("a").not(on("b"))
        }
        Rule::VolumeLimit => {
            // One is there, one is shared with it, one is new.
            let on = |limit: u32| {
                let old = pod("old").volume("csi", "shared");
                let there = cluster().node(node("n1").volume_limit("csi", limit).pod(old));
                let new = web().volume("csi", "shared").volume("csi", "own");
                Scene::new(there.pod(new)).node("n1", ["web"])
            };
            on(2).not(on(1))
        }
        _ => {
            let with = |limit: u32| {
                let only = instance_type("small").volume_limit("csi", limit);
                let volumes = web().volume("csi", "a").volume("csi", "b");
                let all = snapshot().pool(pool("general"), [only]).pod(volumes);
                Scene::new(all).claim("general", ["web"])
            };
            with(2).not(with(1))
        }
    }
}

fn limits(rule: Rule) -> Example {
    // One node with 4 CPUs, and a claim that may become one with 8.
    let limited = |resource: &str, limit: &str, instance: NodeBuilder| {
        let of_pool = pool("general").limit(resource, limit);
        let all = snapshot().pool(of_pool, sizes()).node(instance.pool("general")).pod(web());
        Scene::new(all).claim("general", ["web"])
    };
    match rule {
        Rule::Limit => limited("cpu", "12", node("n1")).not(limited("cpu", "11", node("n1"))),
        Rule::LimitNodes => {
            let two = |limit: &str| {
                let of_pool = pool("general").limit("nodes", limit);
                webs(snapshot().pool(of_pool, sizes()), web(), 2)
                    .claim("general", ["web-0"])
                    .claim("general", ["web-1"])
            };
            two("2").not(two("1"))
        }
        Rule::LimitInFlight => {
            let instance = || node("n1").pool("general").in_flight();
            limited("cpu", "12", instance()).not(limited("cpu", "11", instance()))
        }
        _ => {
            // Two claims for a reservation of one instance.
            let reserved = |capacity: u32| {
                let only = instance_type("small").reserved("a", "r1", capacity, 0.0);
                let pin = || {
                    [
                        requirement(label::CAPACITY_TYPE, Operator::In, ["reserved"]),
                        requirement(RESERVATION_ID, Operator::In, ["r1"]),
                    ]
                };
                webs(snapshot().pool(pool("general"), [only]), web(), 2)
                    .claim_with("general", ["web-0"], &pin())
                    .claim_with("general", ["web-1"], &pin())
            };
            reserved(2).not(reserved(1))
        }
    }
}

fn topology(rule: Rule) -> Example {
    let web_selector = || selector([("app", "web")]);
    let two = |pod: PodBuilder, zones: [&str; 2]| {
        webs(cluster(), pod, 2).claim_in(zones[0], "general", ["web-0"]).claim_in(
            zones[1],
            "general",
            ["web-1"],
        )
    };
    match rule {
        Rule::AntiAffinity => {
            let apart = || web().anti_affinity(label::ZONE, web_selector());
            two(apart(), ["a", "b"]).not(two(apart(), ["a", "a"]))
        }
        Rule::Affinity => {
            // The database is in zone a.
            let near = |zone: &str| {
                let db = node("n1").zone("a").pod(pod("db").label("app", "db"));
                let near = web().affinity(label::ZONE, selector([("app", "db")]));
                Scene::new(cluster().node(db).pod(near)).claim_in(zone, "general", ["web"])
            };
            near("a").not(near("b"))
        }
        Rule::AffinityBootstrap => {
            let together = || web().affinity(label::ZONE, web_selector());
            two(together(), ["a", "a"]).not(two(together(), ["a", "b"]))
        }
        Rule::TopologyNowhere => {
            let on = |node: NodeBuilder| {
                let even = web().spread(label::ZONE, 1, web_selector());
                Scene::new(cluster().node(node).pod(even)).node("n1", ["web"])
            };
            on(node("n1")).not(on(node("n1").without_label(label::ZONE)))
        }
        Rule::Spread => {
            let even = || web().spread(label::ZONE, 1, web_selector());
            two(even(), ["a", "b"]).not(two(even(), ["a", "a"]))
        }
        Rule::SpreadUnpinned => {
            let even = || Scene::new(cluster().pod(web().spread(label::ZONE, 1, web_selector())));
            let pinned = even().claim_in("a", "general", ["web"]);
            pinned.not(even().claim("general", ["web"]))
        }
        _ => {
            // A pool that pods would rather not use makes Karpenter forget its counts.
            let reluctant = || pool("spare").taint("spare", "", Effect::PreferNoSchedule);
            let even = || web().spread(label::ZONE, 1, web_selector());
            let all = |zones: [&str; 2]| {
                webs(cluster().pool(reluctant(), sizes()), even(), 2)
                    .claim_in(zones[0], "general", ["web-0"])
                    .claim_in(zones[1], "general", ["web-1"])
            };
            all(["a", "b"]).not(all(["a", "a"]))
        }
    }
}
