//! Shows each kind of difference once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::{Value, json};

use crate::{accepted::Accepted, compare::Outcome, diff::Difference, exchange::Exchange};

/// How many characters of a body a report shows.
const BODY: usize = 400;

/// What was found so far.
#[derive(Debug)]
pub struct Report {
    accepted: Vec<Accepted>,
    /// By verb, resource and pattern of the place.
    groups: BTreeMap<(String, String), Group>,
    /// How often each accepted pattern was met, by its place in the list.
    met: BTreeMap<usize, usize>,
    answers: BTreeMap<String, BTreeMap<u16, usize>>,
    exchanges: usize,
}

#[derive(Debug)]
struct Group {
    count: usize,
    number: usize,
    request: String,
    first: Difference,
}

impl Report {
    /// A report that passes over what is accepted.
    pub fn new(accepted: Vec<Accepted>) -> Self {
        Self {
            accepted,
            groups: BTreeMap::new(),
            met: BTreeMap::new(),
            answers: BTreeMap::new(),
            exchanges: 0,
        }
    }

    /// Whether the servers agree, but for what is accepted. A write that only one of them accepted leaves different
    /// objects behind, however well known its reason is.
    pub fn agrees(&self, exchange: &Exchange, outcome: &Outcome) -> bool {
        let what = what(exchange);
        let is_write = exchange.method != "GET";
        if is_write && outcome.differences.iter().any(|difference| difference.path == "(status)") {
            return false;
        }
        outcome
            .differences
            .iter()
            .all(|difference| self.accepted.iter().any(|one| one.covers(&what, difference)))
    }

    /// Adds the outcome of a question, and returns those of its differences that are not accepted.
    pub fn add<'o>(
        &mut self,
        number: usize,
        exchange: &Exchange,
        outcome: &'o Outcome,
    ) -> Vec<&'o Difference> {
        self.exchanges += 1;
        let what = what(exchange);
        let answers = self.answers.entry(what.clone()).or_default();
        *answers.entry(outcome.real.status).or_default() += 1;
        let mut remaining = Vec::new();
        for difference in &outcome.differences {
            let covering = self.accepted.iter().position(|one| one.covers(&what, difference));
            if let Some(index) = covering {
                *self.met.entry(index).or_default() += 1;
                continue;
            }
            remaining.push(difference);
            let group = (what.clone(), difference.pattern.clone());
            let group = self.groups.entry(group).or_insert_with(|| Group {
                count: 0,
                number,
                request: request(outcome),
                first: difference.clone(),
            });
            group.count += 1;
        }
        remaining
    }

    /// How many kinds of differences remain.
    pub fn remaining(&self) -> usize {
        self.groups.len()
    }

    /// The whole report.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for ((what, pattern), group) in &self.groups {
            let times =
                if group.count == 1 { String::new() } else { format!(", {} times", group.count) };
            let _infallible = writeln!(
                text,
                "{what}: {pattern}{times}\n  exchange {}: {}\n  {}\n",
                group.number, group.request, group.first
            );
        }
        for (index, count) in &self.met {
            let accepted = &self.accepted[*index];
            let _infallible =
                writeln!(text, "accepted, {count} times: {} ({})", accepted.name, accepted.reason);
        }
        let resources: BTreeSet<&str> =
            self.answers.keys().filter_map(|what| what.split(' ').nth(1)).collect();
        let _infallible = writeln!(
            text,
            "{} exchanges about {} resources and subresources, {} kinds of differences",
            self.exchanges,
            resources.len(),
            self.groups.len()
        );
        text
    }

    /// How often each kind of question was answered with which status: what the run covered.
    pub fn coverage(&self) -> String {
        let mut text = String::new();
        for (what, answers) in &self.answers {
            let answers: Vec<String> =
                answers.iter().map(|(status, count)| format!("{status}×{count}")).collect();
            let _infallible = writeln!(text, "{what}: {}", answers.join(" "));
        }
        text
    }
}

/// Verb and resource of a question.
pub fn what(exchange: &Exchange) -> String {
    format!("{} {}", exchange.verb, exchange.resource)
}

/// A difference with its whole request, for those who want to look into it.
pub fn record(
    number: usize,
    exchange: &Exchange,
    outcome: &Outcome,
    kept: &[&Difference],
) -> Value {
    let differences: Vec<Value> = kept
        .iter()
        .map(|one| json!({"path": one.path, "real": one.real, "lab": one.lab}))
        .collect();
    json!({
        "exchange": number,
        "what": what(exchange),
        "method": outcome.request.method,
        "path": outcome.request.path,
        "headers": outcome.request.headers,
        "body": outcome.request.body,
        "realStatus": outcome.real.status,
        "realBody": outcome.real.body,
        "differences": differences,
    })
}

fn request(outcome: &Outcome) -> String {
    let request = &outcome.request;
    let mut text = format!("{} {}", request.method, request.path);
    for (name, value) in &request.headers {
        if name != "content-type" || value != "application/json" {
            let _infallible = write!(text, " [{name}: {value}]");
        }
    }
    if let Some(body) = &request.body {
        let end = body.char_indices().nth(BODY).map_or(body.len(), |(end, _)| end);
        let more = if end < body.len() { "…" } else { "" };
        let _infallible = write!(text, " {}{more}", &body[..end]);
    }
    text
}
