use expect_test::expect;
use joiner_settings::Setting;

use super::*;

/// Settings as they follow from these `name=text` pairs.
fn read(given: &[&str]) -> Result<Accepted<Settings>, Vec<String>> {
    let mut values = Values::default();
    for pair in given {
        let (name, text) = pair.split_once('=').expect("a test gives name=text");
        values.give(named(name), text);
    }
    Settings::read(&values)
}

fn named(name: &str) -> &'static Setting {
    let mut all = declared::planner().chain(declared::CONTROLLER.iter().copied());
    all.find(|setting| setting.name == name).expect("there is such a setting")
}

#[test]
fn the_defaults_are_karpenters() {
    let all = declared::planner().chain(declared::CONTROLLER.iter().copied());
    let lines: Vec<String> = all
        .map(|setting| format!("--{} {} {}", setting.name, setting.variable, setting.default))
        .collect();
    expect![[r#"
        --preference-policy PREFERENCE_POLICY Respect
        --min-values-policy MIN_VALUES_POLICY Strict
        --ignore-dra-requests IGNORE_DRA_REQUESTS true
        --feature-gates FEATURE_GATES NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false
        --scheduler-config SCHEDULER_CONFIG 
        --cpu-requests CPU_REQUESTS 1000
        --vm-memory-overhead-percent VM_MEMORY_OVERHEAD_PERCENT 
        --price-per-vcpu PRICE_PER_VCPU 0.025
        --price-per-gb PRICE_PER_GB 0.001
        --price-per-gpu PRICE_PER_GPU 1
        --price-per-vm PRICE_PER_VM 0
        --providers PROVIDERS 
        --metrics-port METRICS_PORT 8080
        --health-probe-port HEALTH_PROBE_PORT 8081
        --bind-address BIND_ADDRESS 
        --kube-client-qps KUBE_CLIENT_QPS 200
        --kube-client-burst KUBE_CLIENT_BURST 300
        --disable-leader-election DISABLE_LEADER_ELECTION false
        --leader-election-name LEADER_ELECTION_NAME karpenter-leader-election
        --leader-election-namespace LEADER_ELECTION_NAMESPACE 
        --predecessor-lease-namespace PREDECESSOR_LEASE_NAMESPACE 
        --disable-controller-warmup DISABLE_CONTROLLER_WARMUP true
        --disable-cluster-state-observability DISABLE_CLUSTER_STATE_OBSERVABILITY false
        --enable-profiling ENABLE_PROFILING false
        --memory-limit MEMORY_LIMIT -1
        --log-level LOG_LEVEL info
        --log-output-paths LOG_OUTPUT_PATHS stdout
        --log-error-output-paths LOG_ERROR_OUTPUT_PATHS stderr
        --batch-max-duration BATCH_MAX_DURATION 10s
        --batch-idle-duration BATCH_IDLE_DURATION 1s
        --launch-timeout LAUNCH_TIMEOUT 
        --registration-timeout REGISTRATION_TIMEOUT 15m
        --initialization-timeout INITIALIZATION_TIMEOUT 0s
        --kubernetes-version-drift KUBERNETES_VERSION_DRIFT false
        --cluster-name CLUSTER_NAME 
        --cluster-endpoint CLUSTER_ENDPOINT 
        --join-token JOIN_TOKEN 
        --kube-distro KUBE_DISTRO 
        --kube-version KUBE_VERSION 
        --mint-tokens MINT_TOKENS auto
        --pin-ca PIN_CA false
        --karpenter-service KARPENTER_SERVICE "#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn every_variable_is_the_flag_in_capitals() {
    for setting in declared::planner().chain(declared::CONTROLLER.iter().copied()) {
        assert_eq!(setting.variable, setting.name.replace('-', "_").to_uppercase());
    }
}

#[test]
fn defaults_can_be_used_as_they_are() {
    let Accepted { settings, warnings } = read(&[]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(settings.planner.plan, PlanSettings::default());
    assert_eq!(settings.planner.prices, UnitPrices::default());
    assert_eq!(settings.planner.gates, Gates { reserved_capacity: true, ..Gates::default() });
    assert_eq!(settings.planner.index.pending, Pending::Unschedulable);
    assert_eq!((settings.metrics_port, settings.health_probe_port), (8080, 8081));
    assert_eq!((settings.kube_client_qps, settings.kube_client_burst), (200, 300));
    assert_eq!(settings.memory_limit, None);
    let second = Duration::from_secs(1);
    assert_eq!(settings.batch, Batch { max: 10 * second, idle: second });
    let registration = Duration::from_mins(15);
    assert_eq!(settings.timeouts, Timeouts { launch: None, registration, initialization: None });
    assert_eq!(
        settings.leader_election,
        LeaderElection {
            disabled: false,
            name: "karpenter-leader-election".to_owned(),
            namespace: None,
            predecessor_namespace: None,
        }
    );
    assert_eq!(
        settings.log,
        LogSettings {
            level: LogLevel::Info,
            outputs: vec!["stdout".to_owned()],
            error_outputs: vec!["stderr".to_owned()]
        }
    );
}

#[test]
fn settings_are_read() {
    let Accepted { settings, .. } = read(&[
        "batch-max-duration=1m",
        "batch-idle-duration=1.5s",
        "launch-timeout=30m",
        "initialization-timeout=1h30m",
        "memory-limit=268435456",
        "log-level=debug",
        "log-output-paths=stdout,/var/log/joiner.log",
        "leader-election-namespace=karpenter",
        "disable-leader-election=true",
        "feature-gates=NodeRepair=true",
        "kube-client-qps=10",
    ])
    .unwrap();
    assert_eq!(settings.batch.max, Duration::from_mins(1));
    assert_eq!(settings.batch.idle, Duration::from_millis(1500));
    assert_eq!(settings.timeouts.launch, Some(Duration::from_mins(30)));
    assert_eq!(settings.timeouts.initialization, Some(Duration::from_mins(90)));
    assert_eq!(settings.memory_limit, Some(256 << 20));
    assert_eq!(settings.log.level, LogLevel::Debug);
    assert_eq!(settings.log.outputs, ["stdout", "/var/log/joiner.log"]);
    assert_eq!(settings.leader_election.namespace.as_deref(), Some("karpenter"));
    assert!(settings.leader_election.disabled && settings.planner.gates.node_repair);
    assert_eq!(settings.kube_client_qps, 10);
}

#[test]
fn what_instances_join_with_is_read_and_not_printed() {
    let given = [
        "cluster-name=prod",
        "cluster-endpoint=https://10.0.0.10:9345",
        "join-token=K10secret",
        "kube-distro=rke2airgapped",
        "kube-version=v1.33.4+rke2r1",
        "mint-tokens=never",
        "pin-ca=true",
    ];
    let Accepted { settings, .. } = read(&given).unwrap();
    expect![[r#"
        Joining {
            cluster_name: Some(
                "prod",
            ),
            endpoint: Some(
                "https://10.0.0.10:9345",
            ),
            token: Some(
                [redacted],
            ),
            distro: Some(
                Rke2Airgapped,
            ),
            version: Some(
                "v1.33.4+rke2r1",
            ),
            mint: Never,
            pin_ca: true,
        }
    "#]]
    .assert_debug_eq(&settings.joining);
    assert_eq!(settings.joining.token.unwrap().reveal(), "K10secret");
    let problems = read(&["kube-distro=k8s", "mint-tokens=sometimes"]).unwrap_err();
    expect![[r#"
        --kube-distro (KUBE_DISTRO) cannot be "k8s": use kubeadm or rke2 or rke2airgapped or k3s or talos or none
        --mint-tokens (MINT_TOKENS) cannot be "sometimes": use auto or always or never"#]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn nothing_that_was_typed_is_shown_where_values_are_debugged() {
    let mut values = Values::default();
    values.give(&declared::JOIN_TOKEN, "K10secret");
    assert_eq!(format!("{values:?}"), r#"{"join-token"}"#);
}

#[test]
fn what_is_empty_is_not_set() {
    let Accepted { settings, .. } =
        read(&["metrics-port=", "log-level=", "batch-max-duration=", "cpu-requests="]).unwrap();
    assert_eq!((settings.metrics_port, settings.log.level), (8080, LogLevel::Info));
    assert_eq!(settings.batch.max, Duration::from_secs(10));
    assert_eq!(settings.planner.cpu_requests, 1000);
}

#[test]
fn no_cpu_and_no_memory_are_taken_as_karpenter_takes_them() {
    let Accepted { settings, .. } = read(&["cpu-requests=0", "memory-limit=0"]).unwrap();
    assert_eq!((settings.planner.cpu_requests, settings.memory_limit), (1000, None));
}

#[test]
fn a_feature_that_does_not_exist_is_a_warning() {
    let Accepted { warnings, .. } =
        read(&["feature-gates=Drift=true,NodeRepair=true", "enable-profiling=true"]).unwrap();
    expect![[r#"
        --feature-gates (FEATURE_GATES) names "Drift", which is no feature: it has no effect
        --enable-profiling (ENABLE_PROFILING) has no effect: there are no profiles to serve"#]]
    .assert_eq(&warnings.join("\n"));
}

#[test]
fn all_problems_are_told_at_once_with_flag_variable_and_remedy() {
    let problems = read(&[
        "preference-policy=ignore",
        "ignore-dra-requests=yes",
        "feature-gates=NodeRepair=yes,Odd",
        "metrics-port=70000",
        "health-probe-port=http",
        "bind-address=localhost",
        "kube-client-qps=0",
        "kube-client-burst=-1",
        "disable-leader-election=on",
        "leader-election-name=Karpenter_Lease",
        "memory-limit=256Mi",
        "log-level=verbose",
        "batch-max-duration=10",
        "batch-idle-duration=0s",
        "launch-timeout=-5m",
        "registration-timeout=soon",
        "cpu-requests=1.5",
        "price-per-vm=NaN",
        "vm-memory-overhead-percent=1",
        "scheduler-config={podTopologySpread: {defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}",
    ])
    .unwrap_err();
    expect![[r#"
        --feature-gates (FEATURE_GATES) cannot be "NodeRepair=yes": use NAME=true or NAME=false
        --feature-gates (FEATURE_GATES) cannot be "Odd": use NAME=true or NAME=false
        --preference-policy (PREFERENCE_POLICY) cannot be "ignore": use Respect or Ignore
        --ignore-dra-requests (IGNORE_DRA_REQUESTS) cannot be "yes": use true or false
        --scheduler-config (SCHEDULER_CONFIG): podTopologySpread.defaultConstraints[0].maxSkew: is 0; write 1 or more
        --cpu-requests (CPU_REQUESTS) cannot be "1.5": use a whole number of millicores
        --price-per-vm (PRICE_PER_VM) cannot be "NaN": use a price, 0 or more
        --vm-memory-overhead-percent (VM_MEMORY_OVERHEAD_PERCENT) cannot be "1": use a share from 0 to below 1, such as 0.075
        --metrics-port (METRICS_PORT) cannot be "70000": use a port from 1 to 65535, or 0 for any that is free
        --health-probe-port (HEALTH_PROBE_PORT) cannot be "http": use a port from 1 to 65535, or 0 for any that is free
        --bind-address (BIND_ADDRESS) cannot be "localhost": use an IPv4 or IPv6 address such as 127.0.0.1 or ::1
        --kube-client-qps (KUBE_CLIENT_QPS) cannot be "0": use a whole number, 1 or more
        --kube-client-burst (KUBE_CLIENT_BURST) cannot be "-1": use a whole number, 1 or more
        --disable-leader-election (DISABLE_LEADER_ELECTION) cannot be "on": use true or false
        --leader-election-name (LEADER_ELECTION_NAME) cannot be "Karpenter_Lease": use lower case letters, digits, '-' and '.'
        --memory-limit (MEMORY_LIMIT) cannot be "256Mi": use a whole number of bytes, or -1 for no limit
        --log-level (LOG_LEVEL) cannot be "verbose": use debug or info or error
        --batch-max-duration (BATCH_MAX_DURATION) cannot be "10": use a duration such as 10s or 1m30s
        --batch-idle-duration (BATCH_IDLE_DURATION) cannot be "0s": use a duration of more than 0s, such as 10s
        --launch-timeout (LAUNCH_TIMEOUT) cannot be "-5m": use a duration such as 10s or 1m30s
        --registration-timeout (REGISTRATION_TIMEOUT) cannot be "soon": use a duration such as 10s or 1m30s"#]].assert_eq(&problems.join("\n"));
}

#[test]
fn two_servers_cannot_share_a_port() {
    let problems = read(&["metrics-port=8081"]).unwrap_err();
    expect![[r#"--health-probe-port (HEALTH_PROBE_PORT) cannot be "8081": metrics are served there: use another port than --metrics-port"#]]
        .assert_eq(&problems.join("\n"));
}
