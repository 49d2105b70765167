//! More ways to break a rule than the one example each has.

use std::sync::Arc;

use joiner_core::{
    label,
    requirement::{Operator, RequirementSpec},
    selector::{LabelSelector, SelectorTerm},
    settings::MinValuesPolicy,
    taint::Effect,
    testing::*,
};

use super::{
    rules::{cluster, one_pod, sizes, web, webs},
    scene::Scene,
};
use crate::Rule;

fn like_web() -> LabelSelector {
    selector([("app", "web")])
}

#[track_caller]
fn assert_breaks(rule: Rule, scene: &Scene) {
    assert_eq!(scene.broken(), [rule].into());
}

/// A claim with its requirements changed, one by one.
fn rewritten(scene: Scene, rewrite: impl Fn(&RequirementSpec) -> Option<RequirementSpec>) -> Scene {
    scene.edit(|it| {
        let claim = it.claim_mut(0);
        claim.requirements = claim.requirements.iter().filter_map(&rewrite).collect();
    })
}

#[test]
fn a_claim_says_no_more_and_no_less_than_its_pool() {
    let of_pool = pool("general").require(label::ZONE, Operator::In, ["a"]).label("team", "a");
    let scene = Scene::new(snapshot().pool(of_pool, sizes()).pod(web())).claim("general", ["web"]);
    scene.assert_clean();

    let wider = rewritten(scene.clone(), |spec| match spec.key.as_str() {
        label::ZONE => Some(requirement(label::ZONE, Operator::In, ["a", "b"])),
        _ => Some(spec.clone()),
    });
    assert_breaks(Rule::ClaimRequirements, &wider);

    let hostname = scene.clone().edit(|it| {
        let claim = it.claim_mut(0);
        let own = requirement(label::HOSTNAME, Operator::In, ["somewhere"]);
        claim.requirements = claim.requirements.iter().cloned().chain([own]).collect();
    });
    assert_breaks(Rule::ClaimRequirements, &hostname);

    let without_label = scene.clone().edit(|it| {
        Arc::make_mut(&mut it.claim_mut(0).labels).remove("team");
    });
    assert_breaks(Rule::ClaimLabels, &without_label);

    let without_annotation = scene.edit(|it| {
        Arc::make_mut(&mut it.claim_mut(0).annotations).remove(label::MIN_VALUES_RELAXED);
    });
    assert_breaks(Rule::ClaimAnnotations, &without_annotation);
}

#[test]
fn the_requirement_on_types_is_the_list_of_types() {
    for names in [vec!["small", "medium"], vec!["small", "medium", "large", "huge"]] {
        let scene = rewritten(one_pod(web()), |spec| match spec.key.as_str() {
            label::INSTANCE_TYPE => {
                Some(RequirementSpec::new(label::INSTANCE_TYPE, Operator::In, names.clone()))
            }
            _ => Some(spec.clone()),
        });
        assert_breaks(Rule::ClaimRequirements, &scene);
    }
    let none =
        rewritten(one_pod(web()), |spec| (spec.key != label::INSTANCE_TYPE).then(|| spec.clone()));
    assert_breaks(Rule::ClaimRequirements, &none);
}

#[test]
fn a_claim_asks_for_no_more_than_pods_and_daemons_do() {
    let more = one_pod(web()).edit(|it| it.claim_mut(0).requests.set("cpu", quantity("2")));
    assert_breaks(Rule::ClaimRequests, &more);
    let other = one_pod(web()).edit(|it| it.claim_mut(0).requests.set("gpu", quantity("1")));
    assert_breaks(Rule::ClaimRequests, &other);
}

#[test]
fn a_pod_gets_one_of_the_types_it_wants() {
    let scene = one_pod(web().require(label::INSTANCE_TYPE, Operator::In, ["small"]));
    scene.assert_clean();
    let mut any = one_pod(web());
    any.snapshot.pods = scene.snapshot.pods;
    assert_breaks(Rule::Requirement, &any);
}

#[test]
fn a_pod_that_selects_by_field_gets_no_new_node() {
    let mut scene = one_pod(web().require(label::ZONE, Operator::In, ["a"]));
    scene.assert_clean();
    Arc::make_mut(&mut scene.snapshot.pods[0].spec).node_affinity[0].has_fields = true;
    assert_breaks(Rule::Requirement, &scene);
}

#[test]
fn a_well_known_label_that_a_pod_excludes_must_be_excluded() {
    let mut scene = one_pod(web());
    scene.snapshot.pods = vec![web().require(label::ZONE, Operator::NotIn, ["a"]).build()];
    assert_breaks(Rule::Requirement, &scene);
    // Nobody puts this label on the instance.
    scene.snapshot.pods = vec![web().require("disk", Operator::NotIn, ["hdd"]).build()];
    scene.assert_clean();
}

#[test]
fn a_node_has_the_labels_and_the_tolerance_its_pods_want() {
    let on = |node: NodeBuilder| Scene::new(cluster().node(node).pod(web())).node("n1", ["web"]);
    let picky = on(node("n1")).edit(|it| {
        it.snapshot.pods = vec![web().require(label::ZONE, Operator::In, ["b"]).build()];
    });
    assert_breaks(Rule::Requirement, &picky);
    let undefined = on(node("n1").without_label(label::ARCH)).edit(|it| {
        it.snapshot.pods = vec![web().require(label::ARCH, Operator::Exists, []).build()];
    });
    assert_breaks(Rule::Requirement, &undefined);
    let tainted = on(node("n1").taint("dedicated", "", Effect::NoExecute));
    assert_breaks(Rule::Taint, &tainted);
}

#[test]
fn a_claim_may_not_be_where_volumes_are_not() {
    let mut scene = one_pod(web());
    let stuck = web().volume_in(label::ZONE, ["a"]).volume_in(label::ZONE, ["b"]);
    scene.snapshot.pods = vec![stuck.build()];
    assert_breaks(Rule::VolumeTopology, &scene);
}

#[test]
fn ports_are_taken_by_daemons_and_by_pods_that_are_there() {
    let claim = one_pod(web().host_port(80)).edit(|it| {
        it.snapshot.daemons.push(pod("proxy").host_port(80).daemon());
        it.claim_mut(0).requests.set("pods", quantity("2"));
    });
    assert_breaks(Rule::HostPort, &claim);
    let node = node("n1").pod(pod("old").host_port(80));
    let node = Scene::new(cluster().node(node).pod(web().host_port(80))).node("n1", ["web"]);
    assert_breaks(Rule::HostPort, &node);
}

#[test]
fn a_node_that_has_too_little_already_takes_nothing() {
    let node = node("n1").cpu("1").pod(pod("old").cpu("2"));
    let scene = Scene::new(cluster().node(node).pod(pod("web"))).node("n1", ["web"]);
    assert_breaks(Rule::NodeOverfull, &scene);
}

#[test]
fn a_type_must_hold_the_pods_through_the_offering_it_is_to_be_had_by() {
    // Zone b has smaller instances of this type.
    let smaller = joiner_core::instance_type::Offering {
        overhead: resources([("cpu", "4")]),
        ..offering("b", label::CAPACITY_TYPE_ON_DEMAND, 1.0)
    };
    let only = || instance_type("odd").cpu("8").zones(["a"]).offering(smaller.clone());
    let scene = || Scene::new(snapshot().pool(pool("general"), [only()]).pod(web().cpu("6")));
    scene().claim_in("a", "general", ["web"]).assert_clean();
    let mut there = scene().claim_in("a", "general", ["web"]);
    there = rewritten(there, |spec| match spec.key.as_str() {
        label::ZONE => Some(requirement(label::ZONE, Operator::In, ["b"])),
        _ => Some(spec.clone()),
    });
    assert_breaks(Rule::TypeTooSmall, &there);
}

#[test]
fn min_values_may_not_be_dropped_or_lowered_without_leave() {
    let of_pool = || pool("general").min_values(label::INSTANCE_TYPE, Operator::Exists, [], 2);
    let scene =
        Scene::new(snapshot().pool(of_pool(), sizes()).pod(web())).claim("general", ["web"]);
    let with = |min: Option<u32>| {
        rewritten(scene.clone(), |spec| {
            Some(RequirementSpec { min_values: spec.min_values.and(min), ..spec.clone() })
        })
    };
    assert_breaks(Rule::MinValues, &with(None));
    let lowered = with(Some(1)).edit(|it| {
        let annotations = Arc::make_mut(&mut it.claim_mut(0).annotations);
        annotations.insert(label::MIN_VALUES_RELAXED.into(), "true".into());
    });
    assert_breaks(Rule::MinValues, &lowered);
    lowered.edit(|it| it.settings.min_values = MinValuesPolicy::BestEffort).assert_clean();
}

#[test]
fn no_instance_is_made_when_no_node_is_left() {
    let of_pool = pool("general").limit("nodes", "1");
    let full = snapshot().pool(of_pool, sizes()).node(node("n1").pool("general"));
    let scene = Scene::new(full.pod(web())).claim("general", ["web"]);
    assert_breaks(Rule::Limit, &scene);
}

#[test]
fn anti_affinity_binds_both_ways() {
    // The pod that is there wants to be alone; the new one does not mind.
    let hermit = pod("hermit").anti_affinity(label::ZONE, like_web());
    let node = node("n1").zone("a").pod(hermit);
    let scene = |zone| {
        Scene::new(cluster().node(node.clone()).pod(web())).claim_in(zone, "general", ["web"])
    };
    scene("b").assert_clean();
    assert_breaks(Rule::AntiAffinity, &scene("a"));
    let open = Scene::new(cluster().node(node.clone()).pod(web())).claim("general", ["web"]);
    assert_breaks(Rule::AntiAffinity, &open);
}

#[test]
fn anti_affinity_reaches_the_namespaces_it_names() {
    let mut term = affinity_term(label::HOSTNAME, like_web());
    term.namespace_selector = Some(LabelSelector::new([SelectorTerm::Exists("shared".into())]));
    let node = node("n1").pod(pod("other").namespace("shared").label("app", "web"));
    let all = cluster().namespace("shared", [("shared", "yes")]).node(node);
    let scene = Scene::new(all.pod(web().anti_affinity_term(term))).node("n1", ["web"]);
    assert_breaks(Rule::AntiAffinity, &scene);
}

#[test]
fn two_pods_that_must_be_alone_are_not_on_one_host() {
    let alone = || web().anti_affinity(label::HOSTNAME, like_web());
    webs(cluster(), alone(), 2)
        .claim("general", ["web-0"])
        .claim("general", ["web-1"])
        .assert_clean();
    let together = webs(cluster(), alone(), 2).claim("general", ["web-0", "web-1"]);
    assert_breaks(Rule::AntiAffinity, &together);
}

#[test]
fn a_pod_that_must_be_near_others_cannot_be_where_none_is_certain() {
    let near = || web().affinity(label::ZONE, selector([("app", "db")]));
    let db = || pod("db").label("app", "db");
    // The database may be anywhere.
    let open = Scene::new(cluster().pod(db()).pod(near())).claim("general", ["db"]).claim_in(
        "a",
        "general",
        ["web"],
    );
    assert_breaks(Rule::Affinity, &open);
    // On the same instance it is near whatever happens.
    Scene::new(cluster().pod(db()).pod(near())).claim("general", ["db", "web"]).assert_clean();
    // A node without the label is in no zone.
    let nowhere = node("n1").without_label(label::ZONE).pod(db());
    let nowhere = Scene::new(cluster().node(nowhere).pod(near())).node("n1", ["web"]);
    assert_breaks(Rule::TopologyNowhere, &nowhere);
}

#[test]
fn a_group_that_has_a_place_does_not_open_another() {
    let together = || web().affinity(label::ZONE, like_web());
    let node = node("n1").zone("a").pod(pod("old").label("app", "web"));
    let scene = |zone| {
        webs(cluster().node(node.clone()), together(), 2).claim_in(
            zone,
            "general",
            ["web-0", "web-1"],
        )
    };
    scene("a").assert_clean();
    assert_breaks(Rule::Affinity, &scene("b"));
}

#[test]
fn pods_that_must_share_a_host_are_not_on_two() {
    let together = || web().affinity(label::HOSTNAME, like_web());
    let two =
        webs(cluster(), together(), 2).claim("general", ["web-0"]).claim("general", ["web-1"]);
    assert_breaks(Rule::Affinity, &two);
}

#[test]
fn spread_over_hosts_allows_max_skew_on_each() {
    let even = || web().cpu("100m").spread(label::HOSTNAME, 2, like_web());
    let on_claim = |count| {
        let scene = webs(cluster(), even(), count);
        if count == 2 {
            scene.claim("general", ["web-0", "web-1"])
        } else {
            scene.claim("general", ["web-0", "web-1", "web-2"])
        }
    };
    on_claim(2).assert_clean();
    assert_breaks(Rule::Spread, &on_claim(3));
    let busy = node("n1").pod(web().cpu("100m")).pod(pod("more").label("app", "web"));
    let idle = node("n2");
    let on_node = webs(cluster().node(busy).node(idle), even(), 1).node("n1", ["web-0"]);
    assert_breaks(Rule::Spread, &on_node);
}

#[test]
fn with_too_few_domains_every_domain_gets_max_skew() {
    let constraint = || {
        let mut constraint = spread_constraint(label::ZONE, 1, like_web());
        constraint.min_domains = Some(4);
        constraint
    };
    let scene = |zones: [&str; 4]| {
        let all = webs(cluster(), web().spread_constraint(constraint()), 4);
        all.claim_in(zones[0], "general", ["web-0"])
            .claim_in(zones[1], "general", ["web-1"])
            .claim_in(zones[2], "general", ["web-2"])
    };
    scene(["a", "b", "c", ""]).unschedulable("web-3").assert_clean();
    let fourth = scene(["a", "b", "c", ""]).claim_in("a", "general", ["web-3"]);
    assert_breaks(Rule::Spread, &fourth);
}

#[test]
fn spread_counts_what_was_there_even_for_pods_it_does_not_count() {
    let busy = node("n1").zone("a").pod(web()).pod(pod("more").label("app", "web"));
    let other = pod("other").spread(label::ZONE, 1, like_web());
    let scene = |zone| {
        Scene::new(cluster().node(busy.clone()).pod(other.clone())).claim_in(
            zone,
            "general",
            ["other"],
        )
    };
    scene("b").assert_clean();
    assert_breaks(Rule::Spread, &scene("a"));
}
