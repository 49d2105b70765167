//! Differences that are known and accepted, each with its reason.

use regex::Regex;
use serde::Deserialize;

use crate::diff::Difference;

/// A pattern of differences, as `accepted.yaml` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// A short name, for the report.
    name: String,
    /// Why the difference is accepted.
    reason: String,
    /// Matches "verb resource" as a whole; everything if it is absent.
    #[serde(default = "anything")]
    what: String,
    /// Matches the place's pattern as a whole.
    path: String,
    /// Matches somewhere in what the real server has there, as JSON; everything if it is absent.
    #[serde(default = "anything")]
    real: String,
    /// The same for the other server.
    #[serde(default = "anything")]
    lab: String,
}

fn anything() -> String {
    ".*".to_owned()
}

/// A pattern of differences that is accepted.
#[derive(Debug)]
pub struct Accepted {
    /// A short name, for the report.
    pub name: String,
    /// Why the difference is accepted.
    pub reason: String,
    what: Regex,
    path: Regex,
    real: Regex,
    lab: Regex,
}

impl Accepted {
    /// The list that belongs to this release.
    pub fn list() -> Result<Vec<Self>, String> {
        Self::read(include_str!("accepted.yaml"))
    }

    /// Reads a list.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let entries: Vec<Entry> =
            serde_saphyr::from_str(text).map_err(|error| format!("accepted.yaml: {error}"))?;
        entries.into_iter().map(Self::compile).collect()
    }

    fn compile(entry: Entry) -> Result<Self, String> {
        let compile = |field: &str, pattern: &str| {
            Regex::new(&format!("(?s){pattern}")).map_err(|error| {
                format!(
                    "accepted.yaml: {}: {field} is not a regular expression: {error}",
                    entry.name
                )
            })
        };
        Ok(Self {
            what: compile("what", &format!("^(?:{})$", entry.what))?,
            path: compile("path", &format!("^(?:{})$", entry.path))?,
            real: compile("real", &entry.real)?,
            lab: compile("lab", &entry.lab)?,
            name: entry.name,
            reason: entry.reason,
        })
    }

    /// Whether a difference in the answers to a question is one of these.
    pub fn covers(&self, what: &str, difference: &Difference) -> bool {
        let text = |value: &Option<serde_json::Value>| {
            value.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        self.what.is_match(what)
            && self.path.is_match(&difference.pattern)
            && self.real.is_match(&text(&difference.real))
            && self.lab.is_match(&text(&difference.lab))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        Accepted::list().unwrap();
    }

    #[test]
    fn an_entry_covers_what_it_says() {
        let list = "[{name: ips, reason: no addresses here, what: create services, path: spec\\.clusterIPs?}]";
        let accepted = Accepted::read(list).unwrap().pop().unwrap();
        let difference = |path: &str| Difference {
            path: path.into(),
            pattern: path.into(),
            real: Some("10.0.0.1".into()),
            lab: None,
        };
        assert!(accepted.covers("create services", &difference("spec.clusterIP")));
        assert!(!accepted.covers("create services", &difference("spec.clusterIP.x")));
        assert!(!accepted.covers("get services", &difference("spec.clusterIP")));
    }

    #[test]
    fn every_accepted_difference_is_told_in_the_documentation() {
        let page = include_str!("../../../docs/laboratory.md");
        for accepted in Accepted::list().unwrap() {
            let row = format!("| {} | {} |", accepted.name, accepted.reason);
            assert!(page.contains(&row), "docs/laboratory.md lacks this row:\n{row}");
        }
    }
}
