//! Findings: what the doctor says about one object.

use serde::Serialize;

use crate::class::ClassCondition;

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Nothing is wrong.
    Ok,
    /// It works, but perhaps not as intended, or not for long.
    Warning,
    /// Instances cannot be made, or cannot join, until it is corrected.
    Problem,
    /// The check was not possible.
    NotChecked,
}

/// The result of one check of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The check, in one word that programs may rely on.
    pub check: &'static str,
    /// How severe it is.
    pub severity: Severity,
    /// The reason, in one word that programs may rely on. Where a condition of the class says the
    /// same, its reason.
    pub code: String,
    /// The object that it is about.
    pub object: String,
    /// What was found.
    pub text: String,
    /// What to do about it; empty where there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// The check and the object of findings.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The check.
    pub check: &'static str,
    /// The object.
    pub object: &'s str,
}

impl<'s> Subject<'s> {
    /// A subject of findings.
    pub fn new(check: &'static str, object: &'s str) -> Self {
        Self { check, object }
    }

    fn finding(&self, severity: Severity, code: &str, text: String, remedy: String) -> Finding {
        let (check, object, code) = (self.check, self.object.to_owned(), code.to_owned());
        Finding { check, severity, code, object, text, remedy }
    }

    /// Nothing is wrong.
    pub fn fine(&self, text: impl Into<String>) -> Finding {
        self.finding(Severity::Ok, "Ok", text.into(), String::new())
    }

    /// A warning. The message ends with `; ` and the remedy.
    pub fn warning(&self, code: &str, message: &str) -> Finding {
        let (text, remedy) = parts(message);
        self.finding(Severity::Warning, code, text, remedy)
    }

    /// A problem. The message ends with `; ` and the remedy.
    pub fn problem(&self, code: &str, message: &str) -> Finding {
        let (text, remedy) = parts(message);
        self.finding(Severity::Problem, code, text, remedy)
    }

    /// The check was not possible.
    pub fn not_checked(&self, why: impl Into<String>) -> Finding {
        self.finding(Severity::NotChecked, "NotChecked", why.into(), String::new())
    }

    /// What a condition says; `fine` is the text where it holds.
    pub fn condition(&self, condition: &ClassCondition, fine: String) -> Finding {
        match condition.holds {
            Some(true) => self.fine(fine),
            Some(false) => self.problem(&condition.reason, &condition.message),
            None => self.not_checked(condition.message.clone()),
        }
    }
}

/// The text and the remedy of a message: the remedy follows the last `; `.
fn parts(message: &str) -> (String, String) {
    match message.rsplit_once("; ") {
        Some((text, remedy)) => (text.to_owned(), remedy.to_owned()),
        None => (message.to_owned(), String::new()),
    }
}
