//! `joiner plan`: what would be made for the pods of a cluster. Nothing is changed.

use std::time::Instant;

use joiner_check::{Finding, check_disruptions};
use joiner_core::{
    disruption::{Command, Disruptions, Fleet, Staying},
    plan::{ExistingPlacement, Plan, PlannedClaim, Unplaced},
    reason::Reason,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
};
use joiner_operator::objects::Objects;
use joiner_plan::{
    Planned, Report,
    disrupt::{disrupt, tell_places},
};
use serde::Serialize;

use crate::{
    cli::{FailOn, PlanArgs},
    dump,
    errors::{Exit, Failure},
    input::Input,
    output::{self, Format},
    settings::Settings,
    table::{self, View},
    text,
};

/// A plan in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Pods to place.
    pub(crate) pods: usize,
    /// Pods that have a place.
    pub(crate) placed: usize,
    /// Claims to make.
    pub(crate) claims: usize,
    /// What the claims cost in an hour.
    pub(crate) price: f64,
    /// What no plan could cost less than.
    pub(crate) lower_bound: f64,
    /// How long the planner took.
    pub(crate) solve_seconds: f64,
    /// Whether the independent checker accepts the plan.
    pub(crate) checked: bool,
}

/// A plan, its figures, and what the checker says of it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) planned: Planned,
    pub(crate) summary: Summary,
    pub(crate) findings: Vec<Finding>,
}

/// Plans and has the plan checked.
pub(crate) fn plan_and_check(snapshot: &Snapshot, settings: &PlanSettings) -> Checked {
    let start = Instant::now();
    let planned = joiner_plan::provision(snapshot, settings);
    let solve_seconds = start.elapsed().as_secs_f64();
    let findings = joiner_check::check(snapshot, settings, &planned.plan);
    let plan = &planned.plan;
    let summary = Summary {
        pods: plan.placed() + plan.unschedulable.len() + plan.deferred.len(),
        placed: plan.placed(),
        claims: plan.claims.len(),
        price: plan.price(),
        lower_bound: joiner_check::lower_bound(snapshot, plan),
        solve_seconds,
        checked: findings.is_empty(),
    };
    Checked { planned, summary, findings }
}

/// The document that programs read. The order of fields is part of the format.
#[derive(Debug, Serialize)]
struct Document<'p> {
    claims: &'p [PlannedClaim],
    existing: &'p [ExistingPlacement],
    unschedulable: &'p [Unplaced],
    deferred: &'p [Unplaced],
    summary: &'p Summary,
    #[serde(flatten)]
    disruptions: Option<DisruptionsDocument<'p>>,
}

/// What is added with `--disrupt`.
#[derive(Debug, Serialize)]
struct DisruptionsDocument<'p> {
    commands: &'p [Command],
    blocked: &'p [Staying],
}

/// Runs `joiner plan`.
pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let settings = Settings::read(&args.settings, &args.input)?;
    let input = Input::read(&args.input, &settings)?;
    if let Some(folder) = &args.dump {
        dump::write(folder, &input)?;
    }
    let snapshot = input.snapshot(&args.input, &settings)?;
    let Checked { planned, mut summary, mut findings } = plan_and_check(&snapshot, &settings.plan);
    tell_unusable_pools(&planned.report);
    if settings.index.static_capacity {
        tell_static_pools(&input.objects, &snapshot);
    }
    let disruptions = args.disrupt.then(|| {
        let fleet = input.fleet(&snapshot, &settings);
        let mut disruptions = disrupt(&snapshot, &fleet, &settings.plan, &settings.disruption);
        findings.extend(check_disruptions(&snapshot, &fleet, &settings.plan, &disruptions));
        tell_places(&snapshot, &fleet, &settings.plan, &mut disruptions.commands);
        (fleet, disruptions)
    });
    summary.checked = findings.is_empty();
    let view = View { wide: args.output == Format::Wide, live: args.input.is_live() };
    print(args.output, view, &snapshot, &planned.plan, &summary, disruptions.as_ref())?;
    if !findings.is_empty() {
        refuse(&findings);
        return Ok(Exit::Refused);
    }
    let homeless = planned.plan.unschedulable.len();
    if args.fail_on == Some(FailOn::Unschedulable) && homeless > 0 {
        output::talk(&format!(
            "joiner: {} cannot be placed (--fail-on unschedulable)",
            text::count(homeless, "pod")
        ));
        return Ok(Exit::Unschedulable);
    }
    let would_go = disruptions.is_some_and(|(_, disruptions)| !disruptions.commands.is_empty());
    let changes = args.detailed_exit_code && (summary.claims > 0 || would_go);
    Ok(if changes { Exit::WouldChange } else { Exit::Success })
}

fn print(
    format: Format,
    view: View,
    snapshot: &Snapshot,
    plan: &Plan,
    summary: &Summary,
    disruptions: Option<&(Fleet, Disruptions)>,
) -> Result<(), Failure> {
    if matches!(format, Format::Table | Format::Wide) {
        let mut sections = vec![table::render(snapshot, plan, summary, view)];
        sections.extend(disruptions.map(|(fleet, disruptions)| {
            table::disruptions::render(snapshot, fleet, disruptions, view)
        }));
        return output::text(&sections.join("\n"));
    }
    let Plan { claims, existing, unschedulable, deferred } = plan;
    let disruptions = disruptions.map(|(_, disruptions)| DisruptionsDocument {
        commands: &disruptions.commands,
        blocked: &disruptions.staying,
    });
    let document = Document { claims, existing, unschedulable, deferred, summary, disruptions };
    if format == Format::Json { output::json(&document) } else { output::yaml(&document) }
}

/// Says that a plan must not be acted on.
pub(crate) fn refuse(findings: &[Finding]) {
    output::talk(&format!(
        "joiner: the plan is wrong, do not act on it ({}). This is a bug in joiner: please report \
         it with the input.",
        text::count(findings.len(), "finding")
    ));
    for finding in findings {
        output::talk(&format!("  {finding}"));
    }
}

/// Says which pools of a fixed number want instances: those are made independently of pods, and are
/// in no plan.
fn tell_static_pools(objects: &Objects, snapshot: &Snapshot) {
    for pool in &objects.node_pools {
        let name = pool.metadata.name.as_deref().unwrap_or_default();
        let Some(wanted) = pool.spec.replicas else { continue };
        let is_its = |node: &&Node| node.pool.as_deref() == Some(name) && !node.leaving;
        let there = snapshot.nodes.iter().filter(is_its).count();
        let missing = usize::try_from(wanted).unwrap_or_default().saturating_sub(there);
        if missing > 0 {
            output::talk(&format!(
                "joiner: NodePool {name:?} keeps {wanted} instances and has {there}: {} would come \
                 besides this plan",
                text::count(missing, "more instance")
            ));
        }
    }
}

/// Says which pools cannot be used, and why.
pub(crate) fn tell_unusable_pools(report: &Report) {
    for reason in &report.pools {
        output::talk(&format!("joiner: {}", pool_note(reason)));
    }
}

/// A reason about a pool, with the pool named once.
fn pool_note(reason: &Reason) -> String {
    match &reason.node_pool {
        Some(pool) => format!("NodePool {pool:?}: {}", table::without_pool(&reason.message, pool)),
        None => reason.message.clone(),
    }
}
