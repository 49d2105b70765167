//! A real control plane on loopback, started from installed programs and gone when it is dropped.
//!
//! [`Options`] says which programs run besides etcd and the API server. KWOK plays the kubelets of
//! nodes that are annotated `kwok.x-k8s.io/node=fake`.

pub mod audit;
mod files;
mod parts;
mod process;

use std::{
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use self::{
    audit::{AuditError, Call},
    files::Files,
};
pub use self::{
    parts::{Parts, needed},
    process::Process,
};
use crate::http::{Request, Server};

/// The token that a control plane started here accepts; its user is in `system:masters`.
pub const TOKEN: &str = "real-admin";

/// How often a starting server is asked whether it is ready, and for how long in all.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(100);
pub(crate) const ASK_TIMES: usize = 1200;

/// What to start besides etcd and the API server, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Start the controller manager.
    pub controllers: bool,
    /// Start the scheduler.
    pub scheduler: bool,
    /// Start KWOK.
    pub kwok: bool,
    /// Write down every request, for [`ControlPlane::calls`].
    pub audit: bool,
    /// Who else may ask, besides the administrator; each gets a kubeconfig.
    pub users: Vec<User>,
    /// How many requests a second the controller manager and the scheduler make at most. Without
    /// it, what they allow themselves by default: 20 and 50.
    pub client_qps: Option<u32>,
    /// Flags for the API server after our own, so that they win.
    pub apiserver_flags: Vec<String>,
    /// What another control plane has left ([`ControlPlane::leave`]), to begin with a copy of it.
    pub store: Option<PathBuf>,
}

/// Somebody whom the API server knows.
#[derive(Debug, Clone)]
pub struct User {
    /// How the API server calls them.
    pub name: String,
    /// What they may do follows from these groups, and from role bindings that name them.
    pub groups: Vec<String>,
}

impl User {
    /// A user who may do everything.
    pub fn in_charge(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec!["system:masters".to_owned()] }
    }
}

/// A control plane could not be started, or something of it has ended.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program is not among those given.
    #[error(
        "no {name} among the installed parts; list it too: scripts/install-real-parts > FILE \
         lists all"
    )]
    NoPart {
        /// The program's file name.
        name: &'static str,
    },
    /// A file or a process could not be made.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A key could not be made.
    #[error("a key could not be made: {0}")]
    Key(#[from] rcgen::Error),
    /// A program ended instead of serving.
    #[error("{name} ended ({status})\nthe end of its log:\n{log}")]
    Ended {
        /// The program's file name.
        name: String,
        /// How it ended.
        status: String,
        /// The last lines it wrote.
        log: String,
    },
    /// The server runs but never became ready.
    #[error("the server at {url} did not become ready; the end of its log:\n{log}")]
    NotReady {
        /// Where it was asked.
        url: String,
        /// The last lines it wrote.
        log: String,
    },
}

/// Names what was tried when it failed.
pub(crate) fn tried<T>(what: impl Into<String>, outcome: io::Result<T>) -> Result<T, StartError> {
    outcome.map_err(|source| StartError::Io { what: what.into(), source })
}

/// A running control plane. Dropping it ends its processes and removes its folder; a test that
/// fails keeps the logs and says where they are.
#[derive(Debug)]
pub struct ControlPlane {
    url: String,
    files: Files,
    // Ended before the folder they write to is removed: fields are dropped in this order.
    processes: Vec<Process>,
    folder: TempDir,
}

impl ControlPlane {
    /// Starts a control plane and returns when its API server is ready.
    pub async fn start(parts: &Parts, options: &Options) -> Result<Self, StartError> {
        let folder = tried("a temporary folder", TempDir::with_prefix("joiner-control-plane-"))?;
        let [etcd_port, peer_port, port] = free_ports()?;
        let url = format!("https://127.0.0.1:{port}");
        let files = Files::write(folder.path(), &url, options)?;
        if let Some(store) = &options.store {
            copy_folder(store, &files.store())?;
        }
        let mut plane = Self { url, files, processes: Vec::new(), folder };
        plane.run(&parts.etcd, plane.files.etcd_flags(etcd_port, peer_port))?;
        plane.run(&parts.kube_apiserver, plane.files.apiserver_flags(etcd_port, port, options))?;
        plane.ready().await?;
        if options.controllers {
            let program =
                needed(parts.kube_controller_manager.as_deref(), "kube-controller-manager")?;
            plane.run(program, plane.files.controller_manager_flags(options))?;
        }
        if options.scheduler {
            let program = needed(parts.kube_scheduler.as_deref(), "kube-scheduler")?;
            plane.run(program, plane.files.scheduler_flags())?;
        }
        if options.kwok {
            let program = needed(parts.kwok.as_deref(), "kwok")?;
            plane.run(program, plane.files.kwok_flags())?;
        }
        Ok(plane)
    }

    /// Where the API server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A bearer token whose user may do everything.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The bearer token of somebody in [`Options::users`].
    pub fn token_of(user: &str) -> String {
        files::token(user)
    }

    /// A kubeconfig file with address and token of the administrator.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig_of(files::ADMIN).expect("there is always an administrator")
    }

    /// The kubeconfig file of somebody in [`Options::users`].
    pub fn kubeconfig_of(&self, user: &str) -> Option<&Path> {
        self.files.kubeconfigs.get(user).map(PathBuf::as_path)
    }

    /// A folder for whoever works with this control plane, gone with it. Logs in it (`*.log`) are
    /// among those that [`Self::save_logs`] saves.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything that the API server has been asked so far, where [`Options::audit`] is set. A
    /// request that has been answered is surely in it.
    pub fn calls(&self) -> Result<Vec<Call>, AuditError> {
        audit::read(&self.files.audit_log())
    }

    /// An error, with the end of its log, when one of the processes has ended.
    pub fn still_runs(&mut self) -> Result<(), StartError> {
        self.processes.iter_mut().try_for_each(Process::still_runs)
    }

    /// Copies all logs into a folder, which is made if it is not there.
    pub fn save_logs(&self, target: &Path) -> io::Result<()> {
        fs::create_dir_all(target)?;
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if let Some(name) =
                path.file_name().filter(|_| path.extension().is_some_and(|e| e == "log"))
            {
                fs::copy(&path, target.join(name))?;
            }
        }
        Ok(())
    }

    /// Ends all processes and copies everything that the API server has stored into a folder, which is made.
    pub fn leave(&mut self, target: &Path) -> Result<(), StartError> {
        // Whoever was started last ends first, so that nobody misses whom it needs.
        while self.processes.pop().is_some() {}
        copy_folder(&self.files.store(), target)
    }

    fn run(&mut self, program: &Path, flags: Vec<String>) -> Result<(), StartError> {
        let process = Process::start(Command::new(program).args(flags), self.folder.path())?;
        self.processes.push(process);
        Ok(())
    }

    /// Waits until the API server says that it is ready, or a process ends.
    async fn ready(&mut self) -> Result<(), StartError> {
        let server = Server::new(&self.url, TOKEN);
        let question =
            Request { method: "GET".into(), path: "/readyz".into(), ..Request::default() };
        for _ in 0..ASK_TIMES {
            self.still_runs()?;
            if server.send(&question).await.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        let log = self.processes.last().map(Process::end_of_log).unwrap_or_default();
        Err(StartError::NotReady { url: self.url.clone(), log })
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let kept = TempDir::with_prefix("joiner-control-plane-logs-").and_then(|folder| {
            self.save_logs(folder.path())?;
            Ok(folder.keep())
        });
        match kept {
            Ok(folder) => eprintln!("the control plane's logs are in {}", folder.display()),
            Err(error) => eprintln!("the control plane's logs could not be kept: {error}"),
        }
    }
}

/// Copies a folder of folders and files to a place where there is none yet.
fn copy_folder(from: &Path, to: &Path) -> Result<(), StartError> {
    let copy = |from: &Path, to: &Path| {
        fs::create_dir(to)?;
        let mut folders = Vec::new();
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), target));
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
        Ok(folders)
    };
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        folders.extend(tried(format!("a copy of {}", from.display()), copy(&from, &to))?);
    }
    Ok(())
}

/// Ports that nobody listens on. Held together, so that all differ.
pub fn free_ports<const N: usize>() -> Result<[u16; N], StartError> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = tried("a free port", TcpListener::bind(("127.0.0.1", 0)))?;
        *port = tried("a free port", listener.local_addr())?.port();
        held.push(listener);
    }
    Ok(ports)
}
