//! How a vCenter behaves where real ones differ from release to release and from site to site.

use std::time::Duration;

/// What a vCenter says about itself.
#[derive(Clone, Debug)]
pub struct About {
    /// The version of its interface.
    pub api_version: String,
    /// Older versions that clients may speak.
    pub prior_versions: Vec<String>,
    /// The number of the build.
    pub build: String,
}

impl Default for About {
    fn default() -> Self {
        let prior = ["8.0.2.0", "8.0.1.0", "8.0.0.0", "7.0.3.0", "7.0", "6.7"];
        Self {
            api_version: "8.0.3.0".to_owned(),
            prior_versions: prior.map(str::to_owned).to_vec(),
            build: "24022515".to_owned(),
        }
    }
}

/// What can be chosen about a vCenter.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long things take.
    pub durations: Durations,
    /// After how long without a call a SOAP session ends.
    pub session_idle: Duration,
    /// After how long a REST session ends, used or not.
    pub rest_session_life: Duration,
    /// A session that has expired reads properties as if each of them were forbidden, with HTTP
    /// 200, as some releases do; otherwise the call fails.
    pub expired_sessions_read_nothing: bool,
    /// How many sessions there can be; logins beyond get HTTP 503.
    pub sessions_max: usize,
    /// After how many wrong passwords in a row an account is locked.
    pub wrong_passwords_max: u32,
    /// For how long it is.
    pub account_locked: Duration,
    /// A name that is taken and a power state that does not suit are refused at the call, and not by
    /// the task.
    pub refuses_at_call: bool,
    /// How many objects a page of properties has at most, regardless of the client's request.
    pub page_max: usize,
    /// What hosts have to give to provisioning at one time.
    pub host_units: u32,
    /// What a full clone takes of that from the host of its source.
    pub full_clone_units: u32,
    /// What a linked clone takes of it.
    pub linked_clone_units: u32,
    /// How much memory of VMs a host runs, as a multiple of its own.
    pub memory_overcommit: f64,
    /// How many virtual CPUs a host runs per core.
    pub cpus_per_core: f64,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            durations: Durations::default(),
            session_idle: Duration::from_mins(30),
            rest_session_life: Duration::from_hours(24),
            expired_sessions_read_nothing: false,
            sessions_max: 2_000,
            wrong_passwords_max: 5,
            account_locked: Duration::from_mins(5),
            refuses_at_call: false,
            page_max: 1_000,
            host_units: 16,
            full_clone_units: 4,
            linked_clone_units: 1,
            memory_overcommit: 1.0,
            cpus_per_core: 4.0,
        }
    }
}

/// How long things take.
#[derive(Clone, Debug)]
pub struct Durations {
    /// From the call to the start of a task, if nothing else is in its way.
    pub queued: Duration,
    /// A linked clone, and what every clone takes besides copying.
    pub clone: Duration,
    /// Copying what is written on a disk, per GiB.
    pub copy_gib: Duration,
    /// Changing a VM, its hardware version included.
    pub reconfigure: Duration,
    /// Powering on.
    pub power_on: Duration,
    /// Powering off.
    pub power_off: Duration,
    /// Destroying.
    pub destroy: Duration,
    /// From power-on until the guest is up and its tools speak.
    pub boot: Duration,
    /// From a host's failure until its VMs are started elsewhere, and from one try to the next.
    pub restart: Duration,
    /// A guest's own shutdown.
    pub shutdown: Duration,
    /// For how long a task can be asked about after its end.
    pub task_kept: Duration,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            queued: Duration::from_millis(100),
            clone: Duration::from_secs(4),
            copy_gib: Duration::from_secs(2),
            reconfigure: Duration::from_secs(1),
            power_on: Duration::from_secs(3),
            power_off: Duration::from_secs(2),
            destroy: Duration::from_secs(2),
            boot: Duration::from_secs(25),
            restart: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
            task_kept: Duration::from_mins(10),
        }
    }
}
