//! Settings of the controller.
//!
//! [`declared`] lists every setting of the controller and of planning once, and [`Settings::read`]
//! turns what was typed into values of their types. Clouds declare settings of their own.
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

/// What planning goes by, whoever plans.
#[derive(Debug, Clone)]
pub struct PlannerSettings {
    /// What the planner is told.
    pub plan: PlanSettings,
    /// How objects are read. A controller's rule for which pods to place; a command may change it.
    pub index: IndexSettings,
    /// Which optional features are on.
    pub gates: Gates,
    /// What instances cost where a cloud has no prices of its own.
    pub prices: UnitPrices,
    /// The share of a VM's memory that its guest does not see, where one is given for all clouds.
    pub memory_overhead: Option<f64>,
    /// How much cpu the process was promised, in thousandths of a core.
    pub cpu_requests: u32,
}

impl PlannerSettings {
    /// Reads what planning goes by; problems are kept by the reader.
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

/// Everything a controller goes by.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What planning goes by.
    pub planner: PlannerSettings,
    /// Where metrics are served; 0 takes any port that is free.
    pub metrics_port: u16,
    /// Where probes are answered; 0 takes any port that is free.
    pub health_probe_port: u16,
    /// The address that metrics and probes are served on; none for all addresses.
    pub bind_address: Option<IpAddr>,
    /// How many calls to the API server a second, on average.
    pub kube_client_qps: u32,
    /// How many calls to the API server at once.
    pub kube_client_burst: u32,
    /// Who acts where several processes run.
    pub leader_election: LeaderElection,
    /// Whether what the cluster looks like is left out of the metrics.
    pub disable_cluster_state_observability: bool,
    /// Whether a process that waits for the lease leaves its caches empty.
    pub disable_controller_warmup: bool,
    /// Whether profiles are served beside the metrics.
    pub enable_profiling: bool,
    /// How much memory the process may use, in bytes, where it is limited.
    pub memory_limit: Option<u64>,
    /// What is written to the log and where.
    pub log: LogSettings,
    /// How long pods are collected before a plan is made.
    pub batch: Batch,
    /// How long an instance may take.
    pub timeouts: Timeouts,
    /// Whether nodes of an older minor version than their cluster's have drifted.
    pub kubernetes_version_drift: bool,
    /// What instances join their cluster with.
    pub joining: Joining,
    /// What is published for commands that plan beside this controller, by the names of flags. The
    /// settings of clouds are added by the one that reads them.
    pub published: BTreeMap<String, String>,
}

/// Who acts where several processes run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether this process acts without asking.
    pub disabled: bool,
    /// The name of the lease.
    pub name: String,
    /// Its namespace; the process's own where none is given.
    pub namespace: Option<String>,
    /// The namespace of the leases that the predecessors of providers hold; that of the lease where
    /// none is given.
    pub predecessor_namespace: Option<String>,
}

/// What is written to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The least important lines that are written.
    pub level: LogLevel,
    /// Where lines go: `stdout`, `stderr`, or files.
    pub outputs: Vec<String>,
    /// Where it is said that lines could not be written.
    pub error_outputs: Vec<String>,
}

/// How much is written to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Decisions and requests too.
    Debug,
    /// What changes.
    #[default]
    Info,
    /// Only what somebody should look at.
    Error,
}

/// How long pods are collected before a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// At most this long after the first pod.
    pub max: Duration,
    /// As soon as no new pod came for this long.
    pub idle: Duration,
}

/// How long the steps of an instance may take. Pools and classes may say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the claim to the instance; none where each provider has its own.
    pub launch: Option<Duration>,
    /// From the instance to its node.
    pub registration: Duration,
    /// From the node to its being ready for use; none for ever.
    pub initialization: Option<Duration>,
}

impl Settings {
    /// Reads everything before it gives up, so that nobody has to fix one setting at a time.
    /// Answers all problems, each naming flag and variable and what to write instead.
    pub fn read(values: &Values) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(values);
        let settings = Self::read_from(&mut reader);
        reader.accept(settings)
    }

    /// Reads a controller's settings; problems are kept by the reader.
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

/// Profiles of Go programs are Go's own; a chart that asks for them shall not fail for it.
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

/// Karpenter takes what is not more than 0 as one core, and so does everybody's chart.
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
