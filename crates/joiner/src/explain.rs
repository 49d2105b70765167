//! `joiner explain pod`: where a pod would go, or what stands in its way.

use joiner_core::{
    plan::{Plan, PlannedClaim},
    pod::Pod,
    reason::Reason,
    snapshot::Snapshot,
};
use serde::Serialize;

use crate::{
    cli::ExplainPodArgs,
    errors::{Exit, Failure},
    input,
    output::{self, Format},
    plan,
    settings::Settings,
    table,
    text::{self, BAD, BOLD, GOOD, WAITS, styled},
};

/// How many similar names are offered for one that is not there.
const NEAR_MATCHES: usize = 3;

/// The answer, as programs read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'p> {
    /// `namespace/name`.
    pod: &'p str,
    #[serde(flatten)]
    fate: Fate<'p>,
    /// What each pool has to say, whether or not the pod has a place.
    node_pools: Vec<PoolVerdict>,
}

/// What becomes of the pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "fate")]
enum Fate<'p> {
    /// It goes to a machine that would be made.
    New { claim: &'p PlannedClaim },
    /// It goes to a machine that exists or is on its way.
    Existing { node: &'p str },
    /// It has no place.
    Unschedulable { message: &'p str },
    /// It is not considered yet.
    Deferred { message: &'p str },
}

/// What a pool has to say about a pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolVerdict {
    node_pool: String,
    /// Whether a new machine of this pool could take the pod, had it the choice.
    accepts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// Runs `joiner explain pod`.
pub(crate) fn run(args: &ExplainPodArgs) -> Result<Exit, Failure> {
    let settings = Settings::try_from(&args.settings)?;
    let objects = input::objects(&args.input)?;
    let snapshot = input::snapshot(&objects, &args.input, &settings)?;
    let key =
        if args.pod.contains('/') { args.pod.clone() } else { format!("default/{}", args.pod) };
    let Some(explanation) = joiner_plan::explain::pod(&snapshot, &settings.plan, &key) else {
        return Err(Failure::bad_input(not_waiting(&snapshot, &key)));
    };
    let checked = plan::plan_and_check(&snapshot, &settings.plan);
    let fate = fate(&checked.planned.plan, &key).expect("a plan says something of every pod");
    let node_pools = explanation.pools.into_iter().map(PoolVerdict::from).collect();
    let answer = Answer { pod: &key, fate, node_pools };
    match args.output {
        Format::Table | Format::Wide => output::text(&render(&answer))?,
        Format::Json => output::json(&answer)?,
        Format::Yaml => output::yaml(&answer)?,
    }
    if checked.findings.is_empty() {
        return Ok(Exit::Success);
    }
    plan::refuse(&checked.findings);
    Ok(Exit::Refused)
}

impl From<joiner_plan::explain::PoolVerdict> for PoolVerdict {
    fn from(verdict: joiner_plan::explain::PoolVerdict) -> Self {
        Self {
            node_pool: verdict.pool,
            accepts: verdict.verdict.is_ok(),
            reason: verdict.verdict.err(),
            help: verdict.help,
        }
    }
}

fn fate<'p>(plan: &'p Plan, key: &str) -> Option<Fate<'p>> {
    let has = |pods: &[String]| pods.iter().any(|pod| pod == key);
    if let Some(claim) = plan.claims.iter().find(|claim| has(&claim.pods)) {
        return Some(Fate::New { claim });
    }
    if let Some(there) = plan.existing.iter().find(|existing| has(&existing.pods)) {
        let node = if there.node.is_empty() { &there.node_claim } else { &there.node };
        return Some(Fate::Existing { node });
    }
    if let Some(one) = plan.unschedulable.iter().find(|one| one.pod == key) {
        return Some(Fate::Unschedulable { message: &one.message });
    }
    let one = plan.deferred.iter().find(|one| one.pod == key)?;
    Some(Fate::Deferred { message: &one.message })
}

fn render(answer: &Answer<'_>) -> String {
    let pod = styled(answer.pod, BOLD);
    let mut out = match &answer.fate {
        Fate::New { claim } => format!(
            "{pod} {} on a new machine of pool {}:\n  {}, zone {}, {} per hour, {}\n",
            styled("would be placed", GOOD),
            styled(&claim.node_pool, BOLD),
            table::shape(&claim.instance_types),
            table::zone(claim),
            text::price(claim.price),
            match claim.pods.len() - 1 {
                0 => "for this pod alone".to_owned(),
                others => format!("together with {}", text::count(others, "other pod")),
            }
        ),
        Fate::Existing { node } => format!(
            "{pod} {} on {}, which is there already\n",
            styled("would be placed", GOOD),
            styled(node, BOLD)
        ),
        Fate::Unschedulable { message } => {
            format!("{pod} {}: {message}\n", styled("cannot be placed", BAD))
        }
        Fate::Deferred { message } => format!("{pod} {}: {message}\n", styled("must wait", WAITS)),
    };
    let widest = answer.node_pools.iter().map(|pool| pool.node_pool.chars().count()).max();
    let indent = widest.unwrap_or(0) + 2;
    if !answer.node_pools.is_empty() {
        out += "\nWhat each pool says about a new machine for it:\n";
    }
    for PoolVerdict { node_pool, reason, help, .. } in &answer.node_pools {
        let verdict = match reason {
            None => styled("accepts it", GOOD),
            Some(reason) => reason.message.clone(),
        };
        out += &format!("  {node_pool:indent$}{verdict}\n");
        if let Some(help) = help {
            out += &format!("  {:indent$}→ {help}\n", "");
        }
    }
    out
}

/// Why a pod cannot be explained: it has a node, or it is not there.
fn not_waiting(snapshot: &Snapshot, key: &str) -> String {
    let bound = snapshot.nodes.iter().find(|node| node.pods.iter().any(|pod| pod.key() == key));
    if let Some(node) = bound {
        return format!("pod {key} runs on {} and needs no other place", node.name());
    }
    let near = near_matches(key, snapshot.pods.iter().map(Pod::key));
    let hint = match near.as_slice() {
        [] if snapshot.pods.is_empty() => "no pod does".to_owned(),
        [] => format!("{} do, none with a similar name", text::count(snapshot.pods.len(), "pod")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    format!("no pod {key} waits for a place: {hint}")
}

/// The names most like `wanted`: those that contain it, then those a few typos away.
fn near_matches(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let bare = wanted.strip_prefix("default/").unwrap_or(wanted);
    let mut scored: Vec<(usize, String)> = names
        .map(|name| {
            let score = if name.contains(bare) { 0 } else { distance(wanted, &name) };
            (score, name)
        })
        .filter(|(score, _)| *score <= wanted.chars().count() / 3)
        .collect();
    scored.sort();
    scored.into_iter().take(NEAR_MATCHES).map(|(_, name)| name).collect()
}

/// How many characters must be changed, added or removed to get from one text to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, from) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in to.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let names = ["shop/web-0", "shop/web-1", "shop/worker-0", "data/postgres-0"];
        let near = |wanted| near_matches(wanted, names.map(str::to_owned).into_iter());
        assert_eq!(near("shop/wbe-0"), ["shop/web-0", "shop/web-1"]);
        assert_eq!(near("default/postgres"), ["data/postgres-0"]);
        assert_eq!(near("default/nothing-like-it"), [""; 0]);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
