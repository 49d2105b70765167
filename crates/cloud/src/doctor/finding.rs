//! What is found.

use serde::Serialize;

use crate::class::ClassCondition;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// It is as it has to be.
    Ok,
    /// It works, but perhaps not as meant, or not for long.
    Warning,
    /// Instances cannot be made, or cannot join, until somebody does something.
    Problem,
    /// Nobody can say.
    NotChecked,
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at, in a word that stays.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in a word that stays. Where a condition of the class says it, its reason.
    pub code: String,
    /// The object that it is about.
    pub object: String,
    /// What is so.
    pub text: String,
    /// What to do about it; empty where there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// What findings are about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// What is looked at, in a word.
    pub check: &'static str,
    /// The object.
    pub object: &'s str,
}

impl<'s> Subject<'s> {
    /// What this check finds about an object.
    pub fn new(check: &'static str, object: &'s str) -> Self {
        Self { check, object }
    }

    fn finding(&self, severity: Severity, code: &str, text: String, remedy: String) -> Finding {
        let (check, object, code) = (self.check, self.object.to_owned(), code.to_owned());
        Finding { check, severity, code, object, text, remedy }
    }

    /// It is as it has to be.
    pub fn fine(&self, text: impl Into<String>) -> Finding {
        self.finding(Severity::Ok, "Ok", text.into(), String::new())
    }

    /// It works, but.
    pub fn warning(&self, code: &str, message: &str) -> Finding {
        let (text, remedy) = parts(message);
        self.finding(Severity::Warning, code, text, remedy)
    }

    /// It has to be mended.
    pub fn problem(&self, code: &str, message: &str) -> Finding {
        let (text, remedy) = parts(message);
        self.finding(Severity::Problem, code, text, remedy)
    }

    /// Nobody can say.
    pub fn not_checked(&self, why: impl Into<String>) -> Finding {
        self.finding(Severity::NotChecked, "NotChecked", why.into(), String::new())
    }

    /// What a condition says; `fine` is what is so where it holds.
    pub fn condition(&self, condition: &ClassCondition, fine: String) -> Finding {
        match condition.holds {
            Some(true) => self.fine(fine),
            Some(false) => self.problem(&condition.reason, &condition.message),
            None => self.not_checked(condition.message.clone()),
        }
    }
}

/// What is so, and what to do about it: messages of conditions end with the latter.
fn parts(message: &str) -> (String, String) {
    match message.rsplit_once("; ") {
        Some((text, remedy)) => (text.to_owned(), remedy.to_owned()),
        None => (message.to_owned(), String::new()),
    }
}
