//! `joiner explain nodes`: every instance at a glance, and why it stays or goes.

use joiner_core::reason::Reason;
use serde::Serialize;

use super::instance::{Glance, Judged, Verdict};
use crate::{
    cli::AskingArgs,
    errors::{Exit, Failure},
    text::{self, Align, BAD, BOLD, Cell, DIM, GOOD, Table, WAITS, styled},
};

/// The answer, as programs read it.
#[derive(Debug, Serialize)]
struct Answer<'j> {
    nodes: Vec<Line<'j>>,
    /// Who has paused the removal of instances for the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<String>,
}

#[derive(Debug, Serialize)]
struct Line<'j> {
    #[serde(flatten)]
    glance: Glance<'j>,
    /// Why it stays or goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'j Reason>,
    #[serde(skip)]
    verdict: Verdict<'j>,
}

/// Runs `joiner explain nodes`.
pub(super) fn run(args: &AskingArgs) -> Result<Exit, Failure> {
    let judged = Judged::read(args)?;
    let line = |at| {
        let verdict = judged.verdict(at);
        let reason = match verdict {
            Verdict::Goes(command) => Some(&command.reason),
            Verdict::Stays(reasons) | Verdict::Leaving(reasons) => reasons.first(),
            Verdict::Foreign => None,
        };
        Line { glance: Glance::new(&judged, at), reason, verdict }
    };
    let answer = Answer {
        nodes: (0..judged.snapshot.nodes.len()).map(line).collect(),
        paused: judged.paused(),
    };
    judged.answer(&answer, || render(&answer), args.output)
}

fn render(answer: &Answer<'_>) -> String {
    if answer.nodes.is_empty() {
        return "There are no nodes.\n".to_owned();
    }
    let mut table = Table::new([
        ("NODE", Align::Left),
        ("POOL", Align::Left),
        ("TYPE", Align::Left),
        ("ZONE", Align::Left),
        ("PRICE/H", Align::Right),
        ("PODS", Align::Right),
        ("CPU", Align::Left),
        ("MEMORY", Align::Left),
        ("VERDICT", Align::Left),
        ("WHY", Align::Left),
    ]);
    for Line { glance, reason, verdict } in &answer.nodes {
        let style = match verdict {
            Verdict::Goes(_) => WAITS,
            Verdict::Stays(_) => GOOD,
            Verdict::Leaving(_) => BAD,
            Verdict::Foreign => DIM,
        };
        let decided = reason.map_or("", |reason| &reason.message);
        let why = verdict.reason().unwrap_or(decided);
        let share = |share: Option<f64>| share.map_or_else(String::new, text::bar);
        table.row([
            Cell::new(glance.name(), BOLD),
            glance.node_pool.into(),
            glance.instance_type.into(),
            glance.zone.into(),
            glance.price.map_or_else(|| "–".to_owned(), text::price).into(),
            glance.pods.to_string().into(),
            share(glance.cpu).into(),
            share(glance.memory).into(),
            Cell::new(verdict.phrase(), style),
            why.into(),
        ]);
    }
    let mut lines = vec![table.render(), totals(answer)];
    lines.extend(answer.paused.as_ref().map(|paused| styled(paused, WAITS)));
    lines.join("\n") + "\n"
}

fn totals(answer: &Answer<'_>) -> String {
    let price = answer.nodes.iter().filter_map(|line| line.glance.price).fold(0.0, |a, b| a + b);
    let going = answer.nodes.iter().filter(|line| matches!(line.verdict, Verdict::Goes(_))).count();
    let fate = match going {
        0 => "none would go".to_owned(),
        going => format!("{going} would go"),
    };
    format!("{}, {} per hour; {fate}.", text::count(answer.nodes.len(), "node"), text::price(price))
}
