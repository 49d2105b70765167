//! Where lines go.

use std::{
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Write},
};

/// Why the log cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file cannot be opened.
    #[error(
        "the log cannot be written to {path:?} (--log-output-paths, LOG_OUTPUT_PATHS): use stdout, \
         stderr or a file that can be written"
    )]
    Open {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is a log already.
    #[error("the log was started twice in one process")]
    StartedTwice,
}

/// One place.
enum Output {
    Stdout,
    Stderr,
    File(File),
    /// Tests read what was written.
    #[cfg(test)]
    Memory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>),
}

impl Output {
    fn open(path: &str) -> Result<Self, OutputError> {
        Ok(match path {
            "stdout" => Self::Stdout,
            "stderr" => Self::Stderr,
            path => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                let refused = |source| OutputError::Open { path: path.to_owned(), source };
                Self::File(file.map_err(refused)?)
            }
        })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        let line = line.as_bytes();
        match self {
            Self::Stdout => io::stdout().lock().write_all(line),
            Self::Stderr => io::stderr().lock().write_all(line),
            Self::File(file) => file.write_all(line),
            #[cfg(test)]
            Self::Memory(written) => written.lock().unwrap().write_all(line),
        }
    }

    fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
            Self::File(_) => false,
            #[cfg(test)]
            Self::Memory(_) => false,
        }
    }
}

/// All targets, and those for errors about a failed target.
pub(super) struct Outputs {
    lines: Vec<Output>,
    complaints: Vec<Output>,
    /// Whether the last line could not be written, so that the next is not complained about too.
    failing: bool,
}

impl Outputs {
    pub(super) fn open(outputs: &[String], complaints: &[String]) -> Result<Self, OutputError> {
        let open = |paths: &[String]| {
            paths.iter().map(|path| Output::open(path)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self { lines: open(outputs)?, complaints: open(complaints)?, failing: false })
    }

    pub(super) fn are_read_by_people(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(Output::is_terminal)
    }

    pub(super) fn write(&mut self, line: &str) {
        let written = self.lines.iter_mut().map(|output| output.write(line));
        // All of them are tried, whatever the first says.
        let problem = written.filter_map(Result::err).last();
        let again = std::mem::replace(&mut self.failing, problem.is_some());
        if let Some(problem) = problem.filter(|_| !again) {
            let complaint = format!("joiner: the log could not be written: {problem}\n");
            for output in &mut self.complaints {
                // There is nowhere left to say that this failed.
                let _ = output.write(&complaint);
            }
        }
    }
}

#[cfg(test)]
impl Outputs {
    /// Lines are kept where a test can read them.
    pub(super) fn kept(written: &std::sync::Arc<std::sync::Mutex<Vec<u8>>>) -> Self {
        let lines = vec![Output::Memory(std::sync::Arc::clone(written))];
        Self { lines, complaints: Vec::new(), failing: false }
    }
}
