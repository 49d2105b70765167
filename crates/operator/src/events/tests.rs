use expect_test::expect;
use joiner_clock::Clock;
use joiner_core::disruption::Score;
use joiner_lab::{
    Lab, Setup,
    faults::{Aim, Fault, Rule},
};
use k8s_openapi::api::core::v1::{Event as Object, Namespace};
use kube::{Api, Client};

use super::{dedupe::Dedupe, *};

fn subject(kind: &str, name: &str) -> Subject {
    let group = if matches!(kind, "NodeClaim" | "NodePool") { "karpenter.sh/v1" } else { "v1" };
    Subject {
        api_version: group.to_owned(),
        kind: kind.to_owned(),
        namespace: (kind == "Pod").then(|| "shop".to_owned()),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
    }
}

fn pod(name: &str) -> Subject {
    subject("Pod", name)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How many of these events are told at once, at a moment.
fn told(dedupe: &mut Dedupe, at: Duration, events: impl IntoIterator<Item = Event>) -> usize {
    events.into_iter().filter(|event| dedupe.tells(event, at)).count()
}

/// EV-01 to EV-04, and all others.
#[test]
fn reasons_types_and_texts_are_karpenters() {
    let (pod, node) = (pod("web-0"), subject("Node", "node-1"));
    let (claim, pool) = (subject("NodeClaim", "claim-1"), subject("NodePool", "general"));
    let moment: jiff::Timestamp = "2026-01-01T12:00:00.5Z".parse().unwrap();
    let command = "delete: [node-1]";
    let score = Score {
        node_pool: "general".to_owned(),
        score: 2.8125,
        threshold: 0.5,
        savings: 12.5,
        disruption: 4.44,
    };
    let attachments = ["csi-1", "csi-2", "csi-3", "csi-4", "csi-5", "csi-6", "csi-7"];
    let events = [
        Event::nominated(&pod, Some("claim-1"), Some("node-1")),
        Event::nominated(&pod, None, Some("node-1")),
        Event::evicted(&pod, "Forceful Termination"),
        Event::failed_scheduling(&pod, "no instance type has enough resources"),
        Event::failed_draining(&node, "", "3 pods are waiting to be evicted"),
        Event::failed_draining(&node, "shop/web", "evicting pod violates a PDB (Pod=shop/web)"),
        Event::disruption_blocked(&node, "node isn't initialized"),
        Event::pool_disruption_blocked(&pool, "Drifted"),
        Event::unconsolidatable(&claim, "Can't replace with a cheaper node"),
        Event::consolidation_candidate(&node, command, 0.1),
        Event::consolidation_rejected(&node, command, "churn", 0.126),
        Event::consolidation_approved(&pool, &score),
        Event::disruption_launching(&claim, "underutilized"),
        Event::disruption_waiting_readiness(&claim),
        Event::disruption_terminating(&node, "Empty"),
        Event::disruption_terminating(&claim, "Empty"),
        Event::disruption_taken_back(&node, "NodeClaim claim-2 was deleted"),
        Event::disrupted(&pod, moment, 20, 30),
        Event::awaiting_volume_detachment(&node, &attachments[..2]),
        Event::awaiting_volume_detachment(&node, &attachments),
        Event::termination_grace_period_expiring(&claim, "2026-01-01T12:00:00Z"),
        Event::node_repair_blocked(&node, "more than 20% nodes are unhealthy in the nodepool"),
        Event::failed_consistency_check(
            &claim,
            "expected 4 of resource cpu, but found 2 (50.0% of expected)",
        ),
        Event::insufficient_capacity(&claim, "no host has 64 GiB free"),
        Event::node_class_not_ready(&claim, "class \"default\" is not ready"),
        Event::unregistered_taint_missing(&claim),
        Event::pod_without_owner(&pod, "pod shop/web-0 has no owner", "let something own it"),
        Event::invalid_do_not_disrupt(&pod, "\"soon\" is no duration"),
        Event::invalid_do_not_disrupt_of_node(&node, "1h"),
        Event::do_not_disrupt_until(&pod, moment),
        Event::do_not_disrupt_elapsed(&pod),
        Event::no_compatible_instance_types(&pool, false),
        Event::no_compatible_instance_types(&pool, true),
    ];
    let lines = events.iter().map(|event| {
        let Event { about, kind, reason, message, key, quiet, .. } = event;
        let quiet = quiet.as_secs();
        let (kind, object) = (kind.as_str(), &about.kind);
        format!("{kind} {reason} {object} [{key}, {quiet}s] {message}")
    });
    expect![[r#"
        Normal Nominated Pod [uid-of-web-0, 120s] Pod should schedule on: nodeclaim/claim-1, node/node-1
        Normal Nominated Pod [uid-of-web-0, 120s] Pod should schedule on: node/node-1
        Normal Evicted Pod [web-0, 120s] Evicted pod: Forceful Termination
        Warning FailedScheduling Pod [uid-of-web-0, 300s] Failed to schedule pod, no instance type has enough resources
        Warning FailedDraining Node [node-1-, 120s] Failed to drain node, 3 pods are waiting to be evicted
        Warning FailedDraining Node [node-1-shop/web, 120s] Failed to drain node, evicting pod violates a PDB (Pod=shop/web)
        Normal DisruptionBlocked Node [uid-of-node-1, 120s] Node isn't initialized
        Normal DisruptionBlocked NodePool [uid-of-general-Drifted, 60s] No allowed disruptions for disruption reason Drifted due to blocking budget
        Normal Unconsolidatable NodeClaim [uid-of-claim-1, 900s] Can't replace with a cheaper node
        Normal ConsolidationCandidate Node [uid-of-node-1-delete: [node-1], 120s] Consolidation candidate: delete: [node-1] (savings: $0.10)
        Normal ConsolidationRejected Node [uid-of-node-1-delete: [node-1]-churn, 120s] Consolidation rejected: delete: [node-1], reason: churn (savings: $0.13)
        Normal ConsolidationApproved NodePool [uid-of-general, 120s] score 2.81 >= threshold 0.50 (k: 2, savings 12.5%, disruption 4.4%)
        Normal DisruptionLaunching NodeClaim [uid-of-claim-1-underutilized, 120s] Launching NodeClaim: Underutilized
        Normal DisruptionWaitingReadiness NodeClaim [uid-of-claim-1, 120s] Waiting on readiness to continue disruption
        Normal DisruptionTerminating Node [uid-of-node-1-Empty, 120s] Disrupting Node: Empty
        Normal DisruptionTerminating NodeClaim [uid-of-claim-1-Empty, 120s] Disrupting NodeClaim: Empty
        Warning DisruptionTakenBack Node [uid-of-node-1-NodeClaim claim-2 was deleted, 120s] Node stays for now: NodeClaim claim-2 was deleted
        Normal Disrupted Pod [web-0, 120s] Deleting the pod to accommodate the terminationTime 2026-01-01 12:00:00 +0000 UTC of the node. The pod was granted 20 seconds of grace-period of its 30 terminationGracePeriodSeconds. This bypasses the PDB of the pod and the do-not-disrupt annotation.
        Normal AwaitingVolumeDetachment Node [node-1, 120s] Awaiting deletion of bound volumeattachments (csi-1, csi-2)
        Normal AwaitingVolumeDetachment Node [node-1, 120s] Awaiting deletion of bound volumeattachments (csi-1, csi-2, csi-3, csi-4, csi-5 and 2 other(s))
        Warning TerminationGracePeriodExpiring NodeClaim [claim-1, 120s] All pods will be deleted by 2026-01-01T12:00:00Z
        Warning NodeRepairBlocked Node [uid-of-node-1, 900s] more than 20% nodes are unhealthy in the nodepool
        Warning FailedConsistencyCheck NodeClaim [uid-of-claim-1-expected 4 of resource cpu, but found 2 (50.0% of expected), 120s] expected 4 of resource cpu, but found 2 (50.0% of expected)
        Warning InsufficientCapacityError NodeClaim [uid-of-claim-1, 120s] NodeClaim claim-1 event: no host has 64 GiB free
        Warning NodeClassNotReady NodeClaim [uid-of-claim-1, 120s] NodeClaim claim-1 event: class "default" is not ready
        Warning UnregisteredTaintMissing NodeClaim [uid-of-claim-1, 120s] Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes
        Warning PodWithoutOwner Pod [uid-of-web-0, 86400s] Pod shop/web-0 has no owner. What helps: let something own it
        Warning InvalidDoNotDisruptAnnotation Pod [uid-of-web-0-"soon" is no duration, 120s] Invalid karpenter.sh/do-not-disrupt annotation: "soon" is no duration, ignoring annotation
        Warning InvalidDoNotDisruptAnnotation Node [uid-of-node-1-1h, 86400s] Invalid karpenter.sh/do-not-disrupt annotation: "1h" does not protect a node, only "true" does, and pods alone are protected for a time; write "true", or remove it
        Normal DoNotDisruptUntil Pod [uid-of-web-0-2026-01-01T12:00:00Z, 120s] The karpenter.sh/do-not-disrupt grace period will elapse at 2026-01-01T12:00:00Z
        Normal DoNotDisruptGracePeriodElapsed Pod [uid-of-web-0, 120s] The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable
        Warning NoCompatibleInstanceTypes NodePool [uid-of-general, 60s] NodePool requirements filtered out all compatible available instance types
        Warning NoCompatibleInstanceTypes NodePool [uid-of-general, 60s] NodePool requirements filtered out all compatible available instance types due to minValues incompatibility"#]].assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_long_error_is_cut_between_characters() {
    let claim = subject("NodeClaim", "claim-1");
    let event = Event::insufficient_capacity(&claim, &"ü".repeat(400));
    assert_eq!(event.message, format!("NodeClaim claim-1 event: {}...", "ü".repeat(300)));
}

/// EV-05.
#[test]
fn the_same_event_is_told_once_in_two_minutes() {
    let mut dedupe = Dedupe::default();
    let event = Event::evicted(&pod("web-0"), "Empty");
    assert_eq!(told(&mut dedupe, seconds(0), vec![event.clone(); 100]), 1);
    assert_eq!(told(&mut dedupe, seconds(119), [event.clone()]), 0);
    assert_eq!(told(&mut dedupe, seconds(120), [event]), 1);
}

/// EV-06.
#[test]
fn how_long_it_is_quiet_can_be_chosen() {
    let mut dedupe = Dedupe::default();
    let event = Event::evicted(&pod("web-0"), "Empty").quiet_for(seconds(2));
    assert_eq!(told(&mut dedupe, seconds(0), vec![event.clone(); 10]), 1);
    assert_eq!(told(&mut dedupe, seconds(3), [event]), 1);
}

/// EV-07.
#[test]
fn events_about_different_objects_are_all_told() {
    let events = (0..100).map(|n| Event::evicted(&pod(&format!("web-{n}")), "Empty"));
    assert_eq!(told(&mut Dedupe::default(), seconds(0), events), 100);
}

fn nominations(from: u32, count: u32) -> impl Iterator<Item = Event> {
    (from..from + count).map(|n| Event::nominated(&pod(&format!("web-{n}")), Some("claim"), None))
}

/// EV-08.
#[test]
fn only_ten_nominations_are_told_at_once() {
    assert_eq!(told(&mut Dedupe::default(), seconds(0), nominations(0, 100)), 10);
}

/// EV-09.
#[test]
fn five_nominations_a_second_are_told_for_ever() {
    let mut dedupe = Dedupe::default();
    let each =
        (0..60).map(|second| told(&mut dedupe, seconds(second.into()), nominations(second * 5, 5)));
    assert_eq!(each.sum::<usize>(), 300);
}

#[test]
fn what_is_over_is_forgotten() {
    let mut dedupe = Dedupe::default();
    for second in 0..10_000 {
        dedupe.tells(&Event::evicted(&pod(&format!("web-{second}")), ""), seconds(second));
    }
    assert!(dedupe.remembered() <= 130, "{}", dedupe.remembered());
}

fn lab() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

fn recorder(lab: &Lab) -> (Clock, Recorder, Writer, Api<Object>) {
    let clock = lab.server().clock().clone();
    let client = Client::new(lab.client("joiner").connect(), "default");
    let (recorder, writer) = Recorder::new(clock.clone(), client.clone());
    (clock, recorder, writer, Api::all(client))
}

async fn written(events: &Api<Object>) -> String {
    let events = events.list(&<_>::default()).await.unwrap();
    let lines = events.items.iter().map(|event| {
        let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
            time.as_ref().map(|time| time.0.strftime("%H:%M:%S").to_string()).unwrap_or_default()
        };
        format!(
            "{}/{} {} {} ×{} {}-{} {} ({})",
            event.metadata.namespace.as_deref().unwrap_or_default(),
            event.involved_object.name.as_deref().unwrap_or_default(),
            event.type_.as_deref().unwrap_or_default(),
            event.reason.as_deref().unwrap_or_default(),
            event.count.unwrap_or_default(),
            time(&event.first_timestamp),
            time(&event.last_timestamp),
            event.message.as_deref().unwrap_or_default(),
            event
                .source
                .as_ref()
                .and_then(|source| source.component.as_deref())
                .unwrap_or_default(),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(start_paused = true)]
async fn events_are_written_and_counted_as_client_go_does() {
    let lab = lab();
    let (clock, recorder, writer, events) = recorder(&lab);
    let namespaces: Api<Namespace> = Api::all(events.clone().into_client());
    let mut shop = Namespace::default();
    shop.metadata.name = Some("shop".to_owned());
    namespaces.create(&<_>::default(), &shop).await.unwrap();
    let tell = async {
        recorder.tell(Event::failed_scheduling(&pod("web-0"), "no room"));
        recorder.tell(Event::failed_draining(&subject("Node", "node-1"), "", "1 pods are waiting"));
        clock.sleep(seconds(300)).await;
        recorder.tell(Event::failed_scheduling(&pod("web-0"), "no room"));
        clock.sleep(seconds(300)).await;
        recorder.tell(Event::failed_scheduling(&pod("web-0"), "another reason"));
        recorder.close();
    };
    tokio::join!(writer.run(), tell);
    expect![[r#"
        default/node-1 Warning FailedDraining ×1 00:00:00-00:00:00 Failed to drain node, 1 pods are waiting (karpenter)
        shop/web-0 Warning FailedScheduling ×2 00:00:00-00:05:00 Failed to schedule pod, no room (karpenter)
        shop/web-0 Warning FailedScheduling ×1 00:10:00-00:10:00 Failed to schedule pod, another reason (karpenter)"#]].assert_eq(&written(&events).await);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_makes_nobody_wait_and_costs_only_the_oldest() {
    let lab = lab();
    let (clock, recorder, writer, events) = recorder(&lab);
    lab.faults().add(Rule {
        fault: Fault::Unavailable,
        aim: Aim { verb: "create".to_owned(), ..Aim::default() },
        from: jiff::SignedDuration::ZERO,
        skip: 0,
        times: Some(3),
    });
    let tell = async {
        for n in 0..1200 {
            recorder.tell(Event::failed_draining(&subject("Node", &format!("node-{n}")), "", "x"));
        }
        clock.sleep(seconds(60)).await;
        recorder.close();
    };
    tokio::join!(writer.run(), tell);
    assert_eq!(recorder.dropped(), 200);
    assert_eq!(events.list(&<_>::default()).await.unwrap().items.len(), 1000);
}

/// A look at a very large cluster tells more at once than can wait; the next look tells the rest.
#[tokio::test(start_paused = true)]
async fn what_was_lost_may_be_told_again_at_once() {
    let lab = lab();
    let (_, recorder, writer, events) = recorder(&lab);
    let tell = |n: usize| {
        recorder.tell(Event::failed_draining(&subject("Node", &format!("node-{n}")), "", "x"));
    };
    (0..1001).for_each(tell);
    tell(1000);
    assert_eq!(recorder.dropped(), 1, "what waits is not told again");
    tell(0);
    assert_eq!(recorder.dropped(), 2);
    recorder.close();
    writer.run().await;
    let written = events.list(&<_>::default()).await.unwrap().items;
    let about =
        |name: &str| written.iter().any(|it| it.involved_object.name.as_deref() == Some(name));
    assert!(about("node-0") && !about("node-1"));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_refused_does_not_hold_up_others() {
    let lab = lab();
    let (_, recorder, writer, events) = recorder(&lab);
    // There is no namespace of this name.
    recorder.tell(Event::failed_scheduling(&pod("web-0"), "no room"));
    recorder.tell(Event::failed_draining(&subject("Node", "node-1"), "", "1 pods are waiting"));
    recorder.close();
    writer.run().await;
    expect!["default/node-1 Warning FailedDraining ×1 00:00:00-00:00:00 Failed to drain node, 1 pods are waiting (karpenter)"].assert_eq(&written(&events).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_does_not_hold_up_other_events() {
    let lab = lab();
    let (clock, recorder, writer, events) = recorder(&lab);
    lab.faults().add(Rule {
        fault: Fault::Slow(Duration::from_hours(24)),
        aim: Aim { verb: "create".to_owned(), plural: "events".to_owned(), ..Aim::default() },
        from: jiff::SignedDuration::ZERO,
        skip: 0,
        times: Some(1),
    });
    for node in ["node-1", "node-2"] {
        recorder.tell(Event::failed_draining(&subject("Node", node), "", "1 pods are waiting"));
    }
    recorder.close();
    let begun = clock.running();
    writer.run().await;
    assert_eq!(clock.running().saturating_sub(begun), crate::cluster::DEADLINE);
    let written = written(&events).await;
    assert!(written.contains("default/node-2 "), "{written}");
}
