//! The format of a log line.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;
use tracing::{Level, Metadata};

use super::{Style, fields::Fields};

/// The reader of the log: a person or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For programs, as Karpenter writes them.
    Json,
    /// For people.
    Short,
}

/// A line with its end.
pub(super) fn line(
    style: &Style,
    now: Timestamp,
    metadata: &Metadata<'_>,
    fields: &Fields,
) -> String {
    let mut line = match style.form {
        Form::Json => json(style, now, metadata, fields),
        Form::Short => short(now, metadata, fields),
    };
    line.push('\n');
    line
}

fn json(style: &Style, now: Timestamp, metadata: &Metadata<'_>, fields: &Fields) -> String {
    let time = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let mut facts: Vec<(&str, Value)> = vec![
        ("level", level(*metadata.level()).into()),
        ("time", time.into()),
        ("logger", "controller".into()),
    ];
    if style.caller
        && let (Some(file), Some(number)) = (metadata.file(), metadata.line())
    {
        facts.push(("caller", format!("{file}:{number}").into()));
    }
    facts.push(("message", fields.message.as_str().into()));
    facts.push(("commit", style.commit.into()));
    facts.extend(fields.facts.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let facts = facts.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name)));
    format!("{{{}}}", facts.collect::<Vec<_>>().join(","))
}

fn short(now: Timestamp, metadata: &Metadata<'_>, fields: &Fields) -> String {
    let time = now.strftime("%H:%M:%S%.3f");
    let mut line = format!("{time} {:<5} {}", level(*metadata.level()), one_line(&fields.message));
    for (name, value) in &fields.facts {
        // Writing to a string does not fail.
        let _ = write!(line, "  {name}={}", one_line(&plain(value)));
    }
    line
}

/// A value without the quotes and braces that only programs need.
fn plain(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(parts) => match (parts.get("namespace"), parts.get("name")) {
            (Some(namespace), Some(name)) => format!("{}/{}", text(namespace), text(name)),
            (None, Some(name)) if parts.len() == 1 => text(name),
            _ => value.to_string(),
        },
        _ => text(value),
    }
}

/// Replaces line breaks, so that a name cannot forge a log line.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// Karpenter's words; it has nothing below debug.
fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG | Level::TRACE => "DEBUG",
    }
}
