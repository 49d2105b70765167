use expect_test::expect;

use super::*;
use crate::index::{IndexSettings, tests::index};

const CONFIG: &str = "
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 3, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 5, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, minDomains: 2, nodeTaintsPolicy: Honor}
";

/// The selector that the only pending pod is spread by.
#[track_caller]
fn check(yaml: &str, expected: &str) {
    let scheduler_config = SchedulerConfig::parse(CONFIG).unwrap();
    let settings = IndexSettings { scheduler_config, ..IndexSettings::default() };
    let snapshot = index(yaml, &settings).snapshot;
    let selectors: Vec<String> = snapshot.pods[0]
        .spec
        .spread
        .iter()
        .map(|constraint| constraint.selector.as_ref().map_or("-".to_owned(), ToString::to_string))
        .collect();
    let expected = if expected.is_empty() { vec![] } else { vec![expected; 2] };
    assert_eq!(selectors, expected);
}

fn pod(owner: &str, spec: &str) -> String {
    let owners = if owner.is_empty() {
        String::new()
    } else {
        format!(", ownerReferences: [{{apiVersion: apps/v1, {owner}, uid: u, controller: true}}]")
    };
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {{app: web, rev: '1'}}{owners}}}, \
         spec: {{containers: []{spec}}}}}\n---\n"
    )
}

fn service(name: &str, namespace: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}, namespace: {namespace}}}, \
         spec: {{{spec}}}}}\n---\n"
    )
}

const REPLICA_SET: &str = "
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1}
spec: {selector: {matchLabels: {rev: '1'}, matchExpressions: [{key: app, operator: Exists}]}}
---
";

#[test]
fn a_pod_is_spread_with_the_pods_of_its_service() {
    check(&(pod("", "") + &service("s", "default", "selector: {app: web}")), "app=web");
    check(&(pod("", "") + &service("s", "other", "selector: {app: web}")), "");
    check(&(pod("", "") + &service("s", "default", "selector: {app: db}")), "");
    check(&(pod("", "") + &service("s", "default", "ports: []")), "");
    check(&(pod("", "") + &service("s", "default", "selector: {}")), "");
    let two = service("s", "default", "selector: {app: web}")
        + &service("t", "default", "selector: {rev: '1'}");
    check(&(pod("", "") + &two), "app=web,rev=1");
}

#[test]
fn a_pod_is_spread_with_the_pods_of_its_workload() {
    let owner = "kind: ReplicaSet, name: web-1";
    check(&(pod(owner, "") + REPLICA_SET), "rev=1,app");
    let service = service("s", "default", "selector: {app: web}");
    check(&(pod(owner, "") + REPLICA_SET + &service), "app=web,rev=1,app");
    check(&pod(owner, ""), "");
    let stateful = REPLICA_SET.replace("ReplicaSet", "StatefulSet");
    check(&(pod("kind: StatefulSet, name: web-1", "") + &stateful), "rev=1,app");
    check(&(pod("kind: Job, name: web-1", "") + REPLICA_SET), "");
    let controller = "{apiVersion: v1, kind: ReplicationController, metadata: {name: web-1}, \
                      spec: {selector: {app: other}}}\n---\n";
    check(
        &(pod("kind: ReplicationController, name: web-1", "") + controller + &service),
        "app=other",
    );
}

#[test]
fn constraints_of_its_own_are_a_pods_own() {
    let own = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]";
    let settings = IndexSettings {
        scheduler_config: SchedulerConfig::parse(CONFIG).unwrap(),
        ..IndexSettings::default()
    };
    let yaml = pod("", own) + &service("s", "default", "selector: {app: web}");
    let snapshot = index(&yaml, &settings).snapshot;
    let keys: Vec<&str> =
        snapshot.pods[0].spec.spread.iter().map(|c| c.topology_key.as_str()).collect();
    assert_eq!(keys, ["zone"]);
}

#[test]
fn without_a_configuration_nothing_is_spread() {
    let yaml = pod("", "") + &service("s", "default", "selector: {app: web}");
    let snapshot = index(&yaml, &IndexSettings::default()).snapshot;
    assert!(snapshot.pods[0].spec.spread.is_empty());
}

#[test]
fn a_configuration_is_read_as_written() {
    let config = SchedulerConfig::parse(CONFIG).unwrap();
    assert_eq!(
        config.defaults[1],
        SpreadConstraint {
            topology_key: "kubernetes.io/hostname".to_owned(),
            max_skew: 5,
            min_domains: Some(2),
            when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
            selector: None,
            match_label_keys: vec![],
            node_affinity_policy: InclusionPolicy::Honor,
            node_taints_policy: InclusionPolicy::Honor,
        }
    );
    assert_eq!(SchedulerConfig::parse("  \n").unwrap(), SchedulerConfig::default());
    assert_eq!(SchedulerConfig::parse("{}").unwrap(), SchedulerConfig::default());
    let json = r#"{"podTopologySpread": {"defaultConstraints": []}}"#;
    assert_eq!(SchedulerConfig::parse(json).unwrap(), SchedulerConfig::default());
}

#[test]
fn a_key_may_be_there_once_with_each_action() {
    let constraint = |skew: i32, action: &str| {
        format!("{{maxSkew: {skew}, topologyKey: zone, whenUnsatisfiable: {action}}}")
    };
    let (must, may) = (constraint(2, "DoNotSchedule"), constraint(1, "ScheduleAnyway"));
    let config = format!("podTopologySpread: {{defaultConstraints: [{must}, {may}]}}");
    let scheduler_config = SchedulerConfig::parse(&config).unwrap();
    let settings = IndexSettings { scheduler_config, ..IndexSettings::default() };
    let yaml = pod("", "") + &service("s", "default", "selector: {app: web}");
    let snapshot = index(&yaml, &settings).snapshot;
    let spread: Vec<_> = snapshot.pods[0]
        .spec
        .spread
        .iter()
        .map(|c| (c.topology_key.as_str(), c.max_skew, c.when_unsatisfiable))
        .collect();
    assert_eq!(
        spread,
        [
            ("zone", 2, WhenUnsatisfiable::DoNotSchedule),
            ("zone", 1, WhenUnsatisfiable::ScheduleAnyway),
        ]
    );
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    let constraint = |fields: &str| {
        let base = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule";
        format!("podTopologySpread: {{defaultConstraints: [{{{base}}}, {{{fields}}}]}}")
    };
    let cases = [
        constraint("maxSkew: 0, topologyKey: host, whenUnsatisfiable: DoNotSchedule"),
        constraint("maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: DoNotSchedule"),
        constraint("maxSkew: 1, topologyKey: host, whenUnsatisfiable: Never"),
        constraint(
            "maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, labelSelector: {}",
        ),
        constraint(
            "maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a]",
        ),
        constraint(
            "maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, minDomains: 0",
        ),
        constraint(
            "maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Maybe",
        ),
        constraint("maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule"),
        constraint("maxSkew: 1, topologyKey: host"),
        constraint("maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, extra: 1"),
        "profiles: []".to_owned(),
        "podTopologySpread: [".to_owned(),
    ];
    let errors = cases.iter().map(|case| SchedulerConfig::parse(case).expect_err(case).to_string());
    expect![[r#"
        podTopologySpread.defaultConstraints[1].maxSkew: is 0; write 1 or more
        podTopologySpread.defaultConstraints[1].topologyKey: "a b" is no label; name one
        podTopologySpread.defaultConstraints[1].whenUnsatisfiable: is "Never"; use DoNotSchedule or ScheduleAnyway
        podTopologySpread.defaultConstraints[1].labelSelector: must be absent; each pod's own is used
        podTopologySpread.defaultConstraints[1].matchLabelKeys: must be absent; each pod's own labels are used
        podTopologySpread.defaultConstraints[1].minDomains: is 0; write 1 or more
        podTopologySpread.defaultConstraints[1].nodeTaintsPolicy: is "Maybe"; use Honor or Ignore
        podTopologySpread.defaultConstraints[1].topologyKey: zone with DoNotSchedule is there twice; remove one
        the scheduler configuration cannot be read: missing field `whenUnsatisfiable` at line 1, column 122
        the scheduler configuration cannot be read: unknown field `extra`, expected one of maxSkew, topologyKey, whenUnsatisfiable, minDomains, nodeAffinityPolicy, nodeTaintsPolicy, labelSelector, matchLabelKeys at line 1, column 175
        the scheduler configuration cannot be read: unknown field `profiles`, expected one of podTopologySpread at line 1, column 1
        the scheduler configuration cannot be read: expected mapping start at line 1, column 20"#]].assert_eq(&errors.collect::<Vec<_>>().join("\n"));
}
