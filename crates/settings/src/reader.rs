//! From text to values, with everything that is wrong kept for the end.

use std::{net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use joiner_api::duration::Duration as GoDuration;

use crate::{Setting, Values};

/// What was read, and what its author should know although it can be used.
#[derive(Debug, Clone)]
pub struct Accepted<T> {
    /// The settings.
    pub settings: T,
    /// Things to know, such as the name of a feature that does not exist.
    pub warnings: Vec<String>,
}

/// Reads settings and keeps what is wrong with them.
///
/// COMPAT: Karpenter takes the default when a variable holds no valid number or boolean, without a
/// word (pkg/utils/env); here it is an error, because acting by other settings than the user
/// believes in is worse than not acting.
#[derive(Debug)]
pub struct Reader<'v> {
    values: &'v Values,
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl<'v> Reader<'v> {
    /// A reader of these values.
    pub fn new(values: &'v Values) -> Self {
        Self { values, problems: Vec::new(), warnings: Vec::new() }
    }

    /// What is read from.
    pub fn values(&self) -> &'v Values {
        self.values
    }

    /// The settings, or everything that is wrong.
    pub fn accept<T>(self, settings: T) -> Result<Accepted<T>, Vec<String>> {
        if self.problems.is_empty() {
            Ok(Accepted { settings, warnings: self.warnings })
        } else {
            Err(self.problems)
        }
    }

    /// Something that the author of the settings should know.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// A value that cannot be used, and what to use instead.
    pub fn refuse(&mut self, setting: &Setting, value: &str, remedy: &str) {
        self.problems.push(format!(
            "--{} ({}) cannot be {value:?}: {remedy}",
            setting.name, setting.variable
        ));
    }

    /// A value that is too long to repeat, and what is wrong with it.
    pub fn refuse_with(&mut self, setting: &Setting, problem: &str) {
        self.problems.push(format!("--{} ({}): {problem}", setting.name, setting.variable));
    }

    /// A problem with something that has no declaration.
    pub fn refuse_other(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// One of a few words that somebody typed for something that has no declaration.
    pub fn word<T: Copy, const N: usize>(
        &mut self,
        flag: &str,
        text: &str,
        choices: [(&str, T); N],
    ) -> T {
        choose(text, choices).unwrap_or_else(|remedy| {
            self.refuse_other(format!("--{flag} cannot be {text:?}: {remedy}"));
            choices[0].1
        })
    }

    /// The text itself.
    pub fn text(&self, setting: &Setting) -> &'v str {
        let values: &'v Values = self.values;
        values.get(setting)
    }

    /// The text, where one is given.
    pub fn given(&self, setting: &Setting) -> Option<&'v str> {
        Some(self.text(setting)).filter(|text| !text.is_empty())
    }

    /// The text of a setting without which nothing can be done.
    pub fn required(&mut self, setting: &Setting, why: &str) -> &'v str {
        let text = self.text(setting);
        if text.is_empty() {
            self.refuse_with(setting, &format!("it is not given: {why}"));
        }
        text
    }

    /// One of a few words.
    pub fn choice<T: Copy, const N: usize>(
        &mut self,
        setting: &Setting,
        choices: [(&str, T); N],
    ) -> T {
        let text = self.text(setting);
        choose(text, choices).unwrap_or_else(|remedy| {
            self.refuse(setting, text, &remedy);
            choices[0].1
        })
    }

    /// Whether something is on.
    pub fn switch(&mut self, setting: &Setting) -> bool {
        let text = self.text(setting);
        boolean(text).unwrap_or_else(|| {
            self.refuse(setting, text, "use true or false");
            false
        })
    }

    /// A number, where one is given.
    pub fn number<T: FromStr>(
        &mut self,
        setting: &Setting,
        allowed: impl Fn(&T) -> bool,
        remedy: &str,
    ) -> Option<T> {
        let text = self.given(setting)?;
        let number = text.parse().ok().filter(allowed);
        if number.is_none() {
            self.refuse(setting, text, remedy);
        }
        number
    }

    /// A number of things, at least one.
    pub fn count(&mut self, setting: &Setting) -> u32 {
        let remedy = "use a whole number, 1 or more";
        self.number(setting, |count| *count > 0, remedy).unwrap_or_default()
    }

    /// A port.
    pub fn port(&mut self, setting: &Setting) -> u16 {
        let remedy = "use a port from 1 to 65535, or 0 for any that is free";
        self.number(setting, |_| true, remedy).unwrap_or_default()
    }

    /// An address of this computer, where one is given.
    pub fn address(&mut self, setting: &Setting) -> Option<IpAddr> {
        self.number(setting, |_| true, "use an IPv4 or IPv6 address such as 127.0.0.1 or ::1")
    }

    /// A price.
    pub fn price(&mut self, setting: &Setting) -> f64 {
        let allowed = |price: &f64| price.is_finite() && *price >= 0.0;
        self.number(setting, allowed, "use a price, 0 or more").unwrap_or_default()
    }

    /// A share of a whole, where one is given.
    pub fn share(&mut self, setting: &Setting) -> Option<f64> {
        let remedy = "use a share from 0 to below 1, such as 0.075";
        self.number(setting, |share: &f64| (0.0..1.0).contains(share), remedy)
    }

    /// A length of time, where one is given.
    pub fn time(&mut self, setting: &Setting) -> Option<Duration> {
        let text = self.given(setting)?;
        let nanos = text.parse::<GoDuration>().ok().map(|duration| duration.nanos());
        let time = nanos.and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos);
        if time.is_none() {
            self.refuse(setting, text, "use a duration such as 10s or 1m30s");
        }
        time
    }

    /// A length of time that is more than nothing.
    pub fn some_time(&mut self, setting: &Setting) -> Duration {
        let time = self.time(setting);
        if time.is_some_and(|time| time.is_zero()) {
            self.refuse(setting, self.text(setting), "use a duration of more than 0s, such as 10s");
        }
        time.unwrap_or_default()
    }

    /// Words separated by commas.
    pub fn list(&mut self, setting: &Setting) -> Vec<String> {
        let words = self.text(setting).split(',').map(str::trim);
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// A file, where one is given.
    pub fn path(&mut self, setting: &Setting) -> Option<PathBuf> {
        self.given(setting).map(PathBuf::from)
    }

    /// The name of a Kubernetes object, where one is given.
    pub fn object_name(&mut self, setting: &Setting) -> Option<String> {
        let text = self.given(setting)?;
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let named = text.len() <= 253
            && text.split('.').all(|part| {
                part.starts_with(inner)
                    && part.ends_with(inner)
                    && part.chars().all(|c| inner(c) || c == '-')
            });
        if !named {
            self.refuse(setting, text, "use lower case letters, digits, '-' and '.'");
        }
        Some(text.to_owned())
    }
}

/// What a word stands for, or which words there are.
fn choose<T: Copy, const N: usize>(text: &str, choices: [(&str, T); N]) -> Result<T, String> {
    let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
    chosen.ok_or_else(|| format!("use {}", choices.map(|(word, _)| word).join(" or ")))
}

/// The words that Go's programs, and so Karpenter's users, write for booleans.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}
