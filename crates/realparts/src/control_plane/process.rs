//! Processes that end with their owner.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::{StartError, tried};

/// How much of a log is shown when its program ended: enough for the message of a program in Go
/// that panicked, above the trace.
const LINES_SHOWN: usize = 25;

/// A process that ends with its owner. What it says is in a file of its name.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    /// Where in the log this process began; what is before is of others of its name.
    log_start: usize,
    child: Child,
}

impl Process {
    /// Starts a command in a folder, where its log is: `NAME.log`, written on if it is there.
    pub fn start(command: &mut Command, folder: &Path) -> Result<Self, StartError> {
        let program = Path::new(command.get_program()).to_owned();
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = folder.join(format!("{name}.log"));
        let opened = File::options().create(true).append(true).open(&log);
        let output = tried(log.display().to_string(), opened)?;
        let errors = tried(log.display().to_string(), output.try_clone())?;
        let log_start = tried(log.display().to_string(), output.metadata())?.len() as usize;
        let child =
            command.current_dir(folder).stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        Ok(Self { name, log, log_start, child: tried(program.display().to_string(), child)? })
    }

    /// The program's file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// An error, with the end of the log, when the process has ended.
    pub fn still_runs(&mut self) -> Result<(), StartError> {
        match tried(self.name.clone(), self.child.try_wait())? {
            None => Ok(()),
            Some(status) => Err(StartError::Ended {
                name: self.name.clone(),
                status: status.to_string(),
                log: self.end_of_log(),
            }),
        }
    }

    /// The last lines that the process wrote.
    pub fn end_of_log(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let own = String::from_utf8_lossy(log.get(self.log_start..).unwrap_or_default());
        let lines: Vec<&str> = own.lines().collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has ended already can be neither killed nor waited for, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_reported_with_what_it_said_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo the store is gone >&2; exit 3"]);
        let mut process = Process::start(&mut command, folder.path()).unwrap();
        let status = process.child.wait().unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(
            process.still_runs().unwrap_err().to_string(),
            "sh ended (exit status: 3)\nthe end of its log:\nthe store is gone"
        );
    }

    #[test]
    fn a_program_that_is_started_again_writes_on() {
        let folder = tempfile::tempdir().unwrap();
        for word in ["first", "second"] {
            let mut command = Command::new("echo");
            let mut process = Process::start(command.arg(word), folder.path()).unwrap();
            process.child.wait().unwrap();
            assert_eq!(process.end_of_log(), word, "what others said is theirs");
        }
        let log = fs::read_to_string(folder.path().join("echo.log")).unwrap();
        assert_eq!(log, "first\nsecond\n");
    }
}
