//! The files and scripts of an instance, independent of the format.

use super::{inputs::Format, secret::Secret};

/// A file to write, owned by root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: Secret<String>,
}

impl File {
    /// A file that every user may read.
    pub(crate) fn public(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o644, content: Secret::new(content.into()) }
    }

    /// For root only.
    pub(crate) fn private(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o600, content: Secret::new(content.into()) }
    }

    /// A script that root runs.
    pub(crate) fn script(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o700, content: Secret::new(content.into()) }
    }

    /// A program that every user may run.
    pub(crate) fn program(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o755, content: Secret::new(content.into()) }
    }

    /// The mode as cloud-init has it.
    pub(crate) fn permissions(&self) -> String {
        format!("{:04o}", self.mode)
    }
}

/// Everything that makes an instance join. The scripts can be run again at any time: once an instance
/// has joined, they do nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) node_name: String,
    pub(crate) files: Vec<File>,
    /// Path of the script that completes the files in the guest, if there is anything to complete.
    pub(crate) first: Option<String>,
    /// Path of the script that joins, and marks that it has.
    pub(crate) last: String,
}

/// Where files go. Ignition's systems have a read-only `/usr`, and Ignition writes before `/run`
/// is mounted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    scripts: &'static str,
    secrets: &'static str,
}

impl Layout {
    pub(crate) fn of(format: Format) -> Self {
        match format {
            Format::Ignition => Self { scripts: "/etc/joiner", secrets: "/etc/joiner" },
            _ => Self { scripts: "/usr/local/lib/joiner", secrets: "/run/joiner" },
        }
    }

    pub(crate) fn script(self, name: &str) -> String {
        format!("{}/{name}", self.scripts)
    }

    /// Where a file is that is gone once the instance has joined.
    pub(crate) fn secret(self, name: &str) -> String {
        format!("{}/{name}", self.secrets)
    }
}
