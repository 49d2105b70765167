//! Objects in, pictures and lines out.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::{
    amounts::clock,
    scene::{Node, PodState, Scene},
    testing::{
        Stand, busy, claim, daemon, event, event_of_claim, failed, leaving, moment, node, pod,
        pod_on, pool, silent,
    },
};

const ALL: [&str; 3] = ["Launched", "Registered", "Initialized"];

/// Compares instances, each in one line.
#[track_caller]
fn check_instances(scene: &Scene, expected: &Expect) {
    let line = |node: &Node| {
        let pods: String = node
            .pods
            .iter()
            .map(|pod| match (pod.daemon, pod.state) {
                (true, _) => 'd',
                (false, PodState::Starting) => 's',
                (false, PodState::Unready) => 'u',
                (false, PodState::Running) => 'r',
                (false, PodState::Ending) => 'e',
            })
            .collect();
        format!(
            "{} {} of {:?} {} {} {} {:?} cpu {}/{} pods {pods:?} planned {} why {:?}\n",
            node.name,
            node.phase.word(),
            node.pool,
            node.instance_type,
            node.capacity_type,
            node.zone,
            node.price,
            node.cpu.requested,
            node.cpu.total,
            node.planned_pods,
            node.why,
        )
    };
    expected.assert_eq(&scene.nodes.iter().map(line).collect::<String>());
}

/// Compares what happened.
#[track_caller]
fn check_lines(scene: &Scene, expected: &Expect) {
    let lines = scene.happenings.iter().map(|own| {
        format!("{} {:?} {}| {} | {}\n", clock(own.at), own.kind, own.subject, own.what, own.why)
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn an_instance_goes_through_its_phases() {
    let mut stand = Stand::new();
    let mut phases = Vec::new();
    let mut note = |stand: &Stand, at| {
        let scene = stand.view.scene(moment(at));
        phases.extend(scene.nodes.iter().map(|node| (node.phase.word(), node.since)));
        if scene.nodes.is_empty() {
            phases.push(("none", at));
        }
    };
    stand.see(1.0, claim("batch-one", &[]));
    note(&stand, 1.0);
    stand.see(2.0, claim("batch-one", &ALL[..1]));
    note(&stand, 2.0);
    // Some clouds make the Node before there is a kubelet.
    stand.see(28.0, silent(node("batch-one", false)));
    stand.see(29.0, claim("batch-one", &ALL[..2]));
    note(&stand, 29.0);
    stand.see(31.0, node("batch-one", false));
    note(&stand, 31.0);
    stand.see(35.0, node("batch-one", true));
    stand.see(36.0, claim("batch-one", &ALL));
    stand.see(37.0, pod_on("web-1", "batch-one", true));
    note(&stand, 37.0);
    stand.see(50.0, node("batch-one", false));
    note(&stand, 50.0);
    stand.see(55.0, node("batch-one", true));
    note(&stand, 55.0);
    stand.see(60.0, leaving(claim("batch-one", &ALL), "Drifted"));
    note(&stand, 60.0);
    stand.gone(70.0, pod_on("web-1", "batch-one", true));
    note(&stand, 70.0);
    stand.gone(71.0, node("batch-one", true));
    stand.gone(72.0, claim("batch-one", &ALL));
    note(&stand, 72.0);
    assert_eq!(
        phases,
        [
            ("asked", 1.0),
            ("booting", 2.0),
            ("booting", 2.0),
            ("joining", 31.0),
            ("ready", 36.0),
            ("lost", 50.0),
            ("ready", 36.0),
            ("draining", 60.0),
            ("leaving", 60.0),
            ("none", 72.0),
        ]
    );
    check_lines(
        &stand.view.scene(moment(80.0)),
        &expect![[r#"
            00:02 Launched batch-one| c-8x, spot, 0.200/h | for 3 pods: cpu 6, memory 3Gi; cheapest of 2 types that fit
            00:36 Ready batch-one| ready | 35 s after it was asked for
            00:50 Lost batch-one| does not answer any more | kubelet is silent
            00:55 Back batch-one| is back | 5 s after it was missed
            01:00 Leaving batch-one| is drained and removed | it is not what its NodePool or NodeClass asks for any more
            01:12 Gone batch-one| is gone | 0.200/h saved
        "#]],
    );
}

#[test]
fn a_picture_has_instances_pools_pods_and_reasons() {
    let scene = busy().scene(moment(100.0));
    check_instances(
        &scene,
        &expect![[r#"
            batch-one ready of "batch" c-8x spot a Some(0.2) cpu 4.1/8 pods "rrd" planned 0 why ""
            batch-two lost of "batch" c-8x spot a Some(0.2) cpu 2.1/8 pods "ud" planned 0 why "kubelet is silent"
            batch-three booting of "batch" c-8x spot a Some(0.2) cpu 6/7.9 pods "" planned 3 why ""
        "#]],
    );
    check_lines(
        &scene,
        &expect![[r#"
        00:01 Story | A burst | Many pods at once.
        00:02 Arrived shop/web| 5 pods want a place | cpu 10, memory 5Gi
        00:04 Launched batch ×2| c-8x, spot, 0.400/h | for 6 pods: cpu 12, memory 6Gi; cheapest of 2 types that fit
        00:40 Ready batch ×2| are ready | the last 37 s after it was asked for
        01:00 Lost batch-two| does not answer any more | kubelet is silent
        01:11 Launched batch-three| c-8x, spot, 0.200/h | for 3 pods: cpu 6, memory 3Gi; cheapest of 2 types that fit
        01:13 Refused shop/web| no place for 1 pod | no instance type has enough resources: the pod needs cpu 24
    "#]],
    );
    let waiting: Vec<String> = scene
        .waiting
        .iter()
        .map(|pod| format!("{} of {} → {:?}: {}", pod.name, pod.workload, pod.headed_for, pod.why))
        .collect();
    expect![[r#"
        web-4 of shop/web → "batch-three": 
        web-5 of shop/web → "": no instance type has enough resources: the pod needs cpu 24"#]]
    .assert_eq(&waiting.join("\n"));
    let pools: Vec<(&str, usize, usize, Option<f64>)> = scene
        .pools
        .iter()
        .map(|pool| (pool.name.as_str(), pool.nodes, pool.pods, pool.cpu_limit))
        .collect();
    assert_eq!(pools, [("batch", 3, 3, Some(64.0)), ("general", 0, 0, Some(64.0))]);
    let totals = scene.totals;
    assert_eq!((totals.running, totals.unready, totals.waiting), (2, 1, 2));
    assert_eq!((totals.ready, totals.coming, totals.lost), (1, 1, 1));
    assert_eq!(scene.timeline.len(), 2);
}

#[test]
fn a_node_without_a_claim_is_an_instance_too() {
    let mut stand = Stand::new();
    stand.see(0.0, node("old-1", true));
    stand.see(1.0, pod_on("web-1", "old-1", true));
    check_instances(
        &stand.view.scene(moment(2.0)),
        &expect![[r#"
        old-1 ready of ""    None cpu 2/8 pods "r" planned 0 why ""
    "#]],
    );
}

#[test]
fn what_the_scheduler_says_of_todays_nodes_is_no_reason() {
    let mut stand = Stand::new();
    stand.see(0.0, pod("web-1"));
    let message = "0/3 nodes are available: 3 Insufficient cpu.";
    stand.see(1.0, event("web-1", "default-scheduler", "FailedScheduling", message));
    let why = |stand: &Stand| stand.view.scene(moment(9.0)).waiting[0].why.clone();
    assert_eq!(why(&stand), "");
    stand.see(2.0, event("web-1", "karpenter", "FailedScheduling", "no pool tolerates it"));
    assert_eq!(why(&stand), "no pool tolerates it");
    stand.see(
        3.0,
        event("web-1", "karpenter", "Nominated", "Pod should schedule on: nodeclaim/a, node/b"),
    );
    assert_eq!(why(&stand), "");
    assert_eq!(stand.view.scene(moment(9.0)).waiting[0].headed_for, "a");
}

#[test]
fn pods_that_are_over_or_daemons_do_not_count() {
    let mut stand = Stand::new();
    stand.see(0.0, node("old-1", true));
    stand.see(0.0, daemon("agent-1", "old-1"));
    let mut done = pod_on("web-1", "old-1", true);
    stand.see(1.0, done.clone());
    assert_eq!(stand.view.totals().running, 1);
    done["status"]["phase"] = "Succeeded".into();
    stand.see(2.0, done);
    let scene = stand.view.scene(moment(3.0));
    assert_eq!(scene.totals.running, 0);
    assert_eq!(scene.nodes[0].pods.len(), 1);
    assert!((scene.nodes[0].cpu.requested - 0.1).abs() < 1e-9);
}

#[test]
fn it_is_told_once_that_nobody_waits_any_more() {
    let mut stand = Stand::new();
    stand.see(0.0, node("old-1", true));
    stand.see(1.0, pod("web-1"));
    stand.view.pass(moment(2.0));
    stand.see(11.0, pod_on("web-1", "old-1", true));
    for second in 12..20 {
        stand.view.pass(moment(f64::from(second)));
    }
    check_lines(
        &stand.view.scene(moment(20.0)),
        &expect![[r#"
        00:01 Arrived shop/web| 1 pod wants a place | cpu 2, memory 1Gi
        00:12 Settled | the pod runs | the last one waited 10 s
    "#]],
    );
}

#[test]
fn a_cloud_that_is_slow_to_answer_is_told_of_once() {
    let mut stand = Stand::new();
    stand.see(0.0, claim("batch-one", &[]));
    stand.see(1.0, claim("batch-two", &[]));
    stand.see(2.0, claim("batch-two", &ALL[..1]));
    for second in 0..20 {
        stand.view.pass(moment(f64::from(second)));
    }
    check_lines(
        &stand.view.scene(moment(20.0)),
        &expect![[r#"
        00:02 Launched batch-two| c-8x, spot, 0.200/h | for 3 pods: cpu 6, memory 3Gi; cheapest of 2 types that fit
        00:06 Asked batch-one| an instance is asked for | for 3 pods (cpu 6, memory 3Gi)
    "#]],
    );
}

#[test]
fn lines_are_told_when_nothing_can_be_added_to_them() {
    let mut stand = Stand::new();
    stand.see(10.0, pod("web-1"));
    assert_eq!(stand.view.told(moment(11.0), 0).len(), 0);
    stand.see(11.0, pod("web-2"));
    let told = stand.view.told(moment(15.0), 0);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].what, "2 pods want a place");
    assert_eq!(stand.view.told(moment(15.0), told[0].number + 1).len(), 0);
}

#[test]
fn an_object_that_cannot_be_read_is_named() {
    let broken = json!({"metadata": {"name": 7}});
    let error = crate::Seen::read("", "pods", broken).unwrap_err();
    assert_eq!(error.to_string(), "an object of pods cannot be read");
    assert!(crate::Seen::read("", "secrets", json!({})).unwrap().is_none());
    let mut stand = Stand::new();
    stand.see(0.0, pool("general"));
    assert_eq!(stand.view.scene(moment(1.0)).pools.len(), 1);
}

/// What pods want and what there is for them are told of the same instances, whatever their phase.
#[test]
fn a_pool_has_at_least_what_is_planned_on_it() {
    let mut stand = Stand::new();
    let check = |stand: &Stand, what: &str, at_least: f64| {
        let scene = stand.view.scene(moment(100.0));
        let pool = scene.pools.iter().find(|pool| pool.name == "batch").unwrap();
        for amount in [pool.cpu, pool.memory] {
            assert!(amount.requested <= amount.total, "{what}: {amount:?}");
        }
        assert!(pool.cpu.total >= at_least, "{what}: {:?}", pool.cpu);
    };
    stand.see(0.0, pool("batch"));
    check(&stand, "nothing", 0.0);
    stand.see(1.0, claim("batch-one", &[]));
    check(&stand, "asked for 6 cores, of a size that is not known yet", 6.0);
    stand.see(2.0, claim("batch-one", &ALL[..1]));
    check(&stand, "launched", 7.9);
    stand.see(3.0, claim("batch-two", &[]));
    check(&stand, "one launched, one asked for", 13.9);
    stand.see(30.0, node("batch-one", false));
    stand.see(31.0, claim("batch-one", &ALL[..2]));
    stand.see(36.0, claim("batch-one", &ALL));
    check(&stand, "one ready", 14.0);
    stand.see(37.0, pod_on("web-1", "batch-one", true));
    stand.see(60.0, leaving(claim("batch-one", &ALL), "Drifted"));
    stand.gone(71.0, node("batch-one", true));
    check(&stand, "its node is gone, its pod is not", 6.0);
}

#[test]
fn every_end_is_told_with_its_whole_reason() {
    let mut stand = Stand::new();
    let all = |name: &str| claim(name, &ALL);
    for name in ["said", "word", "late", "unsaid", "silent", "never"] {
        stand.see(0.0, if name == "never" { claim(name, &[]) } else { all(name) });
    }
    stand.see(0.0, node("silent", true));
    // The node of a claim may have another name, which is not in the picture.
    let mut said = all("said");
    said["status"]["nodeName"] = "kwok-said-3b7997ba".into();
    stand.see(1.0, said.clone());
    let sentence = "kwok-said-3b7997ba and other hold nothing that would have to move; 0.2000 per hour are saved";
    stand.see(10.0, leaving(said, sentence));
    stand.see(20.0, leaving(all("word"), "Underutilized"));
    stand.see(30.0, deleted(all("late")));
    let told = "Disrupting NodeClaim: Its node has not been ready for a minute";
    stand.see(31.0, event_of_claim("late", "DisruptionTerminating", told));
    stand.see(40.0, deleted(all("unsaid")));
    stand.view.pass(moment(41.0));
    stand.view.pass(moment(43.0));
    stand.see(50.0, node("silent", false));
    stand.see(60.0, deleted(all("silent")));
    stand.gone(60.0, node("silent", false));
    stand.view.pass(moment(63.0));
    let full = "no room for a vsphere-vm.cpu-8.mem-32gb.os-linux";
    stand.see(70.0, deleted(failed(claim("never", &[]), "Launched", full)));
    stand.gone(71.0, claim("never", &[]));
    check_lines(
        &stand.view.scene(moment(80.0)),
        &expect![[r#"
            00:00 Launched batch ×5| c-8x, spot, 1.000/h | for 15 pods: cpu 30, memory 15Gi; cheapest of 2 types that fit
            00:00 Ready batch ×5| are ready | the last 0 s after it was asked for
            00:10 Leaving said| is drained and removed | said and other hold nothing that would have to move; 0.2000 per hour are saved
            00:20 Leaving word| is drained and removed | its pods fit elsewhere, and that costs less
            00:31 Leaving late| is drained and removed | its node has not been ready for a minute
            00:41 Asked never| an instance is asked for | for 3 pods (cpu 6, memory 3Gi)
            00:43 Leaving unsaid| is drained and removed | its NodeClaim was deleted
            00:50 Lost silent| does not answer any more | kubelet is silent
            01:03 Leaving silent| is drained and removed | its node does not answer: kubelet is silent
            01:11 Leaving never| is given up | no room for a 8 cpu 32Gi
            01:11 Gone never| is gone | 
        "#]],
    );
}

#[test]
fn a_claim_that_is_not_marked_any_more_stays_and_has_no_reason() {
    let mut stand = Stand::new();
    let mut marked = leaving(claim("batch-one", &ALL), "Underutilized");
    marked["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
    stand.see(0.0, marked);
    let why = |stand: &Stand| stand.view.scene(moment(9.0)).nodes[0].why.clone();
    assert_eq!(why(&stand), "its pods fit elsewhere, and that costs less");
    stand.see(1.0, claim("batch-one", &ALL));
    assert_eq!(why(&stand), "");
}

#[test]
fn instances_that_answer_again_are_back() {
    let mut stand = Stand::new();
    let both = ["batch-one", "batch-two"];
    for name in both {
        stand.see(0.0, claim(name, &ALL));
    }
    for (at, ready) in [(1.0, true), (50.0, false), (98.0, true)] {
        for name in both {
            stand.see(at, of_pool(node(name, ready)));
        }
    }
    stand.see(110.0, node("old-1", true));
    stand.see(120.0, node("old-1", false));
    stand.see(130.0, node("old-1", true));
    // One that goes all the same is not back.
    stand.see(200.0, of_pool(node("batch-one", false)));
    stand.see(201.0, leaving(claim("batch-one", &ALL), "Unhealthy"));
    stand.see(202.0, of_pool(node("batch-one", true)));
    check_lines(
        &stand.view.scene(moment(210.0)),
        &expect![[r#"
        00:00 Launched batch ×2| c-8x, spot, 0.400/h | for 6 pods: cpu 12, memory 6Gi; cheapest of 2 types that fit
        00:00 Ready batch ×2| are ready | the last 0 s after it was asked for
        00:50 Lost batch-one| does not answer any more | kubelet is silent
        00:50 Lost batch-two| does not answer any more | kubelet is silent
        01:38 Back batch ×2| are back | the last 48 s after it was missed
        02:00 Lost old-1| does not answer any more | kubelet is silent
        02:10 Back old-1| is back | 10 s after it was missed
        03:20 Lost batch-one| does not answer any more | kubelet is silent
        03:21 Leaving batch-one| is drained and removed | its node is not healthy
    "#]],
    );
}

#[test]
fn a_derived_name_of_a_type_is_told_as_its_size() {
    let mut stand = Stand::new();
    stand.see(0.0, claim("batch-one", &[]));
    let mut launched = claim("batch-one", &ALL[..1]);
    let derived = "vsphere-vm.cpu-8.mem-32gb.os-linux";
    launched["metadata"]["labels"]["node.kubernetes.io/instance-type"] = derived.into();
    stand.see(1.0, launched);
    let scene = stand.view.scene(moment(2.0));
    assert_eq!(scene.nodes[0].instance_type, "8 cpu 32Gi");
    assert_eq!(scene.happenings[0].what, "8 cpu 32Gi, spot");
}

/// The same object while it is being deleted.
fn deleted(mut object: serde_json::Value) -> serde_json::Value {
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    object
}

/// A node of the pool `batch`.
fn of_pool(mut node: serde_json::Value) -> serde_json::Value {
    node["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "batch"});
    node
}
