//! Objects in, facts about instances out.

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use joiner_core::{
    disruption::{ConsolidationPolicy, KeptBy, MinScore, NodeBudget, Paused, PoolRules},
    instance_type::Catalog,
};

use super::*;
use crate::index::{IndexSettings, snapshot, tests::NOW, tests::objects};

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The fleet of objects from YAML.
fn fleet_of(yaml: &str, live: &Live) -> (Snapshot, Fleet) {
    let objects = objects(yaml);
    fleet_with(&IndexSettings::default(), &objects, live)
}

fn fleet_with(settings: &IndexSettings, objects: &Objects, live: &Live) -> (Snapshot, Fleet) {
    let snapshot = snapshot(objects, Catalog::default(), settings, now()).snapshot;
    let fleet = fleet(objects, &snapshot, settings, live, now());
    (snapshot, fleet)
}

/// The only instance of objects from YAML.
fn instance(yaml: &str, live: &Live) -> Instance {
    let (_, mut fleet) = fleet_of(yaml, live);
    assert_eq!(fleet.instances.len(), 1);
    fleet.instances.remove(0)
}

const CREATED: &str = "2026-05-01T00:00:00Z";
const READY: &str = "{type: Ready, status: 'True'}";
const NO_CONDITIONS: &str = "";
const ALL_WELL: &str = "
{type: Initialized, status: 'True', lastTransitionTime: '2026-06-01T10:00:00Z'},
{type: Consolidatable, status: 'True', lastTransitionTime: '2026-06-01T10:05:00Z'}";

/// A Node with its claim. `metadata` is more of the Node's, `spec` and `status` more of the claim's.
fn pair(
    metadata: &str,
    node_conditions: &str,
    spec: &str,
    conditions: &str,
    status: &str,
) -> String {
    format!(
        "
apiVersion: v1
kind: Node
metadata:
  name: n
  labels: {{karpenter.sh/nodepool: p, karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true'}}
  {metadata}
spec: {{providerID: 'x://1'}}
status: {{conditions: [{node_conditions}]}}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {{name: c, creationTimestamp: '{CREATED}', labels: {{karpenter.sh/nodepool: p}}}}
spec: {{requirements: [], {spec}}}
status: {{providerID: 'x://1', {status} conditions: [{conditions}]}}
---
"
    )
}

fn claim_facts(spec: &str, conditions: &str, status: &str, live: &Live) -> ClaimFacts {
    instance(&pair("", READY, spec, conditions, status), live).claim.unwrap()
}

#[test]
fn conditions_of_the_claim_decide() {
    let controller = Live::default();
    let facts = claim_facts("", ALL_WELL, "", &controller);
    assert!(facts.consolidatable && facts.drifted.is_none() && !facts.has_grace_period);
    assert_eq!(facts.quiet_since, Some("2026-06-01T10:00:00Z".parse().unwrap()));

    let initialized_only = "{type: Initialized, status: 'True'}";
    for live in [&controller, &Live::of_nobody()] {
        assert!(!claim_facts("", initialized_only, "", live).consolidatable);
    }
    let unknown = "{type: Initialized, status: Unknown}, {type: Consolidatable, status: 'False'}";
    let facts = claim_facts("", unknown, "", &controller);
    assert_eq!((facts.quiet_since, facts.consolidatable), (None, false));
}

#[test]
fn an_instance_is_quiet_since_its_last_pod_event() {
    let moved = "lastPodEventTime: '2026-06-01T11:58:00Z',";
    let facts = claim_facts("", ALL_WELL, moved, &Live::default());
    assert_eq!(facts.quiet_since, Some("2026-06-01T11:58:00Z".parse().unwrap()));
}

/// A dump is read for tonight: nobody was there to say that the instance has become quiet since.
#[test]
fn objects_that_are_older_than_the_time_they_are_judged_for_become_quiet() {
    let initialized = "{type: Initialized, status: 'True'}";
    for (after, moved, expected) in [
        ("30s", "11:58:00", true),
        ("120s", "11:58:00", true),
        ("121s", "11:58:00", false),
        ("30s", "12:30:00", false),
        ("Never", "11:58:00", false),
    ] {
        let moved = format!("lastPodEventTime: '2026-06-01T{moved}Z',");
        let objects = pair("", READY, "", initialized, &moved);
        let pool = pool("", &format!(", disruption: {{consolidateAfter: {after}}}"));
        let of = |live: &Live| instance(&format!("{pool}{objects}"), live).claim.unwrap();
        assert_eq!(of(&Live::of_nobody()).consolidatable, expected, "{after}, {moved}");
        assert!(!of(&Live::default()).consolidatable, "the controller itself says so, or not");
    }
}

#[test]
fn a_claim_written_by_hand_is_judged_by_its_node_and_a_live_one_is_doubted() {
    let by_hand = claim_facts("", NO_CONDITIONS, "", &Live::of_nobody());
    assert!(by_hand.consolidatable);
    assert_eq!(by_hand.quiet_since, Some(CREATED.parse().unwrap()));
    let doubted = claim_facts("", NO_CONDITIONS, "", &Live::default());
    assert_eq!((doubted.quiet_since, doubted.consolidatable), (None, false));
}

#[test]
fn a_drifted_claim_says_why_and_since_when() {
    let drifted = "{type: Drifted, status: 'True', reason: NodePoolDrifted, \
                   lastTransitionTime: '2026-06-01T09:00:00Z'}";
    let facts = claim_facts("", drifted, "", &Live::default());
    let since = "2026-06-01T09:00:00Z".parse().unwrap();
    assert_eq!(facts.drifted, Some(Drifted { reason: "NodePoolDrifted".to_owned(), since }));
    let healed = drifted.replace("'True'", "'False'");
    assert_eq!(claim_facts("", &healed, "", &Live::default()).drifted, None);
    let without_words = claim_facts("", "{type: Drifted, status: 'True'}", "", &Live::default());
    let since = CREATED.parse().unwrap();
    assert_eq!(without_words.drifted, Some(Drifted { reason: "Drifted".to_owned(), since }));
}

#[test]
fn a_claim_says_when_it_is_too_old() {
    let expires = |spec: &str| claim_facts(spec, "", "", &Live::default()).expires;
    let created: Timestamp = CREATED.parse().unwrap();
    assert_eq!(expires("expireAfter: 2h"), Some(created + SignedDuration::from_hours(2)));
    assert_eq!(expires("expireAfter: Never"), None);
}

/// What runs on it is not known: pods are bound to the one and to the other.
#[test]
fn an_instance_that_two_nodes_say_they_are_is_shared() {
    let one = pair("", READY, "", ALL_WELL, "nodeName: n,");
    let other = "{apiVersion: v1, kind: Node, metadata: {name: other}, spec: {providerID: '?'}}";
    for (id, is_shared) in [("x://2", false), ("x://1", true)] {
        let objects = one.clone() + &other.replace('?', id);
        for live in [Live::default(), Live::of_nobody()] {
            let (_, fleet) = fleet_of(&objects, &live);
            let shared: Vec<bool> =
                fleet.instances.iter().map(|instance| instance.shared).collect();
            assert_eq!(shared, [is_shared; 2], "{id}");
        }
    }
}

#[test]
fn a_claim_says_whether_pods_go_by_force() {
    let live = Live::default();
    let facts = claim_facts("terminationGracePeriod: 1h", "", "", &live);
    assert!(facts.has_grace_period && !facts.instance_terminating);
    let terminating = "{type: InstanceTerminating, status: 'True'}";
    assert!(claim_facts("", terminating, "", &live).instance_terminating);
    // Repair gives a claim its deadline when it deletes it.
    for (deleted, expected) in [("deletionTimestamp: '2026-06-01T11:00:00Z',", true), ("", false)] {
        let deadline = "annotations: {karpenter.sh/nodeclaim-termination-timestamp: now}";
        let metadata = format!("kind: NodeClaim\nmetadata: {{{deleted} {deadline}, ");
        let objects =
            pair("", READY, "", "", "").replace("kind: NodeClaim\nmetadata: {", &metadata);
        assert_eq!(instance(&objects, &live).claim.unwrap().has_grace_period, expected);
    }
}

#[test]
fn a_node_is_ready_if_it_says_so_or_if_nobody_says_anything_in_a_file() {
    let is_ready =
        |conditions, live: &Live| instance(&pair("", conditions, "", ALL_WELL, ""), live).ready;
    let (controller, file) = (Live::default(), Live::of_nobody());
    assert!(is_ready(READY, &controller) && is_ready(READY, &file));
    let unknown = "{type: Ready, status: Unknown}";
    assert!(!is_ready(unknown, &controller) && !is_ready(unknown, &file));
    assert!(!is_ready(NO_CONDITIONS, &controller) && is_ready(NO_CONDITIONS, &file));
}

#[test]
fn an_annotation_of_the_node_forbids_its_removal_and_the_claims_until_it_registers() {
    let protects = |yaml: String| instance(&yaml, &Live::default()).do_not_disrupt;
    let annotated = "annotations: {karpenter.sh/do-not-disrupt: 'VALUE'}";
    let node = |value: &str| pair(&annotated.replace("VALUE", value), READY, "", ALL_WELL, "");
    assert!(protects(node("true")));
    assert!(!protects(node("1h")), "only pods may name a time");
    let claim = |yaml: String| {
        yaml.replace("{name: c,", "{name: c, annotations: {karpenter.sh/do-not-disrupt: 'true'},")
    };
    let plain = || pair("", READY, "", ALL_WELL, "");
    assert!(!protects(claim(plain())), "the Node has taken over");
    assert!(protects(claim(plain()).replace("karpenter.sh/registered: 'true', ", "")));
}

#[test]
fn what_only_a_controller_knows_is_taken_from_it() {
    let yaml = pair("", READY, "", ALL_WELL, "")
        + "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {template: {spec: \
           {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}}";
    let resumes = now() + SignedDuration::from_mins(5);
    let held = HeldMove { pool: "p".to_owned(), instance_type: "t".to_owned(), until: resumes };
    let live = Live {
        queued: ["c".to_owned()].into(),
        nominated: ["n".to_owned()].into(),
        held_back: vec![held.clone()],
        drift_resumes: [("p".to_owned(), resumes)].into(),
        ..Live::default()
    };
    let (_, fleet) = fleet_of(&yaml, &live);
    assert!(fleet.instances[0].queued && fleet.instances[0].nominated);
    assert_eq!((fleet.held_back, fleet.now), (vec![held], now()));
    assert_eq!(fleet.pools["p"].drift_resumes, Some(resumes));
    let (_, fleet) = fleet_of(&yaml, &Live::of_nobody());
    assert!(!fleet.instances[0].queued && !fleet.instances[0].nominated);
}

#[test]
fn a_node_of_nobodys_has_no_claim() {
    let instance =
        instance("{apiVersion: v1, kind: Node, metadata: {name: n}}", &Live::of_nobody());
    assert!(instance.claim.is_none() && instance.ready);
}

/// A pod on the node, from more of its metadata, spec and status.
fn pod(name: &str, metadata: &str, spec: &str, status: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: {name}}} {metadata}}}, \
         spec: {{nodeName: n, containers: [] {spec}}}, status: {{{status}}}}}\n---\n"
    )
}

fn budget(name: &str, app: &str, spec: &str, status: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: {name}}}, spec: \
         {{selector: {{matchLabels: {{app: {app}}}}} {spec}}}, status: {{{status}}}}}\n---\n"
    )
}

/// What is known of each pod on the node, a line each, beside the snapshot's name of it.
#[track_caller]
fn check_pods(yaml: &str, expected: &Expect) {
    let (snapshot, fleet) = fleet_of(&(pair("", READY, "", ALL_WELL, "") + yaml), &Live::default());
    let (node, instance) = (&snapshot.nodes[0], &fleet.instances[0]);
    assert_eq!(node.pods.len(), instance.pods.len());
    let lines = node.pods.iter().zip(&instance.pods).map(|(pod, facts)| {
        let yes = |word: &str, is: bool| if is { format!(" {word}") } else { String::new() };
        let kept = match &facts.kept_by {
            None => String::new(),
            Some(KeptBy::DoNotDisrupt(None)) => " kept by annotation".to_owned(),
            Some(KeptBy::DoNotDisrupt(Some(end))) => format!(" kept by annotation until {end}"),
            Some(KeptBy::Budget(name)) => format!(" kept by {name}"),
            Some(KeptBy::Budgets(names)) => format!(" kept by {}", names.join(" and ")),
        };
        format!(
            "{}{}{}{} cost {}{kept}",
            pod.name,
            yes("bare", facts.bare),
            yes("reschedulable", facts.reschedulable),
            yes("movable", facts.movable),
            facts.eviction_cost
        )
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

fn owned(kind: &str) -> String {
    let group = if kind == "Node" { "v1" } else { "apps/v1" };
    format!(", ownerReferences: [{{apiVersion: {group}, kind: {kind}, name: o, uid: u}}]")
}

#[test]
fn pods_are_told_by_what_their_instances_removal_means_to_them() {
    let deleting = ", deletionTimestamp: '2026-06-01T11:59:50Z'";
    check_pods(
        &[
            pod("replica", &owned("ReplicaSet"), "", "phase: Running"),
            pod("alone", "", "", ""),
            pod("daemon", &owned("DaemonSet"), "", ""),
            pod("mirror", &owned("Node"), "", ""),
            pod("leaving", &(owned("ReplicaSet") + deleting), "", ""),
            pod("successor", &(owned("StatefulSet") + deleting), "", ""),
            pod("ended", "", "", "phase: Succeeded"),
        ]
        .concat(),
        &expect![[r"
            alone bare reschedulable movable cost 1
            daemon cost 1
            leaving cost 1
            mirror cost 1
            replica reschedulable movable cost 1
            successor reschedulable movable cost 1"]],
    );
}

#[test]
fn a_pods_eviction_costs_more_with_its_deletion_cost_and_its_priority() {
    let cost = |text: &str| {
        format!(", annotations: {{controller.kubernetes.io/pod-deletion-cost: '{text}'}}")
    };
    check_pods(
        &[
            pod("a-dear", &cost("134217728"), "", ""),
            pod("b-cheap", &cost("-134217728"), "", ""),
            pod("c-important", "", ", priority: 33554432", ""),
            pod("d-both", &cost("134217728"), ", priority: 33554432", ""),
            pod("e-dearest", &cost("2147483647"), ", priority: 2000001000", ""),
            pod("f-cheapest", &cost("-2147483648"), "", ""),
            pod("g-unreadable", &cost("dear"), ", priority: 33554432", ""),
        ]
        .concat(),
        &expect![[r"
            a-dear bare reschedulable movable cost 2
            b-cheap bare reschedulable movable cost 0
            c-important bare reschedulable movable cost 2
            d-both bare reschedulable movable cost 3
            e-dearest bare reschedulable movable cost 10
            f-cheapest bare reschedulable movable cost -10
            g-unreadable bare reschedulable movable cost 2"]],
    );
}

#[test]
fn a_pods_own_wish_keeps_it_and_says_until_when() {
    let wish = |text: &str| format!(", annotations: {{karpenter.sh/do-not-disrupt: '{text}'}}");
    let started = "startTime: '2026-06-01T11:30:00Z'";
    check_pods(
        &[
            pod("a-always", &wish("true"), "", ""),
            pod("b-for-an-hour", &wish("1h"), "", started),
            pod("c-over", &wish("10m"), "", started),
            pod("d-daemon", &(owned("DaemonSet") + &wish("true")), "", ""),
            pod(
                "e-leaving",
                &(", deletionTimestamp: '2026-06-01T11:59:50Z'".to_owned() + &wish("true")),
                "",
                "",
            ),
            pod("f-mirror", &(owned("Node") + &wish("true")), "", ""),
        ]
        .concat(),
        &expect![[r"
            a-always bare reschedulable cost 1 kept by annotation
            b-for-an-hour bare reschedulable cost 1 kept by annotation until 2026-06-01T12:30:00Z
            c-over bare reschedulable movable cost 1
            d-daemon cost 1 kept by annotation
            e-leaving bare cost 1
            f-mirror cost 1 kept by annotation"]],
    );
}

#[test]
fn budgets_keep_pods_and_are_named() {
    let unhealthy = "conditions: [{type: Ready, status: 'False'}]";
    check_pods(
        &[
            pod("a-free", "", "", ""),
            budget("allows-one", "a-free", ", maxUnavailable: 1", "disruptionsAllowed: 1"),
            pod("b-spent", "", "", ""),
            budget("allows-none-now", "b-spent", ", maxUnavailable: 1", "disruptionsAllowed: 0"),
            pod("c-closed", "", "", ""),
            budget("allows-none-ever", "c-closed", ", maxUnavailable: 0", "disruptionsAllowed: 0"),
            pod("d-twice", "", "", ""),
            budget("one", "d-twice", "", "disruptionsAllowed: 1"),
            budget("two", "d-twice", "", "disruptionsAllowed: 1"),
            pod("e-broken", "", "", unhealthy),
            budget(
                "spares-healthy",
                "e-broken",
                ", unhealthyPodEvictionPolicy: AlwaysAllow",
                "disruptionsAllowed: 0",
            ),
            pod("f-tolerates", "", ", tolerations: [{operator: Exists}]", ""),
            budget("means-nothing", "f-tolerates", "", "disruptionsAllowed: 0"),
            pod("g-daemon", &owned("DaemonSet"), "", ""),
            budget("of-daemons", "g-daemon", "", "disruptionsAllowed: 0"),
        ]
        .concat(),
        &expect![[r"
            a-free bare reschedulable movable cost 1
            b-spent bare reschedulable movable cost 1 kept by default/allows-none-now
            c-closed bare reschedulable cost 1 kept by default/allows-none-ever
            d-twice bare reschedulable cost 1 kept by default/one and default/two
            e-broken bare reschedulable movable cost 1
            f-tolerates bare reschedulable movable cost 1
            g-daemon cost 1 kept by default/of-daemons"]],
    );
}

/// D-16, D-18, D-19: nobody asks a budget whether such a pod may go.
#[test]
fn budgets_keep_no_pod_that_is_never_evicted() {
    let deleting = ", deletionTimestamp: '2026-06-01T11:59:50Z'";
    let closed = |app: &str| {
        budget(&format!("of-{app}"), app, ", maxUnavailable: 0", "disruptionsAllowed: 0")
    };
    let pods = [
        pod("a-mirror", &owned("Node"), "", "phase: Running"),
        pod("b-leaving", &(owned("ReplicaSet") + deleting), "", "phase: Running"),
        pod("c-successor", &(owned("StatefulSet") + deleting), "", "phase: Running"),
        pod("d-succeeded", &owned("ReplicaSet"), "", "phase: Succeeded"),
        pod("e-failed", &owned("ReplicaSet"), "", "phase: Failed"),
    ];
    let apps = ["a-mirror", "b-leaving", "c-successor", "d-succeeded", "e-failed"];
    check_pods(
        &(pods.concat() + &apps.map(closed).concat()),
        &expect![[r"
            a-mirror cost 1
            b-leaving cost 1
            c-successor reschedulable movable cost 1"]],
    );
}

fn pool(metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p{metadata}}}, spec: \
         {{template: {{spec: {{nodeClassRef: {{group: g, kind: k, name: n}}, requirements: []}}}} {spec}}}}}\n---\n"
    )
}

fn rules(metadata: &str, spec: &str) -> PoolRules {
    fleet_of(&pool(metadata, spec), &Live::of_nobody()).1.pools["p"].clone()
}

#[test]
fn a_static_pool_deletes_first_where_somebody_would_make_the_instance_again() {
    let deletes_first = |static_capacity| {
        let settings = IndexSettings { static_capacity, ..IndexSettings::default() };
        let pool = pool(", annotations: {joiner.sh/static-drift: delete-first}", ", replicas: 2");
        let (_, fleet) = fleet_with(&settings, &objects(&pool), &Live::of_nobody());
        fleet.pools["p"].delete_first
    };
    assert!(deletes_first(true));
    assert!(!deletes_first(false));
}

#[test]
fn what_a_pool_leaves_out_is_what_the_api_server_fills_in() {
    let ten_percent = NodeBudget { nodes: "10%".to_owned(), ..NodeBudget::default() };
    let usual = PoolRules {
        policy: ConsolidationPolicy::WhenEmptyOrUnderutilized,
        consolidate_after: Some(SignedDuration::ZERO),
        budgets: vec![ten_percent],
        ..PoolRules::default()
    };
    assert_eq!(rules("", ""), usual);
    assert_eq!(rules("", ", disruption: {}"), usual);
    assert_eq!(rules("", ", disruption: {budgets: [{}]}"), usual);
}

#[test]
fn a_pool_says_when_its_instances_go() {
    let after = |text: &str| {
        rules("", &format!(", disruption: {{consolidateAfter: {text}}}")).consolidate_after
    };
    assert_eq!(after("90s"), Some(SignedDuration::from_secs(90)));
    assert_eq!(after("Never"), None);
    let policy =
        |text: &str| rules("", &format!(", disruption: {{consolidationPolicy: {text}}}")).policy;
    assert_eq!(policy("WhenEmpty"), ConsolidationPolicy::WhenEmpty);
    assert_eq!(policy("Balanced"), ConsolidationPolicy::Balanced);
    let none = rules("", ", disruption: {budgets: []}");
    assert_eq!(none.budgets, [], "an empty list sets no bound");
    let two = rules(
        "",
        ", disruption: {budgets: [{nodes: '3', reasons: [Empty]}, {nodes: '0', schedule: '@daily', duration: 1h30m}]}",
    );
    let about_empty = NodeBudget {
        nodes: "3".to_owned(),
        reasons: vec!["Empty".to_owned()],
        ..NodeBudget::default()
    };
    let at_night = NodeBudget {
        nodes: "0".to_owned(),
        schedule: Some("@daily".to_owned()),
        duration: Some(SignedDuration::from_mins(90)),
        ..NodeBudget::default()
    };
    assert_eq!(two.budgets, [about_empty, at_night]);
}

#[test]
fn a_pool_of_a_fixed_size_says_how_many_it_keeps_and_may_have() {
    let rules = rules("", ", replicas: 3, limits: {nodes: '5'}");
    assert_eq!((rules.replicas, rules.nodes_max), (Some(3), Some(5)));
}

#[test]
fn an_annotation_says_what_moves_have_to_be_worth() {
    let asked = |text: &str| {
        rules(&format!(", annotations: {{joiner.sh/consolidation-min-score: '{text}'}}"), "")
    };
    assert_eq!(asked("1.5").min_score, Some(MinScore::Score(1.5)));
    assert_eq!(asked("much").min_score, Some(MinScore::Unreadable("much".to_owned())));
}

#[test]
fn an_annotation_pauses_a_pool() {
    let paused = |text: &str| {
        rules(&format!(", annotations: {{joiner.sh/pause-disruption: '{text}'}}"), "").paused
    };
    let by = |by: &str| Some(Paused { by: by.to_owned(), on: "NodePool p".to_owned() });
    assert_eq!(paused("netops: switches"), by("netops: switches"));
    assert_eq!(paused(" "), by("somebody who does not say why"));
}

#[test]
fn a_namespace_pauses_everything_if_it_is_the_leases_or_nobody_knows_which_is() {
    let yaml = "
{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {joiner.sh/pause-disruption: 'sale'}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ours, annotations: {joiner.sh/pause-disruption: 'netops'}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: other}}
";
    let paused = |namespace: Option<&str>| {
        let live = Live { namespace: namespace.map(str::to_owned), ..Live::default() };
        fleet_of(yaml, &live).1.paused
    };
    let by = |by: &str, on: &str| Some(Paused { by: by.to_owned(), on: on.to_owned() });
    assert_eq!(paused(Some("shop")), by("sale", "Namespace shop"));
    assert_eq!(paused(Some("other")), None);
    assert_eq!(paused(None), by("netops", "Namespace ours"));
}

#[test]
fn what_is_read_otherwise_than_meant_is_noted() {
    let cost = ", annotations: {controller.kubernetes.io/pod-deletion-cost: dear}";
    let wish = ", annotations: {karpenter.sh/do-not-disrupt: soon}";
    let yaml = [
        pod("web-1", cost, "", ""),
        pod("web-0", cost, "", ""),
        pod("job", wish, "", ""),
        pool("", ", disruption: {budgets: [{nodes: '1'}, {nodes: '0', reasons: []}]}"),
        budget("by-hand", "web-0", ", maxUnavailable: 1", ""),
    ];
    expect![[r#"
        Pod default/web-0 and 1 more: annotation controller.kubernetes.io/pod-deletion-cost is "dear", which is no number, and is ignored; write a whole number
        Pod default/job: annotation karpenter.sh/do-not-disrupt is ignored: "soon" is no duration (a number is missing); write it as 720h or 1h30m, or true
        NodePool "p": spec.disruption.budgets[1].reasons is empty, and the budget is read as being about every reason; remove reasons, or name some
        PodDisruptionBudget default/by-hand has no status.disruptionsAllowed, so that its pods stay where they are; add what the cluster says"#]]
    .assert_eq(&notes(&objects(&yaml.concat())).join("\n"));
}
