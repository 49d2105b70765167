//! The report that programs read.

use serde::Serialize;

use super::{Finding, Severity};

/// Findings and their numbers. The order of fields is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What was found.
    pub findings: Vec<Finding>,
    /// How many findings there are of each severity.
    pub summary: Summary,
}

impl Report {
    /// A report of findings.
    pub fn of(findings: Vec<Finding>) -> Self {
        let count = |severity| findings.iter().filter(|own| own.severity == severity).count();
        let summary = Summary {
            ok: count(Severity::Ok),
            warnings: count(Severity::Warning),
            problems: count(Severity::Problem),
            not_checked: count(Severity::NotChecked),
        };
        Self { findings, summary }
    }
}

/// How many findings there are of each severity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Findings without a problem.
    pub ok: usize,
    /// Warnings.
    pub warnings: usize,
    /// Problems.
    pub problems: usize,
    /// Checks that were not possible.
    pub not_checked: usize,
}
