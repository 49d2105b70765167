//! Every setting, once.
//!
//! Defaults are texts, since that is what users see and what charts write; a test reads them all.

#![expect(clippy::doc_markdown, reason = "helps are shown where backticks would be")]

use super::Setting;

/// Declares settings, each with its variable, flag, placeholder, default and help, and the list of
/// them all.
macro_rules! settings {
    ($(#[$doc:meta])* $list:ident: $($constant:ident $name:literal $value:literal $default:literal $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: Setting =
                Setting::new($name, stringify!($constant), $value, $default, $help);
        )*

        $(#[$doc])*
        pub const $list: &[&Setting] = &[$(&$constant),*];
    };
}

settings! {
    /// What planning goes by, in a controller and on a desk.
    PLANNER:
    PREFERENCE_POLICY "preference-policy" "POLICY" "Respect"
        "What to do with things pods prefer: Respect (as long as possible) or Ignore";
    MIN_VALUES_POLICY "min-values-policy" "POLICY" "Strict"
        "What to do when minValues cannot be met: Strict (refuse) or BestEffort (lower it)";
    IGNORE_DRA_REQUESTS "ignore-dra-requests" "BOOL" "true"
        "Whether pods that use Dynamic Resource Allocation are left out";
    FEATURE_GATES "feature-gates" "GATES" "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false"
        "Which optional features are on: NAME=BOOL, separated by commas";
    SCHEDULER_CONFIG "scheduler-config" "YAML" ""
        "Default topology spread, as YAML or JSON: podTopologySpread.defaultConstraints";
    INSTANCE_TYPES_FILE_PATH "instance-types-file-path" "FILE" ""
        "Instance types of KWOKNodeClass pools, instead of the built-in ones";
    CPU_REQUESTS "cpu-requests" "MILLICORES" "1000"
        "How much cpu the process was promised; more makes more objects be looked at at once";
    VM_MEMORY_OVERHEAD_PERCENT "vm-memory-overhead-percent" "SHARE" ""
        "Share of a VM's memory that its guest does not see; vSphere's 0.075, KWOK's machines have none";
    PRICE_PER_VCPU "price-per-vcpu" "PRICE" "0.025"
        "Price of a vCPU hour where a cloud has no prices of its own; KWOK has";
    PRICE_PER_GB "price-per-gb" "PRICE" "0.001"
        "Price of an hour of 10^9 bytes of memory, likewise";
    PRICE_PER_GPU "price-per-gpu" "PRICE" "1"
        "Price of a GPU hour, likewise";
    PRICE_PER_VM "price-per-vm" "PRICE" "0"
        "Price of a VM hour whatever its size, likewise";
}

settings! {
    /// What only a controller goes by.
    CONTROLLER:
    PROVIDERS "providers" "NAMES" ""
        "Providers that are on, separated by commas; without it those whose endpoint is set, or KWOK's";
    METRICS_PORT "metrics-port" "PORT" "8080"
        "Where metrics are served, at /metrics; 0 takes any port that is free";
    HEALTH_PROBE_PORT "health-probe-port" "PORT" "8081"
        "Where /healthz and /readyz are answered; 0 takes any port that is free";
    KUBE_CLIENT_QPS "kube-client-qps" "NUMBER" "200"
        "How many calls to the API server a second, on average";
    KUBE_CLIENT_BURST "kube-client-burst" "NUMBER" "300"
        "How many calls to the API server at once";
    DISABLE_LEADER_ELECTION "disable-leader-election" "BOOL" "false"
        "Act without holding a lease; only where no other controller can be running";
    LEADER_ELECTION_NAME "leader-election-name" "NAME" "karpenter-leader-election"
        "The lease that is held by whoever acts";
    LEADER_ELECTION_NAMESPACE "leader-election-namespace" "NAMESPACE" ""
        "The namespace of the lease; the process's own if not given";
    DISABLE_CONTROLLER_WARMUP "disable-controller-warmup" "BOOL" "true"
        "Whether a process that waits for the lease leaves its caches empty";
    DISABLE_CLUSTER_STATE_OBSERVABILITY "disable-cluster-state-observability" "BOOL" "false"
        "Leave out the metrics of single pods, nodes and conditions, which are many";
    ENABLE_PROFILING "enable-profiling" "BOOL" "false"
        "Accepted for Karpenter's sake: there are no profiles";
    MEMORY_LIMIT "memory-limit" "BYTES" "-1"
        "How much memory the process may use; -1 for no limit";
    LOG_LEVEL "log-level" "LEVEL" "info"
        "The least important lines of the log: debug, info or error";
    LOG_OUTPUT_PATHS "log-output-paths" "PATHS" "stdout"
        "Where the log goes: stdout, stderr or files, separated by commas";
    LOG_ERROR_OUTPUT_PATHS "log-error-output-paths" "PATHS" "stderr"
        "Where it is said that the log could not be written";
    BATCH_MAX_DURATION "batch-max-duration" "DURATION" "10s"
        "How long pods are collected at most before a plan is made";
    BATCH_IDLE_DURATION "batch-idle-duration" "DURATION" "1s"
        "A plan is made as soon as no new pod came for this long";
    LAUNCH_TIMEOUT "launch-timeout" "DURATION" ""
        "How long a cloud may take to make a machine; 15m for vSphere, CloudStack and Proxmox, 5m for KWOK";
    REGISTRATION_TIMEOUT "registration-timeout" "DURATION" "15m"
        "How long a machine may take to join as a node";
    INITIALIZATION_TIMEOUT "initialization-timeout" "DURATION" "0s"
        "How long a node may take to be ready for use; 0s for ever";
    KARPENTER_SERVICE "karpenter-service" "NAME" ""
        "Accepted for Karpenter's sake: there are no webhooks";
}
