//! How a simulated Proxmox VE cluster behaves, and how long things take.

use std::time::Duration;

/// How errors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStyle {
    /// As version 8.3 writes them: the text is in the reason phrase alone.
    Reason,
    /// As version 9 writes them: the body has a message too.
    #[default]
    Message,
}

/// Settings and times.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The version that `GET /version` tells.
    pub version: String,
    /// How errors are written.
    pub errors: ErrorStyle,
    /// Whether a VM may be destroyed that a clone left locked, when its task is no more.
    pub destroys_broken_clones: bool,
    /// How long things take.
    pub durations: Durations,
}

/// How long things take.
#[derive(Clone, Debug)]
pub struct Durations {
    /// Until a wrong token or ticket is refused.
    pub unauthorized: Duration,
    /// How long a task or a call waits for the lock of a VM or a storage.
    pub lock: Duration,
    /// How long the lock of a shared storage is waited for.
    pub shared_lock: Duration,
    /// Allocating a volume, during which its storage is locked.
    pub allocate: Duration,
    /// Copying a disk of a full clone, or importing one.
    pub copy: Duration,
    /// Writing a configuration, and other short tasks.
    pub write: Duration,
    /// Starting a VM.
    pub start: Duration,
    /// Stopping a VM.
    pub stop: Duration,
    /// Shutting a VM down from within.
    pub shutdown: Duration,
    /// Destroying a VM.
    pub destroy: Duration,
    /// Uploading a file, once it has arrived.
    pub upload: Duration,
    /// Downloading a file.
    pub download: Duration,
    /// Until a change of a guest is told to the rows of other nodes.
    pub broadcast: Duration,
    /// Until high availability does what it was asked.
    pub ha: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            version: "9.1.2".to_owned(),
            errors: ErrorStyle::default(),
            destroys_broken_clones: true,
            durations: Durations::default(),
        }
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            unauthorized: Duration::from_secs(3),
            lock: Duration::from_secs(10),
            shared_lock: Duration::from_mins(1),
            allocate: Duration::from_secs(1),
            copy: Duration::from_secs(8),
            write: Duration::from_millis(300),
            start: Duration::from_secs(2),
            stop: Duration::from_secs(1),
            shutdown: Duration::from_secs(5),
            destroy: Duration::from_secs(1),
            upload: Duration::from_secs(1),
            download: Duration::from_secs(20),
            broadcast: Duration::from_secs(10),
            ha: Duration::from_secs(10),
        }
    }
}
