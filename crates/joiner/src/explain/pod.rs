//! `joiner explain pod`: where a pod would go, or what stands in its way.

use joiner_core::{
    plan::{Plan, PlannedClaim},
    pod::Pod,
    reason::Reason,
    snapshot::Snapshot,
};
use joiner_operator::{objects::Objects, pods};
use joiner_plan::explain::{self, PodExplanation};
use k8s_openapi::api::core::v1 as core;
use serde::Serialize;

use super::near::near_matches;
use crate::{
    cli::ExplainPodArgs,
    errors::{Exit, Failure},
    input::Input,
    output::{self, Format},
    plan,
    settings::{Settings, UNBOUND},
    table,
    text::{self, BAD, BOLD, GOOD, WAITS, styled},
};

/// The answer, as programs read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'p> {
    /// `namespace/name`.
    pod: &'p str,
    #[serde(flatten)]
    fate: Fate<'p>,
    /// What a new instance of each pool would say to the pod.
    node_pools: Vec<PoolVerdict<'p>>,
}

/// What becomes of the pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "fate")]
enum Fate<'p> {
    /// It goes to an instance that would be made.
    New { claim: &'p PlannedClaim },
    /// It goes to an instance that exists or is on its way.
    Existing { node: &'p str, node_claim: &'p str },
    /// It has no place.
    Unschedulable { message: &'p str },
    /// It is not considered yet.
    Deferred { message: &'p str },
}

impl Fate<'_> {
    fn is_placed(&self) -> bool {
        matches!(self, Self::New { .. } | Self::Existing { .. })
    }
}

/// What a new instance of a pool would say to the pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolVerdict<'p> {
    node_pool: &'p str,
    accepts: bool,
    /// Whether the plan makes an instance of it for the pod.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    chosen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'p Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'p str>,
}

/// Runs `joiner explain pod`.
pub(crate) fn run(args: &ExplainPodArgs) -> Result<Exit, Failure> {
    let settings = Settings::read(&args.asking.settings, &args.asking.input)?;
    let input = Input::read(&args.asking.input, &settings)?;
    let snapshot = input.snapshot(&args.asking.input, &settings)?;
    let key = key(args, &input.namespace)?;
    let Some(explanation) = explain::pod(&snapshot, &settings.plan, &key) else {
        return Err(Failure::bad_input(not_waiting(&input.objects, &snapshot, &key)));
    };
    let checked = plan::plan_and_check(&snapshot, &settings.plan);
    let answer = Answer::new(&key, &explanation, &checked.planned.plan);
    match args.asking.output {
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

/// `namespace/name` of the pod that is meant.
fn key(args: &ExplainPodArgs, usual_namespace: &str) -> Result<String, Failure> {
    let pod = &args.pod;
    match (pod.split_once('/'), args.namespace.as_deref()) {
        (Some((one, _)), Some(other)) if one != other => Err(Failure::bad_input(format!(
            "the pod {pod} is in namespace {one} and -n says {other}: leave one of them out"
        ))),
        (Some(_), _) => Ok(pod.clone()),
        (None, namespace) => Ok(format!("{}/{pod}", namespace.unwrap_or(usual_namespace))),
    }
}

impl<'p> Answer<'p> {
    fn new(pod: &'p str, explanation: &'p PodExplanation, plan: &'p Plan) -> Self {
        let fate = match &explanation.fate {
            explain::Fate::Claim(index) => Fate::New { claim: &plan.claims[*index] },
            explain::Fate::Existing { node, claim } => Fate::Existing { node, node_claim: claim },
            explain::Fate::Unschedulable(one) => Fate::Unschedulable { message: &one.message },
            explain::Fate::Deferred(one) => Fate::Deferred { message: &one.message },
        };
        let verdict = |verdict: &'p explain::PoolVerdict| PoolVerdict {
            node_pool: &verdict.pool,
            accepts: verdict.refusal.is_none(),
            chosen: verdict.chosen,
            reason: verdict.refusal.as_ref(),
            remedy: verdict.remedy.as_deref(),
        };
        Self { pod, fate, node_pools: explanation.pools.iter().map(verdict).collect() }
    }
}

fn render(answer: &Answer<'_>) -> String {
    let pod = styled(answer.pod, BOLD);
    let mut lines = vec![match &answer.fate {
        Fate::New { claim } => format!(
            "{pod} {} on a new instance of pool {}:\n  {}, zone {}, {} per hour, {}",
            styled("would be placed", GOOD),
            styled(&claim.node_pool, BOLD),
            table::shape(claim),
            table::zone(claim),
            text::price(claim.price),
            match claim.pods.len() - 1 {
                0 => "for this pod alone".to_owned(),
                others => format!("together with {}", text::count(others, "other pod")),
            }
        ),
        Fate::Existing { node, node_claim } => {
            let (name, state) = match *node {
                "" => (*node_claim, "on its way already"),
                node => (node, "there already"),
            };
            let placed = styled("would be placed", GOOD);
            format!("{pod} {placed} on {}, which is {state}", styled(name, BOLD))
        }
        // The pools say it better, where they were asked.
        Fate::Unschedulable { .. } if !answer.node_pools.is_empty() => {
            format!("{pod} {}.", styled("cannot be placed", BAD))
        }
        Fate::Unschedulable { message } => {
            format!("{pod} {}: {message}", styled("cannot be placed", BAD))
        }
        Fate::Deferred { message } => format!("{pod} {}: {message}", styled("must wait", WAITS)),
    }];
    let widest = answer.node_pools.iter().map(|pool| pool.node_pool.chars().count()).max();
    let indent = widest.unwrap_or(0) + 2;
    if !answer.node_pools.is_empty() {
        lines.push("\nWhat a new instance of each pool would say to it:".to_owned());
    }
    for PoolVerdict { node_pool, chosen, reason, remedy, .. } in &answer.node_pools {
        let verdict = match reason {
            None if *chosen => styled("welcome, and chosen", GOOD),
            None => styled("welcome", GOOD),
            Some(reason) => table::without_pool(&reason.message, node_pool),
        };
        lines.push(format!("  {node_pool:indent$}{verdict}"));
        // A pod that has a place needs no advice.
        if let (Some(remedy), false) = (remedy, answer.fate.is_placed()) {
            lines.push(format!("  {:indent$}→ {remedy}", ""));
        }
    }
    lines.join("\n") + "\n"
}

/// Why a pod that is there needs no place.
fn settled(pod: &core::Pod) -> String {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let gates = pod.spec.iter().flat_map(|spec| spec.scheduling_gates.iter().flatten());
    let gates: Vec<&str> = gates.map(|gate| gate.name.as_str()).collect();
    let nominated = pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
    if pods::is_terminal(pod) {
        return format!("has finished ({}) and needs no place", phase.unwrap_or_default());
    }
    if pods::is_terminating(pod) {
        return "is being deleted and needs no place".to_owned();
    }
    if let Some(node) = pods::node_of(pod) {
        return format!("is on node {node} and needs no other place");
    }
    if pods::belongs_to_node(pod) {
        let mut owners = pod.metadata.owner_references.iter().flatten();
        let owner = owners.next().map(|owner| format!("{} {}", owner.kind, owner.name));
        let owner = owner.unwrap_or_default();
        return format!(
            "is one of {owner}, which has a pod on each node that suits it: no node is made for it"
        );
    }
    if !gates.is_empty() {
        return format!(
            "is gated: it is placed once {} is gone from spec.schedulingGates",
            gates.join(" and ")
        );
    }
    if let Some(node) = nominated.filter(|node| !node.is_empty()) {
        return format!("is to go to node {node}, which a scheduler makes room on");
    }
    format!(
        "is left out: no scheduler has found yet that it fits nowhere; --pending {UNBOUND} looks at \
         every pod without a node"
    )
}

/// Why a pod cannot be explained: it needs no place, or it is not there.
fn not_waiting(objects: &Objects, snapshot: &Snapshot, key: &str) -> String {
    let there = objects.pods.iter().find(|pod| {
        let meta = &pod.metadata;
        key.split_once('/') == meta.namespace.as_deref().zip(meta.name.as_deref())
    });
    if let Some(pod) = there {
        return format!("pod {key} {}", settled(pod));
    }
    let near = near_matches(key, snapshot.pods.iter().map(Pod::key));
    let hint = match near.as_slice() {
        [] if snapshot.pods.is_empty() => "no pod does".to_owned(),
        [] => format!("{} do, none with a similar name", text::count(snapshot.pods.len(), "pod")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    format!("no pod {key} waits for a place: {hint}")
}
