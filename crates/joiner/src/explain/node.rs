//! `joiner explain node`: why an instance stays or goes, and what would become of its pods.

use jiff::Timestamp;
use joiner_core::{
    disruption::{Allowance, Command, Method},
    plan::{PlannedClaim, Unplaced},
    reason::Reason,
};
use joiner_plan::{Moves, explain::remedy};
use serde::Serialize;

use super::{
    drain,
    instance::{Glance, Judged, Verdict},
    places::{Places, PodPlace, new_shape},
};
use crate::{
    cli::ExplainNodeArgs,
    errors::{Exit, Failure},
    table,
    text::{self, Align, BAD, BOLD, GOOD, Table, WAITS, styled},
};

/// The answer, as programs read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'j> {
    #[serde(flatten)]
    glance: Glance<'j>,
    /// What is done about it, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'j Command>,
    /// Why it stays, or that it is on its way out; the first reason first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonToStay<'j>>,
    /// What would happen if it went now.
    #[serde(skip_serializing_if = "Option::is_none")]
    if_gone: Option<IfGone<'j>>,
    /// What its drain waits for, if it is on its way out already.
    #[serde(skip_serializing_if = "Option::is_none")]
    drain: Option<drain::Answer<'j>>,
    /// When it expires, regardless of its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    /// What the pool's budgets come to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    budgets: Vec<Budget<'j>>,
    /// Who has paused the removal of the pool's instances, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pool_paused: Option<&'j str>,
    /// Who has paused the removal of instances for the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<String>,
    #[serde(skip)]
    verdict: Verdict<'j>,
}

#[derive(Debug, Serialize)]
struct ReasonToStay<'j> {
    #[serde(flatten)]
    reason: &'j Reason,
    remedy: String,
}

/// What would happen if the instance went now.
#[derive(Debug, Serialize)]
struct IfGone<'j> {
    pods: Vec<PodPlace<'j>>,
    /// Instances that would have to be made.
    replacements: &'j [PlannedClaim],
    /// How much less an hour would cost; negative where it would cost more. Nothing where the
    /// instance's price is not known, where pods would have no place, or where its pool would make
    /// another one at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    savings: Option<f64>,
}

/// What a pool's budgets come to for one reason.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Budget<'j> {
    reason: &'static str,
    allowed: u32,
    taken: u32,
    instances: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    opens: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'j str>,
}

/// Runs `joiner explain node`.
pub(super) fn run(args: &ExplainNodeArgs) -> Result<Exit, Failure> {
    let judged = Judged::read(&args.asking)?;
    let at = judged.find(&args.node)?;
    let moves = match judged.verdict(at) {
        Verdict::Goes(command) => Some(Moves {
            existing: command.destinations.clone(),
            claims: command.replacements.clone(),
            unplaced: waiting_for_their_pool(&judged, at, command),
        }),
        Verdict::Stays(_) => Some(judged.without(at)),
        Verdict::Leaving(_) => Some(judged.drain(&[at])),
        Verdict::Foreign => None,
    };
    let answer = Answer::new(&judged, at, moves.as_ref());
    judged.answer(&answer, || render(&answer), args.asking.output)
}

/// Whether the instance of a pool of a fixed number goes before the one that takes its place comes.
fn goes_first(command: &Command) -> bool {
    command.method == Method::StaticDrift && command.replacements.is_empty()
}

/// The pods of an instance that goes before its pool of a fixed number makes another, as far as no other instance has a
/// place for them.
fn waiting_for_their_pool(judged: &Judged, at: usize, command: &Command) -> Vec<Unplaced> {
    if !goes_first(command) {
        return Vec::new();
    }
    let placed: Vec<&String> = command.destinations.iter().flat_map(|to| &to.pods).collect();
    let pods = judged.loaded.pods(at).filter(|(_, facts)| facts.movable).map(|(pod, _)| pod.key());
    let waiting = pods.filter(|pod| !placed.contains(&pod));
    let pool = judged.snapshot.nodes[at].pool.as_deref().unwrap_or_default();
    let message = format!("NodePool {pool} makes another instance once this one is gone");
    waiting.map(|pod| Unplaced { pod, message: message.clone(), reasons: Vec::new() }).collect()
}

impl<'j> Answer<'j> {
    fn new(judged: &'j Judged, at: usize, moves: Option<&'j Moves>) -> Self {
        let (glance, verdict) = (Glance::new(judged, at), judged.verdict(at));
        let (command, reasons) = match verdict {
            Verdict::Goes(command) => (Some(command), &[][..]),
            Verdict::Stays(reasons) | Verdict::Leaving(reasons) => (None, reasons),
            Verdict::Foreign => (None, &[][..]),
        };
        let (if_gone, drain) = match (verdict, moves) {
            (_, None) => (None, None),
            (Verdict::Leaving(_), Some(moves)) => {
                (None, Some(drain::Answer::new(judged, &[at], moves)))
            }
            (_, Some(moves)) => (Some(IfGone::new(judged, at, moves, command, glance.price)), None),
        };
        let rules = judged.fleet.pools.get(glance.node_pool);
        let is_of_pool = |allowance: &&Allowance| {
            !glance.node_pool.is_empty() && allowance.pool == glance.node_pool
        };
        let is_ours = !matches!(verdict, Verdict::Foreign);
        Self {
            command,
            reasons: reasons
                .iter()
                .map(|reason| ReasonToStay { reason, remedy: remedy(reason) })
                .collect(),
            if_gone,
            drain,
            expires: judged.fleet.instances[at].claim.as_ref().and_then(|claim| claim.expires),
            budgets: judged
                .disruptions
                .allowances
                .iter()
                .filter(is_of_pool)
                .map(Budget::new)
                .collect(),
            pool_paused: rules.and_then(|rules| Some(&*rules.paused.as_ref()?.by)),
            paused: judged.paused().filter(|_| is_ours),
            verdict,
            glance,
        }
    }
}

impl<'j> IfGone<'j> {
    fn new(
        judged: &'j Judged,
        at: usize,
        moves: &'j Moves,
        command: Option<&Command>,
        price: Option<f64>,
    ) -> Self {
        let places = Places::new(&moves.existing, &moves.claims, &moves.unplaced);
        let moving = judged
            .loaded
            .pods(at)
            .filter(|(_, facts)| facts.reschedulable || facts.kept_by.is_some());
        let pool = judged.loaded.node(at).pool.as_deref();
        let rules = pool.and_then(|pool| judged.fleet.pools.get(pool));
        let comes_back = rules.is_some_and(|rules| rules.replicas.is_some());
        let saves = moves.unplaced.is_empty() && !comes_back;
        Self {
            pods: moving.map(|(pod, facts)| places.of(pod.key(), facts)).collect(),
            replacements: &moves.claims,
            savings: match command {
                Some(command) => Some(command.savings),
                None => price.filter(|_| saves).map(|price| price - moves.price()),
            },
        }
    }
}

impl<'j> Budget<'j> {
    fn new(allowance: &'j Allowance) -> Self {
        Self {
            reason: allowance.reason.as_str(),
            // Where no budget is in force, all of them may.
            allowed: allowance.allowed.min(allowance.instances),
            taken: allowance.consuming,
            instances: allowance.instances,
            opens: allowance.opens,
            error: allowance.error.as_deref(),
        }
    }
}

fn render(answer: &Answer<'_>) -> String {
    let mut sections = vec![title(answer)];
    sections.extend(why(answer));
    if let Some(if_gone) = &answer.if_gone {
        sections.extend(places(if_gone, answer.command.is_some()));
        sections.extend(money(if_gone, answer.command));
    }
    sections.extend(answer.drain.as_ref().map(drain::render));
    sections.extend(limits(answer));
    sections.join("\n")
}

fn title(answer: &Answer<'_>) -> String {
    let glance = &answer.glance;
    let name = styled(glance.name(), BOLD);
    let verdict = match answer.verdict {
        Verdict::Goes(_) => styled(answer.verdict.phrase(), WAITS),
        Verdict::Stays(_) => styled(answer.verdict.phrase(), GOOD),
        Verdict::Leaving(_) | Verdict::Foreign => styled(answer.verdict.phrase(), BAD),
    };
    let why = answer.verdict.reason().map(|why| format!(": {why}")).unwrap_or_default();
    let mut facts = Vec::new();
    if !glance.node_pool.is_empty() {
        facts.push(format!("pool {}", glance.node_pool));
    }
    facts.extend([glance.instance_type, glance.zone].map(str::to_owned));
    facts.extend(glance.price.map(|price| format!("{} per hour", text::price(price))));
    facts.push(text::count(glance.pods, "pod"));
    for (what, share) in [("cpu", glance.cpu), ("memory", glance.memory)] {
        facts.extend(share.map(|share| format!("{what} {}%", text::percent(share))));
    }
    facts.retain(|fact| !fact.is_empty());
    format!("{name} {verdict}{why}.\n  {}\n", facts.join(", "))
}

fn why(answer: &Answer<'_>) -> Option<String> {
    let mut lines = Vec::new();
    if let Some(command) = answer.command {
        lines.push(format!("Why: {}", command.reason.message));
        let nodes = command.candidates.iter().map(|candidate| candidate.node.as_str());
        let others: Vec<&str> = nodes.filter(|node| *node != answer.glance.node).collect();
        if !others.is_empty() {
            lines.push(format!("  together with {}", others.join(", ")));
        }
    } else if matches!(answer.verdict, Verdict::Stays(_)) && !answer.reasons.is_empty() {
        lines.push("Why it stays, what stands in the way first:".to_owned());
        for ReasonToStay { reason, remedy } in &answer.reasons {
            lines.extend([format!("  {}", reason.message), format!("    → {remedy}")]);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n") + "\n")
}

/// Where its pods go, a line each.
fn places(if_gone: &IfGone<'_>, goes: bool) -> Option<String> {
    if if_gone.pods.is_empty() {
        return None;
    }
    let mut table = Table::new([
        (if goes { "POD" } else { "IF IT WENT NOW" }, Align::Left),
        ("WOULD BE ON", Align::Left),
    ]);
    for pod in &if_gone.pods {
        table.row([pod.pod.as_str().into(), pod.cell()]);
    }
    Some(table.render())
}

/// What the move would save.
fn money(if_gone: &IfGone<'_>, command: Option<&Command>) -> Option<String> {
    let savings = if_gone.savings?;
    let by = match if_gone.replacements {
        [] if command.is_some_and(goes_first) => "with a new instance once it is gone".to_owned(),
        [] => "without a new instance".to_owned(),
        [one] if one.instance_types.is_empty() => {
            format!("with a new instance in its place, of {}", table::shape(one))
        }
        [one] => format!("with a new {} in its place", new_shape(one)),
        many => format!("with {} in its place", text::count(many.len(), "new instance")),
    };
    let amount = table::savings(savings);
    Some(match command {
        Some(_) => format!("{amount}, {by}.\n"),
        None => format!("The best move that there is: {amount}, {by}.\n"),
    })
}

/// What budgets and pauses say.
fn limits(answer: &Answer<'_>) -> Option<String> {
    let pool = answer.glance.node_pool;
    let mut lines = Vec::new();
    if !answer.budgets.is_empty() {
        lines.push(format!("How many instances of pool {pool} may be away at once:"));
    }
    for Budget { reason, allowed, taken, instances, opens, error } in &answer.budgets {
        let opens = opens.map(|opens| format!("; more from {opens}")).unwrap_or_default();
        lines.push(match error {
            Some(error) => format!("  {reason}: none, {error}"),
            None => format!("  {reason}: {allowed} of {instances}, {taken} taken{opens}"),
        });
    }
    let is_staying = !matches!(answer.verdict, Verdict::Leaving(_));
    if let Some(expires) = answer.expires.filter(|_| is_staying) {
        lines.push(format!("It expires at {expires}, and goes then whatever runs on it."));
    }
    let is_told = |why: &str| answer.reasons.iter().any(|each| each.reason.message.contains(why));
    if let Some(why) = answer.pool_paused.filter(|why| !is_told(why)) {
        lines.push(styled(&format!("Disruption is paused for NodePool {pool}: {why}"), WAITS));
    }
    lines.extend(answer.paused.as_ref().map(|paused| styled(paused, WAITS)));
    (!lines.is_empty()).then(|| lines.join("\n") + "\n")
}
