//! Which machines are not needed, or wrong, and what happens to their pods?

pub mod simulate;

use joiner_core::{
    disruption::{Command, DisruptionSettings, Disruptions, Fleet, Rejected},
    settings::PlanSettings,
    snapshot::Snapshot,
};

/// Decides which machines go, and why the others stay.
///
/// Pure: equal inputs give equal outputs, including every order in them.
pub fn disrupt(
    _snapshot: &Snapshot,
    _fleet: &Fleet,
    _planning: &PlanSettings,
    _settings: &DisruptionSettings,
) -> Disruptions {
    Disruptions::default()
}

/// Looks at a command once more, some time after it was proposed.
///
/// Answers with what is left of it: empty machines that are none any more are left out, while any
/// other change rejects the command.
pub fn validate(
    command: &Command,
    _snapshot: &Snapshot,
    _fleet: &Fleet,
    _planning: &PlanSettings,
    _settings: &DisruptionSettings,
) -> Result<Command, Rejected> {
    Ok(command.clone())
}
