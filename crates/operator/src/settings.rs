//! Settings of the controller.
//!
//! [`declared`] lists every setting of the controller and of planning once. [`Settings::read`]
//! converts the given texts to typed values. Clouds declare settings of their own.
//!
//! Names and defaults are Karpenter's, so that charts for Karpenter keep working.

pub mod declared;
mod gates;
mod joining;
pub mod published;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use joiner_core::{
    price::UnitPrices,
    settings::{MinValuesPolicy, PlanSettings, PreferencePolicy},
};

use joiner_settings::{Accepted, Reader, Values};

pub use self::{gates::Gates, joining::Joining};
use crate::index::{IndexSettings, Pending, spread::SchedulerConfig};

/// The settings of planning, for the controller and for commands.
#[derive(Debug, Clone)]
pub struct PlannerSettings {
    /// The planner's own settings.
    pub plan: PlanSettings,
    /// How objects are read, such as which pods to place. A command may override it.
    pub index: IndexSettings,
    /// The feature gates.
    pub gates: Gates,
    /// The prices of resources where a cloud has no prices of its own.
    pub prices: UnitPrices,
    /// The share of a VM's memory that its guest cannot use, if set for all clouds.
    pub memory_overhead: Option<f64>,
    /// The cpu request of the process, in thousandths of a core.
    pub cpu_requests: u32,
}

impl PlannerSettings {
    /// Reads the settings of planning; the reader collects the problems.
    pub fn read(from: &mut Reader<'_>) -> Self {
        let gates = Gates::read(from, &declared::FEATURE_GATES);
        let plan = PlanSettings {
            preferences: from.choice(
                &declared::PREFERENCE_POLICY,
                [("Respect", PreferencePolicy::Respect), ("Ignore", PreferencePolicy::Ignore)],
            ),
            min_values: from.choice(
                &declared::MIN_VALUES_POLICY,
                [("Strict", MinValuesPolicy::Strict), ("BestEffort", MinValuesPolicy::BestEffort)],
            ),
            ignore_dra: from.switch(&declared::IGNORE_DRA_REQUESTS),
            reserved_capacity: gates.reserved_capacity,
            ..PlanSettings::default()
        };
        let index = IndexSettings {
            pending: Pending::Unschedulable,
            ignore_dra: plan.ignore_dra,
            capacity_buffer: gates.capacity_buffer,
            static_capacity: gates.static_capacity,
            scheduler_config: scheduler_config(from),
        };
        Self {
            plan,
            index,
            gates,
            cpu_requests: cpu_requests(from),
            prices: UnitPrices {
                per_vcpu: from.price(&declared::PRICE_PER_VCPU),
                per_gb: from.price(&declared::PRICE_PER_GB),
                per_gpu: from.price(&declared::PRICE_PER_GPU),
                per_vm: from.price(&declared::PRICE_PER_VM),
            },
            memory_overhead: from.share(&declared::VM_MEMORY_OVERHEAD_PERCENT),
        }
    }
}

/// All settings of a controller.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The settings of planning.
    pub planner: PlannerSettings,
    /// The port for metrics; 0 selects any free port.
    pub metrics_port: u16,
    /// The port for probes; 0 selects any free port.
    pub health_probe_port: u16,
    /// The address that metrics and probes are served on; none for all addresses.
    pub bind_address: Option<IpAddr>,
    /// Average calls to the API server per second.
    pub kube_client_qps: u32,
    /// Burst of calls to the API server.
    pub kube_client_burst: u32,
    /// Leader election between several replicas.
    pub leader_election: LeaderElection,
    /// Whether metrics omit the cluster's state.
    pub disable_cluster_state_observability: bool,
    /// Whether a replica that waits for the lease leaves its caches empty.
    pub disable_controller_warmup: bool,
    /// Whether profiles are served on the metrics port.
    pub enable_profiling: bool,
    /// The memory limit of the process in bytes, if it has one.
    pub memory_limit: Option<u64>,
    /// The log.
    pub log: LogSettings,
    /// How pods are batched before a plan.
    pub batch: Batch,
    /// The timeouts of an instance's steps.
    pub timeouts: Timeouts,
    /// Whether a node of an older minor version than its cluster counts as drifted.
    pub kubernetes_version_drift: bool,
    /// How instances join their cluster.
    pub joining: Joining,
    /// The settings that are published for commands that plan like this controller, by flag name.
    /// The caller adds those of the clouds.
    pub published: BTreeMap<String, String>,
}

/// Leader election between several replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether this process acts without a lease.
    pub disabled: bool,
    /// The name of the lease.
    pub name: String,
    /// Its namespace; by default the namespace of the process.
    pub namespace: Option<String>,
    /// The namespace of the predecessors' leases; by default that of the lease.
    pub predecessor_namespace: Option<String>,
}

/// The settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The lowest level that is written.
    pub level: LogLevel,
    /// The targets: `stdout`, `stderr`, or files.
    pub outputs: Vec<String>,
    /// The targets for errors of the log itself.
    pub error_outputs: Vec<String>,
}

/// The level of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Decisions and requests too.
    Debug,
    /// Changes.
    #[default]
    Info,
    /// Only errors that need attention.
    Error,
}

/// How pods are batched before a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The batch ends this long after its first pod at the latest.
    pub max: Duration,
    /// The batch ends once no new pod has arrived for this long.
    pub idle: Duration,
}

/// The timeouts of an instance's steps. Pools and classes may override them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the claim to the instance; by default each provider's own.
    pub launch: Option<Duration>,
    /// From the instance to its node.
    pub registration: Duration,
    /// From the registered node to the initialized one; none for no limit.
    pub initialization: Option<Duration>,
}

impl Settings {
    /// Reads all settings before it fails, so that users see all problems at once. Each problem
    /// names the flag, the variable and the remedy.
    pub fn read(values: &Values) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(values);
        let settings = Self::read_from(&mut reader);
        reader.accept(settings)
    }

    /// Reads a controller's settings; the reader collects the problems.
    pub fn read_from(from: &mut Reader<'_>) -> Self {
        let settings = Self {
            planner: PlannerSettings::read(from),
            metrics_port: from.port(&declared::METRICS_PORT),
            health_probe_port: from.port(&declared::HEALTH_PROBE_PORT),
            bind_address: from.address(&declared::BIND_ADDRESS),
            kube_client_qps: from.count(&declared::KUBE_CLIENT_QPS),
            kube_client_burst: from.count(&declared::KUBE_CLIENT_BURST),
            leader_election: LeaderElection {
                disabled: from.switch(&declared::DISABLE_LEADER_ELECTION),
                name: from.object_name(&declared::LEADER_ELECTION_NAME).unwrap_or_default(),
                namespace: from.object_name(&declared::LEADER_ELECTION_NAMESPACE),
                predecessor_namespace: from.object_name(&declared::PREDECESSOR_LEASE_NAMESPACE),
            },
            disable_cluster_state_observability: from
                .switch(&declared::DISABLE_CLUSTER_STATE_OBSERVABILITY),
            disable_controller_warmup: from.switch(&declared::DISABLE_CONTROLLER_WARMUP),
            enable_profiling: from.switch(&declared::ENABLE_PROFILING),
            memory_limit: memory_limit(from),
            log: LogSettings {
                level: from.choice(
                    &declared::LOG_LEVEL,
                    [
                        ("debug", LogLevel::Debug),
                        ("info", LogLevel::Info),
                        ("error", LogLevel::Error),
                    ],
                ),
                outputs: from.list(&declared::LOG_OUTPUT_PATHS),
                error_outputs: from.list(&declared::LOG_ERROR_OUTPUT_PATHS),
            },
            batch: Batch {
                max: from.some_time(&declared::BATCH_MAX_DURATION),
                idle: from.some_time(&declared::BATCH_IDLE_DURATION),
            },
            kubernetes_version_drift: from.switch(&declared::KUBERNETES_VERSION_DRIFT),
            timeouts: Timeouts {
                launch: from.time(&declared::LAUNCH_TIMEOUT).filter(|time| !time.is_zero()),
                registration: from.some_time(&declared::REGISTRATION_TIMEOUT),
                initialization: from
                    .time(&declared::INITIALIZATION_TIMEOUT)
                    .filter(|time| !time.is_zero()),
            },
            joining: Joining::read(from),
            published: published::given(from.values(), declared::planner()),
        };
        settings.ports_differ(from);
        profiling_is_not_there(&settings, from);
        settings
    }

    fn ports_differ(&self, from: &mut Reader<'_>) {
        if self.metrics_port == self.health_probe_port && self.metrics_port != 0 {
            let port = self.metrics_port.to_string();
            let remedy = "metrics are served there: use another port than --metrics-port";
            from.refuse(&declared::HEALTH_PROBE_PORT, &port, remedy);
        }
    }
}

/// Warns that profiles are not available. They belong to Go programs, and a chart that enables them
/// must still work.
fn profiling_is_not_there(settings: &Settings, from: &mut Reader<'_>) {
    if settings.enable_profiling {
        from.warn(
            "--enable-profiling (ENABLE_PROFILING) has no effect: there are no profiles to serve",
        );
    }
}

fn scheduler_config(from: &mut Reader<'_>) -> SchedulerConfig {
    let setting = &declared::SCHEDULER_CONFIG;
    SchedulerConfig::parse(from.text(setting)).unwrap_or_else(|error| {
        from.refuse_with(setting, &error.to_string());
        SchedulerConfig::default()
    })
}

/// Like Karpenter, treats values that are not positive as one core, because charts rely on it.
fn cpu_requests(from: &mut Reader<'_>) -> u32 {
    let setting = &declared::CPU_REQUESTS;
    let millicores = from.number(setting, |_: &i32| true, "use a whole number of millicores");
    millicores
        .and_then(|millicores| u32::try_from(millicores).ok())
        .filter(|m| *m > 0)
        .unwrap_or(1000)
}

fn memory_limit(from: &mut Reader<'_>) -> Option<u64> {
    let setting = &declared::MEMORY_LIMIT;
    let remedy = "use a whole number of bytes, or -1 for no limit";
    let bytes = from.number(setting, |_: &i64| true, remedy);
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0)
}
