//! Our answers, from the planner in this process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result, anyhow};
use jiff::{SignedDuration, Timestamp};
use joiner_check::Finding;
use joiner_core::{
    disruption::{DisruptionSettings, Disruptions},
    plan::Plan,
    pod::Pod,
    settings::{MinValuesPolicy, PlanSettings, PreferencePolicy},
    snapshot::Snapshot,
};
use joiner_kwok::catalog_file::{self, CatalogFile};
use joiner_operator::{
    files,
    index::{self, IndexSettings, Live},
    objects::Objects,
};
use joiner_plan::{disrupt::disrupt, overlay};
use serde_json::json;

use crate::{compare::Checked, scenario::Scenario};

/// A scenario as the planner sees it.
#[derive(Debug)]
pub struct Question {
    objects: Objects,
    snapshot: Snapshot,
    settings: PlanSettings,
    spot_to_spot: bool,
}

/// Reads a scenario the way `joiner plan` reads its files.
pub fn prepare(scenario: &Scenario) -> Result<Question> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": scenario.objects}).to_string();
    let objects =
        files::read(&["-".into()], list.as_bytes()).context("our side refuses the cluster")?;
    let pools = objects.node_pools.iter().filter_map(|pool| pool.metadata.name.as_deref());
    let mut catalog = types(scenario)?.catalog(pools);
    if scenario.flag_is("feature-gates", "NodeOverlay=true") {
        let pools = index::pools::node_pools(&objects, &catalog.well_known);
        catalog =
            overlay::evaluate(&index::overlays(&objects.node_overlays), &pools, &catalog).catalog;
    }
    let settings = IndexSettings { ignore_dra: true, ..IndexSettings::default() };
    let indexed = index::snapshot(&objects, catalog, &settings, now()?);
    Ok(Question {
        objects,
        snapshot: indexed.snapshot,
        settings: plan_settings(scenario),
        spot_to_spot: scenario.flag_is("feature-gates", "SpotToSpotConsolidation=true"),
    })
}

/// The instances on offer.
pub fn types(scenario: &Scenario) -> Result<CatalogFile> {
    catalog_file::parse(&scenario.instance_types.to_string(), "instance-types.json")
        .context("our side refuses the instance types")
}

/// After everything that a scenario says has happened. For plans the oracle takes the time of day,
/// which is later still, and nothing in a scenario depends on how much later.
pub const NOW: &str = "2026-04-01T00:00:00Z";

fn now() -> Result<Timestamp> {
    NOW.parse().context("the time of a scenario is a time")
}

fn plan_settings(scenario: &Scenario) -> PlanSettings {
    let mut settings = PlanSettings::default();
    if scenario.flag_is("preference-policy", "Ignore") {
        settings.preferences = PreferencePolicy::Ignore;
    }
    if scenario.flag_is("min-values-policy", "BestEffort") {
        settings.min_values = MinValuesPolicy::BestEffort;
    }
    settings.reserved_fallback = scenario.flag_is("reserved-fallback", "true");
    settings
}

impl Question {
    /// Our plan, checked.
    pub fn plan(&self) -> Result<Checked> {
        let plan =
            guarded("the planner", || joiner_plan::provision(&self.snapshot, &self.settings).plan)?;
        self.check(plan)
    }

    /// What we would do about the instances, and what the checker says of it.
    pub fn disruptions(&self) -> Result<(Disruptions, Vec<Finding>)> {
        let Self { snapshot, settings, .. } = self;
        let now = now()?;
        // Time stands still here, so nothing settles: pools have been waited for.
        let pools = self.objects.node_pools.iter().filter_map(|pool| pool.metadata.name.clone());
        let long_ago = now - SignedDuration::from_hours(1);
        let restless_since = pools.map(|pool| (pool, long_ago)).collect();
        let live = Live { restless_since, ..Live::default() };
        let fleet = index::fleet(&self.objects, snapshot, &IndexSettings::default(), &live, now);
        // Upstream takes the plan's word for where pods will be, and here they are put there.
        let chosen = DisruptionSettings { spot_to_spot: self.spot_to_spot, as_scheduled: false };
        let found = guarded("the planner", || disrupt(snapshot, &fleet, settings, &chosen))?;
        let findings = guarded("the checker", || {
            joiner_check::check_disruptions(snapshot, &fleet, settings, &found)
        })?;
        Ok((found, findings))
    }

    /// The pods that are to be placed.
    pub fn waiting(&self) -> impl Iterator<Item = String> {
        self.snapshot.pods.iter().map(Pod::key)
    }

    /// A plan, whoever made it, and what the checker says of it.
    pub fn check(&self, plan: Plan) -> Result<Checked> {
        let findings =
            guarded("the checker", || joiner_check::check(&self.snapshot, &self.settings, &plan))?;
        Ok(Checked { plan, findings })
    }
}

/// A panic is a difference like any other: it is told with its seed, and the other scenarios go on.
fn guarded<T>(who: &str, work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        anyhow!("{who} panics: {text}")
    })
}
