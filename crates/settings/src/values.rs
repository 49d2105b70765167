//! What was typed.

use std::{collections::BTreeMap, fmt};

use crate::Setting;

/// What was typed: the text of each setting that was given.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<&'static str, String>);

/// Only the names: passwords and tokens are among the texts.
impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Values {
    /// Takes note of a setting that was given.
    pub fn give(&mut self, setting: &Setting, text: impl Into<String>) {
        self.0.insert(setting.name, text.into());
    }

    /// What was given, or the default. An empty text counts as not given: charts write empty
    /// variables for settings that have no value.
    pub fn get(&self, setting: &Setting) -> &str {
        let given = self.0.get(setting.name).map(String::as_str);
        given.filter(|text| !text.is_empty()).unwrap_or(setting.default)
    }

    /// What was given, as it would be typed. Only for settings that hold no secrets.
    pub fn told(&self) -> String {
        let all = self.0.iter().map(|(name, text)| format!("--{name}={text}"));
        all.collect::<Vec<_>>().join(" ")
    }

    /// These values, with others added; what is given in both is taken from the others.
    pub fn with(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().map(|(name, text)| (*name, text.clone())));
        self
    }
}
