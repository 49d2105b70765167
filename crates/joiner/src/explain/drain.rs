//! `joiner explain drain`: what would happen if nodes were drained now.

use std::collections::HashMap;

use joiner_core::plan::PlannedClaim;
use joiner_operator::{
    pods::node_of,
    termination::drain::{Tier, order},
    world::Kept as _,
};
use joiner_plan::Moves;
use serde::Serialize;

use super::{
    instance::Judged,
    places::{Places, PodPlace, new_instance},
};
use crate::{
    cli::ExplainDrainArgs,
    errors::{Exit, Failure},
    text::{self, Align, BAD, BOLD, DIM, GOOD, Table, styled},
};

/// The answer, as programs read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'j> {
    nodes: Vec<Drained<'j>>,
    /// Instances that would be made.
    replacements: &'j [PlannedClaim],
    /// Whether the drain would end without a user's help.
    completes: bool,
    /// How many pods would have no place.
    homeless: usize,
}

/// A node that is drained.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Drained<'j> {
    node: &'j str,
    node_claim: &'j str,
    /// Whether it is on its way out already.
    leaving: bool,
    /// Whether its pods go by force in the end.
    forced: bool,
    /// What leaves together, one group after the other.
    steps: Vec<Step<'j>>,
}

/// Pods that leave together.
#[derive(Debug, Serialize)]
struct Step<'j> {
    what: &'static str,
    pods: Vec<PodPlace<'j>>,
}

/// Runs `joiner explain drain`.
pub(super) fn run(args: &ExplainDrainArgs) -> Result<Exit, Failure> {
    let judged = Judged::read(&args.asking)?;
    let instances = judged.find_all(&args.nodes)?;
    let moves = judged.drain(&instances);
    let answer = Answer::new(&judged, &instances, &moves);
    judged.answer(&answer, || render(&answer), args.asking.output)
}

impl<'j> Answer<'j> {
    /// What happens to the pods of these instances, and where they go.
    pub(super) fn new(judged: &'j Judged, instances: &[usize], moves: &'j Moves) -> Self {
        let places = Places::new(&moves.existing, &moves.claims, &moves.unplaced);
        let nodes: Vec<Drained<'j>> =
            instances.iter().map(|at| Drained::new(judged, *at, &places)).collect();
        let stops = |pod: &PodPlace<'_>| pod.kept.as_ref().is_some_and(|kept| kept.until.is_none());
        let patient = nodes.iter().filter(|node| !node.forced);
        let mut pods = patient.flat_map(|node| &node.steps).flat_map(|step| &step.pods);
        let completes = !pods.any(stops);
        Self { completes, homeless: moves.unplaced.len(), replacements: &moves.claims, nodes }
    }
}

impl<'j> Drained<'j> {
    fn new(judged: &'j Judged, at: usize, places: &Places<'j>) -> Self {
        let (node, instance) = (judged.loaded.node(at), &judged.loaded.fleet.instances[at]);
        let pods = judged.loaded.pods(at);
        let known: HashMap<String, _> = pods.map(|(pod, facts)| (pod.key(), facts)).collect();
        let on_it = judged.objects.pods.iter().filter(|pod| {
            let on = node_of(pod);
            on.is_some() && on == node.node.as_deref()
        });
        let steps = order(on_it, judged.fleet.now).into_iter().map(|(tier, pods)| {
            let mut keys: Vec<String> = pods.iter().map(|pod| pod.key().to_string()).collect();
            keys.sort();
            let place = |key: String| known.get(&key).map(|facts| places.of(key, facts));
            Step { what: words(tier), pods: keys.into_iter().filter_map(place).collect() }
        });
        Self {
            node: node.node.as_deref().unwrap_or_default(),
            node_claim: node.claim.as_deref().unwrap_or_default(),
            leaving: node.leaving,
            forced: instance.claim.as_ref().is_some_and(|claim| claim.has_grace_period),
            steps: steps.collect(),
        }
    }
}

fn words(tier: Tier) -> &'static str {
    match tier {
        Tier::Workload => "workloads",
        Tier::Daemon => "daemons",
        Tier::CriticalWorkload => "critical workloads",
        Tier::CriticalDaemon => "critical daemons",
    }
}

/// As people read it.
pub(super) fn render(answer: &Answer<'_>) -> String {
    let mut sections: Vec<String> = answer.nodes.iter().map(node).collect();
    sections.push(verdict(answer));
    sections.join("\n")
}

fn node(drained: &Drained<'_>) -> String {
    let name = if drained.node.is_empty() { drained.node_claim } else { drained.node };
    let name = styled(name, BOLD);
    if drained.steps.is_empty() {
        return format!("{name} has no pod that would have to leave.\n");
    }
    let leaving = if drained.leaving { "leaving, and is " } else { "" };
    let mut out = format!("{name} is {leaving}left by its pods in this order:\n");
    for (number, Step { what, pods }) in drained.steps.iter().enumerate() {
        let title = format!("  {}. {what}", number + 1);
        let mut table = Table::new([("POD", Align::Left), ("GOES TO", Align::Left)]);
        for pod in pods {
            table.row([format!("    {}", pod.pod).into(), pod.cell()]);
        }
        out += &styled(&title, DIM);
        out.push('\n');
        // Its titles would be said again for every step.
        out.extend(table.render().split_inclusive('\n').skip(1));
    }
    if drained.forced {
        out.push_str(
            "  Its claim has a terminationGracePeriod: what has not left by then is deleted.\n",
        );
    }
    out
}

fn verdict(answer: &Answer<'_>) -> String {
    let instances = match answer.replacements {
        [] => "No new instance is needed.".to_owned(),
        [one] => format!("A new instance is needed: {}.", new_instance(one)),
        many => {
            let price = many.iter().fold(0.0, |sum, claim| sum + claim.price);
            let count = text::count(many.len(), "new instance");
            format!("{count} are needed, {} per hour.", text::price(price))
        }
    };
    let homeless = match answer.homeless {
        0 => String::new(),
        count => {
            let text = format!("{} would have no place and wait.", text::count(count, "pod"));
            styled(&text, BAD) + "\n"
        }
    };
    let end = if answer.completes {
        styled("The drain would come to its end.", GOOD)
    } else {
        let hint =
            "The drain would wait for what is kept above, until somebody does what is said there.";
        styled(hint, BAD)
    };
    format!("{instances}\n{homeless}{end}\n")
}
