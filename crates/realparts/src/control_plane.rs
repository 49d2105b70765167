//! A real control plane on loopback, started from installed programs and gone when it is dropped.

use std::{
    fs::{self, File},
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;

use crate::http::{Request, Server};

/// The token that a control plane started here accepts; its user is in `system:masters`.
pub const TOKEN: &str = "real-admin";

/// How often a starting server is asked whether it is ready, and for how long in all.
const ASK_EVERY: Duration = Duration::from_millis(100);
const ASK_TIMES: usize = 1200;

/// The installed programs, as `scripts/install-real-parts control-plane` prints them.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// etcd.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The controller manager, for those who want controllers.
    pub kube_controller_manager: Option<PathBuf>,
    /// The scheduler, for those who want pods placed.
    pub kube_scheduler: Option<PathBuf>,
}

impl Parts {
    /// Finds the programs among paths, one per line, by their file names.
    pub fn from_listing(listing: &str) -> Result<Self, StartError> {
        let find = |name: &str| {
            let mut paths = listing.lines().map(|line| PathBuf::from(line.trim()));
            paths.find(|path| path.file_name().is_some_and(|file| file == name))
        };
        let need = |name: &'static str| find(name).ok_or(StartError::NoPart { name });
        Ok(Self {
            etcd: need("etcd")?,
            kube_apiserver: need("kube-apiserver")?,
            kube_controller_manager: find("kube-controller-manager"),
            kube_scheduler: find("kube-scheduler"),
        })
    }
}

/// What to start besides etcd and the API server, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Start the controller manager.
    pub controllers: bool,
    /// Start the scheduler.
    pub scheduler: bool,
    /// Flags for the API server after our own, so that they win.
    pub apiserver_flags: Vec<String>,
}

/// A control plane could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program is not among those given.
    #[error("no {name} among the installed parts; run scripts/install-real-parts control-plane")]
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
    #[error("the key for service account tokens could not be made: {0}")]
    Key(#[from] rcgen::Error),
    /// A program ended instead of serving.
    #[error("{name} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// The program's file name.
        name: String,
        /// How it ended.
        status: String,
        /// The last lines it wrote.
        log: String,
    },
    /// The API server runs but never became ready.
    #[error("the API server at {url} did not become ready; the end of its log:\n{log}")]
    NotReady {
        /// Where it was asked.
        url: String,
        /// The last lines it wrote.
        log: String,
    },
}

/// Names what was tried when it failed.
fn tried<T>(what: impl Into<String>, outcome: io::Result<T>) -> Result<T, StartError> {
    outcome.map_err(|source| StartError::Io { what: what.into(), source })
}

/// A running control plane. Dropping it ends its processes and removes its folder.
#[derive(Debug)]
pub struct ControlPlane {
    url: String,
    kubeconfig: PathBuf,
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
        let kubeconfig = write_files(folder.path(), &url)?;
        let mut plane = Self { url, kubeconfig, processes: Vec::new(), folder };
        plane.run(&parts.etcd, &etcd_flags(plane.folder.path(), etcd_port, peer_port))?;
        let mut flags = apiserver_flags(plane.folder.path(), etcd_port, port);
        flags.extend(options.apiserver_flags.iter().cloned());
        plane.run(&parts.kube_apiserver, &flags)?;
        plane.ready().await?;
        if options.controllers {
            let path = parts.kube_controller_manager.as_deref();
            let path = path.ok_or(StartError::NoPart { name: "kube-controller-manager" })?;
            plane.run(path, &controller_manager_flags(plane.folder.path()))?;
        }
        if options.scheduler {
            let path = parts.kube_scheduler.as_deref();
            let path = path.ok_or(StartError::NoPart { name: "kube-scheduler" })?;
            plane.run(path, &scheduler_flags(plane.folder.path()))?;
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

    /// A kubeconfig file with the two.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn run(&mut self, program: &Path, flags: &[String]) -> Result<(), StartError> {
        let process = Process::start(program, flags, self.folder.path())?;
        self.processes.push(process);
        Ok(())
    }

    /// Waits until the API server says that it is ready, or a process ends.
    async fn ready(&mut self) -> Result<(), StartError> {
        let server = Server::new(&self.url, TOKEN);
        let question =
            Request { method: "GET".into(), path: "/readyz".into(), ..Request::default() };
        for _ in 0..ASK_TIMES {
            for process in &mut self.processes {
                process.still_runs()?;
            }
            if server.send(&question).await.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        let log = self.processes.last().map(Process::end_of_log).unwrap_or_default();
        Err(StartError::NotReady { url: self.url.clone(), log })
    }
}

/// A process that ends with its owner.
#[derive(Debug)]
struct Process {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    fn start(program: &Path, flags: &[String], folder: &Path) -> Result<Self, StartError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join(format!("{name}.log"));
        let log = tried(path.display().to_string(), File::create(&path))?;
        let errors = tried(path.display().to_string(), log.try_clone())?;
        let child = Command::new(program)
            .args(flags)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn();
        Ok(Self { name, log: path, child: tried(program.display().to_string(), child)? })
    }

    fn still_runs(&mut self) -> Result<(), StartError> {
        match tried(self.name.clone(), self.child.try_wait())? {
            None => Ok(()),
            Some(status) => Err(StartError::Ended {
                name: self.name.clone(),
                status: status.to_string(),
                log: self.end_of_log(),
            }),
        }
    }

    fn end_of_log(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has ended already can be neither killed nor waited for, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Ports that nobody listens on. Held together, so that all differ.
fn free_ports<const N: usize>() -> Result<[u16; N], StartError> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = tried("a free port", TcpListener::bind(("127.0.0.1", 0)))?;
        *port = tried("a free port", listener.local_addr())?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Writes tokens, keys and configurations, and returns the path of the kubeconfig.
fn write_files(folder: &Path, url: &str) -> Result<PathBuf, StartError> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        tried(path.display().to_string(), fs::write(&path, text)).map(|()| path)
    };
    write("tokens.csv", format!("{TOKEN},admin,admin,\"system:masters\"\n"))?;
    let key = rcgen::KeyPair::generate()?;
    write("service-accounts.key", key.serialize_pem())?;
    write("service-accounts.pub", key.public_key_pem())?;
    // JSON is YAML too.
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "real",
            "cluster": { "server": url, "insecure-skip-tls-verify": true },
        }],
        "users": [{ "name": "admin", "user": { "token": TOKEN } }],
        "contexts": [{ "name": "real", "context": { "cluster": "real", "user": "admin" } }],
        "current-context": "real",
    });
    let kubeconfig = write("kubeconfig", kubeconfig.to_string())?;
    let scheduler = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig },
        "leaderElection": { "leaderElect": false },
    });
    write("scheduler.yaml", scheduler.to_string())?;
    Ok(kubeconfig)
}

fn etcd_flags(folder: &Path, port: u16, peer_port: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".into(),
    ]
}

fn apiserver_flags(folder: &Path, etcd_port: u16, port: u16) -> Vec<String> {
    let accounts =
        |file: &str| folder.join(format!("service-accounts.{file}")).display().to_string();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        // Old versions stay, so that a run may take as long as it likes.
        "--etcd-compaction-interval=0".into(),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--cert-dir={}", folder.join("certificates").display()),
        format!("--token-auth-file={}", folder.join("tokens.csv").display()),
        "--authorization-mode=RBAC".into(),
        "--allow-privileged=true".into(),
        format!("--service-account-key-file={}", accounts("pub")),
        format!("--service-account-signing-key-file={}", accounts("key")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        // Without controllers there are no service accounts that pods could be given.
        "--disable-admission-plugins=ServiceAccount".into(),
    ]
}

fn controller_manager_flags(folder: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", folder.join("kubeconfig").display()),
        "--leader-elect=false".into(),
        "--controllers=*,-nodeipam,-route,-service,-cloud-node-lifecycle".into(),
        "--secure-port=0".into(),
    ]
}

fn scheduler_flags(folder: &Path) -> Vec<String> {
    vec![format!("--config={}", folder.join("scheduler.yaml").display()), "--secure-port=0".into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_their_names() {
        let parts = Parts::from_listing("/c/etcd-1/etcd\n/c/kube-apiserver-2/kube-apiserver\n");
        let parts = parts.unwrap();
        assert_eq!(parts.etcd, Path::new("/c/etcd-1/etcd"));
        assert_eq!(parts.kube_apiserver, Path::new("/c/kube-apiserver-2/kube-apiserver"));
        assert_eq!(parts.kube_scheduler, None);
    }

    #[test]
    fn a_missing_part_is_named_with_the_remedy() {
        let error = Parts::from_listing("/c/etcd-1/etcd").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no kube-apiserver among the installed parts; \
             run scripts/install-real-parts control-plane"
        );
    }
}
