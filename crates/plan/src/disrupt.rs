//! Which instances are not needed, or wrong, and what happens to their pods?
//!
//! All methods look at one snapshot, in Karpenter's order: instances that hold nothing (`emptiness`),
//! instances that are not what their pool wants (`drift`), instances whose pods fit elsewhere or on
//! something cheaper (`consolidation`). What one has decided is settled for the next: the instances
//! are gone, their pods have moved, and budgets are that much smaller. No instance has a part in two
//! commands, so all of them can be begun at once.
//!
//! COMPAT: upstream begins one method's commands, waits, and looks at the cluster anew.

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

/// Looks at a command once more, some time after it was proposed.
///
/// Answers with what is left of it: empty instances that are none any more are left out, while any
/// other change rejects the command.
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

/// As [`validate`], for commands that may all be begun at once: each is looked at as if those before
/// it that are still good had been carried out.
///
/// Whether a candidate is marked as part of a command does not matter: these are the commands.
pub fn validate_all(
    commands: &[Command],
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    settings: &DisruptionSettings,
) -> Vec<Result<Command, Rejected>> {
    validation::all(commands, snapshot, fleet, planning, *settings)
}
