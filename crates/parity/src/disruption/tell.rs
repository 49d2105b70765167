//! What happened to clusters, for somebody who wants to know why.

use std::{
    cmp::Reverse,
    fmt::{self, Display, Formatter},
    io::{self, Write},
};

use super::{
    history::{History, Move},
    trial::Trial,
};

/// What it took to get where both sides got.
#[derive(Debug, Default)]
pub struct Effort {
    our_evictions: usize,
    their_evictions: usize,
    our_rounds: usize,
    their_rounds: usize,
}

impl Effort {
    /// Takes in a trial, with the medians of Karpenter's runs.
    pub fn add(&mut self, trial: &Trial) {
        let median = |mut values: Vec<usize>| {
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        self.our_evictions += trial.ours.evictions;
        self.our_rounds += trial.ours.rounds.len();
        self.their_evictions += median(trial.theirs.iter().map(|run| run.evictions).collect());
        self.their_rounds += median(trial.theirs.iter().map(|run| run.rounds.len()).collect());
    }
}

impl Display for Effort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { our_evictions, their_evictions, our_rounds, their_rounds } = self;
        writeln!(
            f,
            "on the way: {our_evictions} evictions to Karpenter's {their_evictions}, \
             {our_rounds} rounds to {their_rounds}"
        )
    }
}

/// Tells what both sides did, move by move.
pub fn tell(trial: &Trial, out: &mut impl Write) -> io::Result<()> {
    show_history("ours", &trial.ours, out)?;
    for (runs, run) in by_outcome(&trial.theirs) {
        show_history(&format!("Karpenter, {runs} of {} runs", trial.theirs.len()), run, out)?;
    }
    Ok(())
}

/// One run for each outcome, with how many runs had it, most frequent first.
fn by_outcome(runs: &[History]) -> Vec<(usize, &History)> {
    let mut outcomes: Vec<(usize, &History)> = Vec::new();
    for run in runs {
        let is_same = |it: &&mut (usize, &History)| {
            it.1.after == run.after && it.1.findings.is_empty() == run.findings.is_empty()
        };
        match outcomes.iter_mut().find(is_same) {
            Some((count, _)) => *count += 1,
            None => outcomes.push((1, run)),
        }
    }
    outcomes.sort_by_key(|(count, _)| Reverse(*count));
    outcomes
}

fn show_history(whose: &str, history: &History, out: &mut impl Write) -> io::Result<()> {
    let History { before, after, evictions, .. } = history;
    writeln!(
        out,
        "\n{whose}: {} instances for {:.4} become {} for {:.4}, {evictions} evictions",
        before.instances, before.price, after.instances, after.price
    )?;
    for (index, round) in history.rounds.iter().enumerate() {
        for step in &round.moves {
            show_move(index + 1, step, out)?;
        }
        for claim in round.provisioned.iter().flat_map(|plan| &plan.claims) {
            let kind = claim.instance_types.first().map_or("no type", String::as_str);
            writeln!(out, "    then {} {kind}: {}", claim.node_pool, claim.pods.join(" "))?;
        }
    }
    if !history.converged {
        writeln!(out, "  and no end to it")?;
    }
    for finding in &history.findings {
        writeln!(out, "  wrong: {finding}")?;
    }
    Ok(())
}

fn show_move(round: usize, step: &Move, out: &mut impl Write) -> io::Result<()> {
    write!(out, "  {round} {}:", step.method)?;
    for going in &step.candidates {
        write!(out, " -{}({})", going.node, going.pods.join(" "))?;
    }
    for coming in &step.replacements {
        let kind = coming.instance_types.first().map_or("no type", String::as_str);
        write!(
            out,
            " +{} {kind} {:.4}({})",
            coming.node_pool,
            coming.price,
            coming.pods.join(" ")
        )?;
    }
    for to in &step.destinations {
        write!(out, " >{}({})", to.node, to.pods.join(" "))?;
    }
    writeln!(out)?;
    Ok(())
}
