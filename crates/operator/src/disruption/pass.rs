//! One disruption pass: which proposals are still valid, and what else to propose. A pure function
//! of its input.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{
    disruption::{Command, DisruptionSettings, Disruptions, Fleet, KeptBy, Rejected},
    snapshot::Snapshot,
};
use joiner_plan::disrupt::{disrupt, validate_all};

use crate::{
    index::{self, Live},
    provisioning::pass::Input,
    settings::PlannerSettings,
};

/// The input of a pass.
#[derive(Debug)]
pub struct Look {
    /// The cluster.
    pub input: Input,
    /// State that objects do not show. Instances of begun commands are queued.
    pub live: Live,
    /// The end of each instance's nomination.
    pub nominated: BTreeMap<String, Timestamp>,
    /// Proposals that are not due yet.
    pub waiting: Vec<Command>,
    /// Proposals that are due for validation.
    pub due: Vec<Command>,
    /// The time.
    pub now: Timestamp,
}

/// A proposal that was due, and the part of it that is still valid.
pub type Validated = (Command, Result<Command, Rejected>);

/// The result of a pass.
#[derive(Debug)]
pub struct Found {
    /// The commands to propose, and why other instances stay.
    pub disruptions: Disruptions,
    /// The pools and what their budgets allow.
    pub fleet: Fleet,
    /// When time alone may change the result.
    pub look_again: Option<Timestamp>,
}

/// The cluster as the planner sees it.
struct Picture {
    snapshot: Snapshot,
    fleet: Fleet,
}

impl Look {
    /// Whether proposals are due for validation.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Validates the proposals that are due. Valid ones will begin, so they count in every later
    /// decision.
    ///
    /// Proposals that are not due never block due ones: they were made later, on the assumption
    /// that the due ones are carried out.
    pub fn validate(&mut self, settings: &PlannerSettings) -> Vec<Validated> {
        let due = std::mem::take(&mut self.due);
        let Picture { snapshot, fleet } = self.picture(settings);
        let verdicts =
            validate_all(&due, &snapshot, &fleet, &settings.plan, &disruption_settings(settings));
        verdicts.iter().flatten().for_each(|held| self.take(held));
        due.into_iter().zip(verdicts).collect()
    }

    /// Searches for more commands. A command that will be executed counts as done: its instances
    /// leave, and the instances that receive its pods stay.
    pub fn search(mut self, settings: &PlannerSettings) -> Found {
        for command in std::mem::take(&mut self.waiting) {
            self.take(&command);
        }
        let Picture { snapshot, fleet } = self.picture(settings);
        let disruptions =
            disrupt(&snapshot, &fleet, &settings.plan, &disruption_settings(settings));
        let look_again = self.look_again(&disruptions, &fleet);
        Found { disruptions, fleet, look_again }
    }

    /// Counts a command as carried out.
    fn take(&mut self, command: &Command) {
        let going = command.candidates.iter().map(|candidate| candidate.node_claim.clone());
        self.live.queued.extend(going);
        self.live.nominated.extend(command.destinations.iter().map(|to| to.name().to_owned()));
    }

    fn picture(&mut self, settings: &PlannerSettings) -> Picture {
        self.input.set_leaving(self.live.queued.clone());
        self.live.nominated.extend(self.nominated.keys().cloned());
        let snapshot = self.input.index(settings, self.now).snapshot;
        let objects = self.input.objects();
        let fleet = index::fleet(objects, &snapshot, &settings.index, &self.live, self.now);
        Picture { snapshot, fleet }
    }

    /// The next moment at which a budget opens, a hold or a pod's protection ends, or a pool's
    /// waiting time is over.
    fn look_again(&self, disruptions: &Disruptions, fleet: &Fleet) -> Option<Timestamp> {
        let opens = disruptions.allowances.iter().filter_map(|allowance| allowance.opens);
        let held = fleet.held_back.iter().map(|held| held.until);
        let resumes = fleet.pools.values().filter_map(|pool| pool.drift_resumes);
        let pods = fleet.instances.iter().flat_map(|instance| &instance.pods);
        let protected = pods.filter_map(|pod| match pod.kept_by {
            Some(KeptBy::DoNotDisrupt(until)) => until,
            _ => None,
        });
        let expected = self.nominated.values().copied();
        let waits = disruptions.restless.iter().filter_map(|pool| pool.until);
        let moments =
            opens.chain(held).chain(resumes).chain(protected).chain(expected).chain(waits);
        moments.filter(|moment| *moment > self.now).min()
    }
}

fn disruption_settings(settings: &PlannerSettings) -> DisruptionSettings {
    DisruptionSettings {
        spot_to_spot: settings.gates.spot_to_spot_consolidation,
        as_scheduled: true,
    }
}
