//! Which instances are removed or replaced, and what happens to their pods.
//!
//! All methods use one snapshot, in Karpenter's order: empty instances (`emptiness`), drifted instances (`drift`),
//! then instances whose pods fit elsewhere or on something cheaper (`consolidation`). The next method sees the
//! effects of each decision: instances are gone, pods have moved, and budgets are smaller. No instance has a part
//! in two commands, so all commands can start at once.
//!
//! COMPAT: upstream starts the commands of one method, waits, and reads the cluster again.

mod ahead;
mod balanced;
mod budget;
mod candidate;
mod consider;
mod consolidation;
mod cron;
mod drift;
mod emptiness;
mod pass;
mod patience;
mod replacement;
mod room;
mod tell;
mod validation;

pub mod simulate;

use joiner_core::{
    disruption::{Command, DisruptionSettings, Disruptions, Fleet, Method, Rejected},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use self::ahead::Sight;
pub use self::{
    budget::{allowances, unreadable},
    consider::{consider, price, tell_places},
};

/// Decides which instances go, and why the others stay.
///
/// Pure: equal inputs give equal outputs, including every order in them.
pub fn disrupt(
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    settings: &DisruptionSettings,
) -> Disruptions {
    let pass = Sight { snapshot, fleet, planning, settings: *settings }.best_pass();
    let eligible = Method::ALL
        .iter()
        .map(|method| {
            let count = pass.eligible(|each| match method {
                Method::Emptiness => each.may_go_empty(fleet),
                Method::StaticDrift => each.may_drift(true),
                Method::Drift => each.may_drift(false),
                Method::MultiNode | Method::SingleNode => each.may_be_consolidated(fleet),
            });
            (*method, count)
        })
        .collect();
    pass.finish(eligible)
}

/// Validates a command some time after it was proposed.
///
/// The result is what is left of the command. Instances that are no longer empty are left out, and any other change
/// rejects the command.
pub fn validate(
    command: &Command,
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    settings: &DisruptionSettings,
) -> Result<Command, Rejected> {
    let mut answers =
        validate_all(std::slice::from_ref(command), snapshot, fleet, planning, settings);
    answers.remove(0)
}

/// As [`validate`], for commands that may all start at once. Each is validated as if the valid ones before it had been
/// carried out.
///
/// Candidates may be marked as part of a command, because these are the commands.
pub fn validate_all(
    commands: &[Command],
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    settings: &DisruptionSettings,
) -> Vec<Result<Command, Rejected>> {
    validation::all(commands, snapshot, fleet, planning, *settings)
}
