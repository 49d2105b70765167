//! Every setting of the controller and of planning, once. Clouds declare their own.
//!
//! Defaults are texts, since that is what users see and what charts write; a test reads them all.

use joiner_settings::{Setting, settings};

settings! {
    /// The planning settings, for the controller and for commands.
    PLANNER:
    PREFERENCE_POLICY "preference-policy" "POLICY" "Respect"
        "What to do with things pods prefer: Respect (as long as possible) or Ignore";
    MIN_VALUES_POLICY "min-values-policy" "POLICY" "Strict"
        "What to do when minValues cannot be met: Strict (refuse) or BestEffort (lower it)";
    IGNORE_DRA_REQUESTS "ignore-dra-requests" "BOOL" "true"
        "Pods that use Dynamic Resource Allocation are never planned for; with `false` their reason says that this was asked for";
    FEATURE_GATES "feature-gates" "GATES" "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false"
        "Which optional features are on: NAME=BOOL, separated by commas";
    SCHEDULER_CONFIG "scheduler-config" "YAML" ""
        "Default topology spread, as YAML or JSON: podTopologySpread.defaultConstraints";
}

settings! {
    /// The planning settings about instances of all clouds. A cloud's settings for its types come
    /// before these, and its replacements after them.
    INSTANCES:
    CPU_REQUESTS "cpu-requests" "MILLICORES" "1000"
        "Accepted for Karpenter's sake: what the process does at once does not depend on it";
    VM_MEMORY_OVERHEAD_PERCENT "vm-memory-overhead-percent" "SHARE" ""
        "Share of a VM's memory that its guest does not see; vSphere's and CloudStack's 0.075, KWOK's instances have none";
    PRICE_PER_VCPU "price-per-vcpu" "PRICE" "0.025"
        "Price of a vCPU hour where a cloud has no prices of its own; KWOK has";
    PRICE_PER_GB "price-per-gb" "PRICE" "0.001"
        "Price of an hour of 10^9 bytes of memory, likewise";
    PRICE_PER_GPU "price-per-gpu" "PRICE" "1"
        "Price of a GPU hour, likewise";
    PRICE_PER_VM "price-per-vm" "PRICE" "0"
        "Price of a VM hour whatever its size, likewise";
}

/// All that planning goes by and that belongs to no cloud, in the order of the lists.
pub fn planner() -> impl Iterator<Item = &'static Setting> {
    PLANNER.iter().chain(INSTANCES).copied()
}

settings! {
    /// The settings of the controller only.
    CONTROLLER:
    PROVIDERS "providers" "NAMES" ""
        "Providers that are on, separated by commas; without it those whose endpoint is set, or KWOK's";
    METRICS_PORT "metrics-port" "PORT" "8080"
        "Where metrics are served, at /metrics; 0 takes any port that is free";
    HEALTH_PROBE_PORT "health-probe-port" "PORT" "8081"
        "Where /healthz and /readyz are answered; 0 takes any port that is free";
    BIND_ADDRESS "bind-address" "ADDRESS" ""
        "The address that metrics and probes are served on; without it all addresses of the computer";
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
    PREDECESSOR_LEASE_NAMESPACE "predecessor-lease-namespace" "NAMESPACE" ""
        "The namespace of the lease that a provider's predecessor holds; that of our own if not given";
    DISABLE_CONTROLLER_WARMUP "disable-controller-warmup" "BOOL" "true"
        "Whether a process that waits for the lease leaves its caches empty";
    DISABLE_CLUSTER_STATE_OBSERVABILITY "disable-cluster-state-observability" "BOOL" "false"
        "Leave out the metrics of single pods, nodes and conditions, which are many";
    ENABLE_PROFILING "enable-profiling" "BOOL" "false"
        "Accepted for Karpenter's sake: there are no profiles";
    MEMORY_LIMIT "memory-limit" "BYTES" "-1"
        "Accepted for Karpenter's sake: there is no collector of garbage to be told; -1 for no limit";
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
        "How long a cloud may take to make an instance; 15m for vSphere, CloudStack and Proxmox, 5m for KWOK";
    REGISTRATION_TIMEOUT "registration-timeout" "DURATION" "15m"
        "How long an instance may take to join as a node";
    INITIALIZATION_TIMEOUT "initialization-timeout" "DURATION" "0s"
        "How long a node may take to be ready for use; 0s for ever";
    KUBERNETES_VERSION_DRIFT "kubernetes-version-drift" "BOOL" "false"
        "Replace nodes whose kubelet is of an older minor version than the one that new instances of their class join with";
    CLUSTER_NAME "cluster-name" "NAME" ""
        "What the cluster is called: its instances are named and marked after it; vSphere needs it";
    CLUSTER_ENDPOINT "cluster-endpoint" "ADDRESS" ""
        "Where instances join the cluster, such as 10.0.0.10:6443 or, for RKE2, https://10.0.0.10:9345; found out if not given";
    JOIN_TOKEN "join-token" "TOKEN" ""
        "What instances join with; one is made for each if not given";
    KUBE_DISTRO "kube-distro" "NAME" ""
        "How instances join: kubeadm, rke2, rke2airgapped, k3s, talos or none; found out if not given";
    KUBE_VERSION "kube-version" "VERSION" ""
        "The version that instances join with, such as v1.33.4+rke2r1; the API server's if not given";
    MINT_TOKENS "mint-tokens" "WHEN" "auto"
        "Whether each instance gets a token of its own: auto (where none is given and it is allowed), always or never";
    PIN_CA "pin-ca" "BOOL" "false"
        "Have a short join token of RKE2 or k3s trust this cluster's certificate authority alone";
    KARPENTER_SERVICE "karpenter-service" "NAME" ""
        "Accepted for Karpenter's sake: there are no webhooks";
}
