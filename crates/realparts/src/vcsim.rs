//! A simulated vCenter on loopback, started from the installed program and gone when it is dropped.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Serialize;
use tempfile::TempDir;

use crate::{
    control_plane::{ASK_EVERY, ASK_TIMES, Process, StartError, tried},
    http::{HttpError, Request, Server},
};

/// Who may log in.
pub const USER: &str = "joiner@vsphere.local";

/// With which password.
pub const PASSWORD: &str = "only on loopback";

/// A simulated vCenter.
#[derive(Debug)]
pub struct Vcsim {
    process: Process,
    /// Where it is, without a path.
    url: String,
    /// Holds the log; goes with the process.
    _folder: TempDir,
}

/// Calls that are refused.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Refusal {
    /// The call's name, or `*` for all.
    pub method: String,
    /// The fault's type.
    pub fault: String,
    /// What people read.
    pub message: String,
    /// How often; 0 is always.
    pub max: u32,
    /// How many calls are let through before that.
    pub skip: u32,
    /// How long a refusal takes, in milliseconds.
    pub delay: u32,
}

impl Vcsim {
    /// The installed program, where there is one: what `JOINER_VCSIM` names. Says so where there
    /// is none, because a test that needs it is then skipped.
    pub fn installed() -> Option<PathBuf> {
        let program = std::env::var_os("JOINER_VCSIM").map(PathBuf::from);
        if program.is_none() {
            eprintln!(
                "skipped: no vCenter simulator; JOINER_VCSIM=$(scripts/install-real-parts vcsim) \
                 names one"
            );
        }
        program
    }

    /// Starts a simulator with an inventory as its flags say (`-vm 10`), and waits until it serves.
    pub async fn start(program: &Path, flags: &[&str]) -> Result<Self, StartError> {
        let folder = tried("a folder for the simulator", tempfile::tempdir())?;
        let mut command = Command::new(program);
        command.args(["-username", USER, "-password", PASSWORD]).args(flags);
        // It leaves folders behind when it is killed.
        command.env("TMPDIR", folder.path());
        let mut process = Process::start(&mut command, folder.path())?;
        for _ in 0..ASK_TIMES {
            process.still_runs()?;
            if let Some(url) = place(&process.end_of_log()) {
                return Ok(Self { process, url, _folder: folder });
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        let url = program.display().to_string();
        Err(StartError::NotReady { url, log: process.end_of_log() })
    }

    /// Where it is, `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// An error, with the end of the log, when the simulator has ended: it does on some requests
    /// that a vCenter refuses.
    pub fn still_runs(&mut self) -> Result<(), StartError> {
        self.process.still_runs()
    }

    /// Has calls refused from now on.
    pub async fn refuse(&self, refusal: &Refusal) -> Result<(), HttpError> {
        let body = serde_json::to_string(refusal).expect("plain fields are JSON");
        self.order("POST", Some(body)).await
    }

    /// Has all calls accepted again.
    pub async fn accept_all(&self) -> Result<(), HttpError> {
        self.order("DELETE", None).await
    }

    async fn order(&self, method: &str, body: Option<String>) -> Result<(), HttpError> {
        let request = Request {
            method: method.to_owned(),
            path: "/test/faults".to_owned(),
            body,
            ..Request::default()
        };
        let answer = Server::new(&self.url, "").send(&request).await?;
        assert_eq!(answer.status, 200, "the simulator does not know this: {}", answer.body);
        Ok(())
    }
}

/// Where the simulator says it is: its URL without credentials and path. None before it says so.
fn place(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.starts_with("https://"))?;
    let (_, host) = line.strip_suffix("/sdk")?.rsplit_once('@')?;
    Some(format!("https://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_once_its_line_is_whole() {
        assert_eq!(place(""), None);
        assert_eq!(place("https://u:p@127.0.0.1:35"), None);
        let whole = "https://u%40v:p@127.0.0.1:35575/sdk\n";
        assert_eq!(place(whole), Some("https://127.0.0.1:35575".to_owned()));
    }
}
