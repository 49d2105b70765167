//! Writing results to stdout.
//!
//! Everything is put together first and written at once, so that a command that fails half way
//! leaves no half of a document behind.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::errors::Failure;

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For people with wide screens: pods and types by name.
    Wide,
    /// For programs.
    Json,
    /// For programs, the same content as JSON.
    Yaml,
}

/// Writes bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Writes text for people; colours stay only where they can be seen and are wanted (`NO_COLOR`).
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Says something on stderr.
pub(crate) fn talk(text: &str) {
    anstream::eprintln!("{text}");
}

/// Reports progress to the waiting user.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        talk(&format!("joiner: {text}"));
    }
}

/// Writes a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(value).map_err(unprintable)?;
    text.push(b'\n');
    bytes(&text)
}

/// Writes a value as YAML.
pub(crate) fn yaml(value: &impl Serialize) -> Result<(), Failure> {
    bytes(to_yaml(value)?.as_bytes())
}

fn to_yaml(value: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_saphyr::to_string(value).map_err(unprintable)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn unprintable(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Output(io::Error::other(error))
}
