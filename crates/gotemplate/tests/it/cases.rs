//! The table of cases: templates and what becomes of them, as Go says it.
//!
//! `cases.txt` is read and written again with the outcomes. Where they differ, the test fails;
//! `UPDATE_EXPECT=1` keeps what was written. The module `real` does the same with Go's outcomes.

use std::fmt::Write;

use expect_test::expect_file;
use joiner_gotemplate::{Functions, Limits, MissingKey, Options, Template, library};

use crate::data;

/// What becomes of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Output(Vec<u8>),
    /// An error of parsing, as Go writes it: without a column.
    Parse(String),
    Error(String),
}

pub(crate) fn functions() -> Functions {
    Functions::builtin().with(library::functions())
}

/// Executes a template on the data of all cases.
pub(crate) fn outcome(source: &str, missing_key: MissingKey) -> Outcome {
    outcome_of(source, missing_key, &data::data())
}

pub(crate) fn outcome_of(
    source: &str,
    missing_key: MissingKey,
    data: &joiner_gotemplate::Value,
) -> Outcome {
    // Go has no bounds. Those that there are have tests of their own.
    let limits = Limits { output_bytes: 1 << 30, work_units: 1 << 32, ..Limits::default() };
    let options = Options { missing_key, limits };
    match Template::parse("node", source, &functions(), &options.limits) {
        Err(error) => {
            Outcome::Parse(format!("template: {}:{}: {}", error.name, error.line, error.problem))
        }
        Ok(template) => match template.execute(data, &options) {
            Ok(output) => Outcome::Output(output),
            Err(error) => Outcome::Error(error.to_string()),
        },
    }
}

/// A case of the table.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) source: String,
    pub(crate) missing_key: MissingKey,
}

/// A line of the table: something to read, or a case.
pub(crate) enum Entry {
    Remark(String),
    Case(Case),
}

const TABLE: &str = include_str!("cases.txt");

/// Reads the table, without its outcomes.
pub(crate) fn table() -> Vec<Entry> {
    let mut entries = Vec::new();
    for block in TABLE.split("\n\n") {
        let lines: Vec<&str> =
            block.trim_matches('\n').split('\n').filter(|line| !is_outcome(line)).collect();
        let (missing_key, lines) = match lines.split_first() {
            Some((&"@missingkey=zero", rest)) => (MissingKey::Zero, rest),
            Some((&"@missingkey=error", rest)) => (MissingKey::Error, rest),
            _ => (MissingKey::NoValue, lines.as_slice()),
        };
        let source = lines.join("\n");
        entries.push(if source.starts_with("# ") {
            Entry::Remark(source)
        } else {
            Entry::Case(Case { source, missing_key })
        });
    }
    entries
}

fn is_outcome(line: &str) -> bool {
    line.starts_with("→") || line.starts_with('✗')
}

/// Writes the table with outcomes.
pub(crate) fn written(outcomes: impl Fn(&Case) -> Outcome) -> String {
    let blocks = table().into_iter().map(|entry| match entry {
        Entry::Remark(remark) => remark,
        Entry::Case(case) => {
            let mut block = match case.missing_key {
                MissingKey::NoValue => String::new(),
                MissingKey::Zero => "@missingkey=zero\n".to_owned(),
                MissingKey::Error => "@missingkey=error\n".to_owned(),
            };
            block.push_str(&case.source);
            block.push_str(&shown(&outcomes(&case)));
            block
        }
    });
    let mut table = blocks.collect::<Vec<_>>().join("\n\n");
    table.push('\n');
    table
}

/// An outcome in lines; texts that a line cannot show are escaped.
fn shown(outcome: &Outcome) -> String {
    let mut text = String::new();
    match outcome {
        Outcome::Parse(error) | Outcome::Error(error) => {
            write!(text, "\n✗ {}", error.replace('\n', "\\n")).unwrap();
        }
        Outcome::Output(output) => match std::str::from_utf8(output) {
            Ok(output) if output.lines().all(|line| line.trim_end() == line) => {
                for line in output.split('\n') {
                    write!(text, "\n→{}{line}", if line.is_empty() { "" } else { " " }).unwrap();
                }
            }
            _ => write!(text, "\n→\"{}\"", output.escape_ascii()).unwrap(),
        },
    }
    text
}

#[test]
fn templates_become_what_go_makes_of_them() {
    let table = written(|case| outcome(&case.source, case.missing_key));
    expect_file!["cases.txt"].assert_eq(&table);
}
