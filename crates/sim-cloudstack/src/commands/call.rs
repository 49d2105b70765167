//! A call that was admitted: the command with the values of its parameters.

use std::collections::BTreeMap;

use super::{page::Page, table::Command};
use crate::{access::Caller, estate::Number, refusal::Refusal, trouble::JobTrouble};

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) command: Command,
    pub(crate) caller: Caller,
    pub(crate) given: Given,
    pub(crate) page: Page,
    pub(crate) is_get: bool,
    /// What goes wrong with the job that it begins.
    pub(crate) job_trouble: Option<JobTrouble>,
    /// Whether the server dies before it has made the job.
    pub(crate) no_job: bool,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
    Entity(Number),
    Entities(Vec<Number>),
    /// `projectid=-1`.
    AllProjects,
    Texts(Vec<String>),
    Map(BTreeMap<u32, BTreeMap<String, String>>),
}

/// The values that a call gives, by parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Given(pub(super) BTreeMap<String, Value>);

impl Given {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether a flag was given, and which.
    pub(crate) fn choice(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.choice(name).unwrap_or(false)
    }

    pub(crate) fn entity(&self, name: &str) -> Option<Number> {
        match self.0.get(name)? {
            Value::Entity(number) => Some(*number),
            _ => None,
        }
    }

    /// The object that a required parameter names. Reading refuses calls without it.
    pub(crate) fn required(&self, name: &str) -> Number {
        self.entity(name).unwrap_or_default()
    }

    pub(crate) fn entities(&self, name: &str) -> Option<&[Number]> {
        match self.0.get(name)? {
            Value::Entities(numbers) => Some(numbers),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    pub(crate) fn is_all_projects(&self) -> bool {
        self.0.get("projectid") == Some(&Value::AllProjects)
    }

    /// A map whose entries are fields, of whatever index.
    pub(crate) fn fields(&self, name: &str) -> BTreeMap<String, String> {
        match self.0.get(name) {
            Some(Value::Map(entries)) => {
                entries.values().flatten().fold(BTreeMap::new(), |mut fields, (name, value)| {
                    fields.insert(name.clone(), value.clone());
                    fields
                })
            }
            _ => BTreeMap::new(),
        }
    }

    /// A map whose entries have a key and a value.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let Some(Value::Map(entries)) = self.0.get(name) else { return Ok(Vec::new()) };
        let pair = |entry: &BTreeMap<String, String>| {
            let key = entry.get("key").cloned().unwrap_or_default();
            match entry.get("value") {
                Some(value) => Ok((key, value.clone())),
                None => Err(Refusal::value(format!("No value is passed in for key {key}"))),
            }
        };
        entries.values().map(pair).collect()
    }

    /// The keys of a map whose entries have a key, and perhaps a value.
    pub(crate) fn keys(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Map(entries)) => {
                entries.values().filter_map(|entry| entry.get("key").cloned()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a row passes the filters by id.
    pub(crate) fn selects(&self, number: Number) -> bool {
        self.entity("id").is_none_or(|id| id == number)
            && self.entities("ids").is_none_or(|ids| ids.contains(&number))
    }

    /// Whether a text equals a filter, where there is one.
    pub(crate) fn equals(&self, name: &str, text: &str) -> bool {
        self.text(name).is_none_or(|wanted| wanted.eq_ignore_ascii_case(text))
    }

    /// Whether any of some texts contains the keyword, where there is one.
    pub(crate) fn mentions(&self, texts: &[&str]) -> bool {
        self.text("keyword").is_none_or(|keyword| {
            let keyword = keyword.to_lowercase();
            texts.iter().any(|text| text.to_lowercase().contains(&keyword))
        })
    }
}
