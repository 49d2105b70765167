//! How a simulated CloudStack behaves: the operator's settings, and how long things take.

use std::time::Duration;

use jiff::SignedDuration;

/// Settings of the operator and times.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The version that `listCapabilities` tells.
    pub version: String,
    /// How many rows a page may have (`default.page.size`).
    pub page_size_max: u32,
    /// How many calls an account may make; as many as it likes if none (`api.throttling`).
    pub throttle: Option<Throttle>,
    /// Whether commands that change something have to be POST, and all requests of signature
    /// version 3 (`enforce.post.requests.and.timestamps`).
    pub enforce_post: bool,
    /// Whether users may expunge (`allow.user.expunge.recover.vm`).
    pub users_may_expunge: bool,
    /// Whether users see destroyed VMs (`allow.user.view.destroyed.vm`).
    pub users_see_destroyed: bool,
    /// How long user data may be, as base64 (`vm.userdata.max.length`).
    pub user_data_max: usize,
    /// Whether unknown parameters are refused. A real server ignores them; both keep a complaint.
    pub strict: bool,
    /// How much memory and CPU hosts give out for each that they have.
    pub overcommit: f64,
    /// By how much the server's clock is ahead of the simulation's.
    pub clock_skew: SignedDuration,
    /// How long things take.
    pub durations: Durations,
}

/// How many calls an account may make in how much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// How many calls.
    pub calls: u32,
    /// In how much time.
    pub interval: Duration,
}

/// How long things take.
#[derive(Clone, Debug)]
pub struct Durations {
    /// Until a job begins.
    pub queued: Duration,
    /// Deploying or starting a VM, once its job has begun.
    pub start: Duration,
    /// Stopping or destroying a VM.
    pub stop: Duration,
    /// Expunging a VM.
    pub expunge: Duration,
    /// Jobs that only write.
    pub write: Duration,
    /// Until a destroyed VM is expunged (`expunge.delay` and `expunge.interval`).
    pub expunge_delay: Duration,
    /// Until a job is forgotten (`job.expire.minutes`).
    pub job_kept: Duration,
    /// Until a job that does not end is cancelled (`job.cancel.threshold.minutes`).
    pub job_cancelled: Duration,
    /// Until hosts are connected again after the server was restarted.
    pub reconnect: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            version: "4.22.1.1".to_owned(),
            page_size_max: 500,
            throttle: None,
            enforce_post: false,
            users_may_expunge: false,
            users_see_destroyed: false,
            user_data_max: 32_768,
            strict: true,
            overcommit: 1.0,
            clock_skew: SignedDuration::ZERO,
            durations: Durations::default(),
        }
    }
}

impl Default for Durations {
    /// What a real server with simulated hosts was measured to take, and its settings' defaults.
    fn default() -> Self {
        const MINUTE: u64 = 60;
        Self {
            queued: Duration::from_millis(500),
            start: Duration::from_secs(2),
            stop: Duration::from_secs(2),
            expunge: Duration::from_secs(7),
            write: Duration::from_millis(200),
            expunge_delay: Duration::from_secs(24 * 60 * MINUTE),
            job_kept: Duration::from_secs(1440 * MINUTE),
            job_cancelled: Duration::from_secs(60 * MINUTE),
            reconnect: Duration::from_secs(25),
        }
    }
}
