//! One look at a cluster: which proposals still hold, and what else there is to propose. A pure
//! function of what was seen.

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

/// What a look needs to know.
#[derive(Debug)]
pub struct Look {
    /// The cluster.
    pub input: Input,
    /// What objects do not tell. Instances of commands that were begun are queued.
    pub live: Live,
    /// Until when pods are expected on instances.
    pub nominated: BTreeMap<String, Timestamp>,
    /// Proposals that are not due yet.
    pub waiting: Vec<Command>,
    /// Proposals that are looked at once more.
    pub due: Vec<Command>,
    /// The time.
    pub now: Timestamp,
}

/// A proposal that was due, and what is left of it.
pub type Validated = (Command, Result<Command, Rejected>);

/// What comes of a look.
#[derive(Debug)]
pub struct Found {
    /// What else there is to do, and why the rest stays.
    pub disruptions: Disruptions,
    /// What pools allow.
    pub fleet: Fleet,
    /// When time alone may change the answer.
    pub look_again: Option<Timestamp>,
}

/// The cluster as the planner sees it.
struct Picture {
    snapshot: Snapshot,
    fleet: Fleet,
}

impl Look {
    /// Whether there are proposals to look at once more.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Looks at the proposals that are due once more. Those that hold are to be begun: they are part of what everything
    /// else is judged by from here on.
    ///
    /// Proposals that still wait were made after those that are due, and as if those had been carried out. They are
    /// nothing against them: an instance that goes does not keep its place for pods of one that goes later.
    pub fn validate(&mut self, settings: &PlannerSettings) -> Vec<Validated> {
        let due = std::mem::take(&mut self.due);
        let Picture { snapshot, fleet } = self.picture(settings);
        let verdicts =
            validate_all(&due, &snapshot, &fleet, &settings.plan, &disruption_settings(settings));
        verdicts.iter().flatten().for_each(|held| self.take(held));
        due.into_iter().zip(verdicts).collect()
    }

    /// Looks for more. A command that will be carried out is part of what everything else is judged by: its instances leave,
    /// and where their pods go, others do not leave.
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

    /// A command is carried out, or will be.
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

    /// When a budget opens, what is held back is free again, what protects a pod ends, or a pool was waited for long enough.
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
