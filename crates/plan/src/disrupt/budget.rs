//! How many instances of a pool may be removed at once.
//!
//! A budget that cannot be read closes the pool for every reason, because a limit was clearly intended. An instance
//! that is removed for one reason counts against all budgets.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use joiner_core::{
    disruption::{Allowance, DisruptionReason, Fleet, Instance, NodeBudget, NodeCount, PoolRules},
    reason::{Reason, ReasonId},
    snapshot::{Node, Snapshot},
};

use super::cron::Schedule;

/// What is allowed if no budget is in force.
pub(super) const UNLIMITED: u32 = i32::MAX as u32;

/// How many ends of budget windows are examined to find the time when more is allowed. The value was chosen and
/// bounds the work for budgets with frequent schedules.
const WINDOWS_AHEAD_MAX: usize = 64;
/// After this many schedule times without a gap, a window counts as endless. The value was chosen and bounds the
/// work for budgets whose windows overlap.
const OVERLAPS_MAX: usize = 10_000;

/// The allowances of all pools, by name and reason.
pub fn allowances(snapshot: &Snapshot, fleet: &Fleet) -> Vec<Allowance> {
    let mut all = Vec::new();
    for (pool, rules) in &fleet.pools {
        let (instances, consuming) = count(pool, snapshot, fleet);
        let read = read_all(rules, fleet.now);
        for reason in DisruptionReason::OF_METHODS {
            let mut allowance = Allowance {
                pool: pool.clone(),
                reason: *reason,
                allowed: 0,
                consuming,
                instances,
                opens: None,
                error: None,
            };
            match &read {
                Ok(budgets) => {
                    allowance.allowed = allowed(budgets, *reason, instances, fleet.now);
                    allowance.opens = opens(budgets, *reason, instances, fleet.now);
                }
                Err(error) => allowance.error = Some(format!("NodePool {pool:?}: {error}")),
            }
            all.push(allowance);
        }
    }
    all
}

/// The field and the error of the first budget that cannot be read.
pub fn unreadable(rules: &PoolRules, now: Timestamp) -> Option<String> {
    read_all(rules, now).err()
}

/// How many instances of a pool count, and how many of them are unavailable.
fn count(pool: &str, snapshot: &Snapshot, fleet: &Fleet) -> (u32, u32) {
    let (mut instances, mut consuming) = (0, 0);
    for (node, instance) in snapshot.nodes.iter().zip(&fleet.instances) {
        if counts(node, instance, pool) {
            instances += 1;
            let is_away = !instance.ready || node.leaving || instance.queued;
            consuming += u32::from(is_away || is_rebooting(instance));
        }
    }
    (instances, consuming)
}

fn counts(node: &Node, instance: &Instance, pool: &str) -> bool {
    let ours = instance.claim.as_ref().is_some_and(|claim| !claim.instance_terminating);
    // A rebooting instance is not initialized for a while, but it still belongs to the pool.
    let has_joined = node.node.is_some() && (node.initialized || is_rebooting(instance));
    ours && has_joined && node.pool.as_deref() == Some(pool)
}

fn is_rebooting(instance: &Instance) -> bool {
    instance.claim.as_ref().is_some_and(|claim| claim.rebooting)
}

/// A budget that was parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Budget {
    nodes: NodeCount,
    /// If empty, the budget is for all reasons.
    reasons: Vec<DisruptionReason>,
    window: Option<Window>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    schedule: Schedule,
    duration: SignedDuration,
}

fn read_all(rules: &PoolRules, now: Timestamp) -> Result<Vec<Budget>, String> {
    let budgets = rules.budgets.iter().enumerate();
    budgets
        .map(|(index, budget)| {
            read(budget, now).map_err(|error| format!("spec.disruption.budgets[{index}].{error}"))
        })
        .collect()
}

/// Parses a budget. The error names its field.
fn read(budget: &NodeBudget, now: Timestamp) -> Result<Budget, String> {
    let nodes = budget.nodes.parse().map_err(|_| {
        format!(
            "nodes {:?}: expected a number such as 3, or a percentage from 0% to 100%",
            budget.nodes
        )
    })?;
    // COMPAT: upstream applies an empty list to no reason (defect 10).
    let reasons = budget.reasons.iter().map(|word| {
        let known = DisruptionReason::ALL.iter().find(|reason| reason.as_str() == word);
        known.copied().ok_or_else(|| {
            format!("reasons {word:?}: expected Underutilized, Empty, Drifted or Unhealthy")
        })
    });
    let reasons = reasons.collect::<Result<_, _>>()?;
    let window = match (&budget.schedule, budget.duration) {
        (None, None) => None,
        (Some(text), Some(duration)) => Some(window(text, duration, now)?),
        (Some(_), None) => {
            return Err("duration is missing: a schedule needs one, such as 8h".to_owned());
        }
        (None, Some(_)) => {
            return Err("schedule is missing: a duration needs one, such as 0 9 * * *".to_owned());
        }
    };
    Ok(Budget { nodes, reasons, window })
}

fn window(text: &str, duration: SignedDuration, now: Timestamp) -> Result<Window, String> {
    let schedule = Schedule::parse(text).map_err(|error| format!("schedule {text:?}: {error}"))?;
    if duration <= SignedDuration::ZERO {
        return Err(
            "duration: expected more than 0, in hours and minutes such as 8h or 1h30m".to_owned()
        );
    }
    // COMPAT: upstream treats a schedule without any time as always in force.
    if schedule.next(now).is_none() {
        return Err(format!("schedule {text:?}: no such day ever comes"));
    }
    Ok(Window { schedule, duration })
}

impl Window {
    /// The schedule time since which the window is open at `now`.
    fn open_since(&self, now: Timestamp) -> Option<Timestamp> {
        let earliest = now.checked_sub(self.duration).ok()?;
        self.schedule.next(earliest).filter(|begins| *begins <= now)
    }

    /// When the window that is open at `now` closes. `None` if it is closed or never closes.
    fn closes(&self, now: Timestamp) -> Option<Timestamp> {
        let mut begins = self.open_since(now)?;
        for _ in 0..OVERLAPS_MAX {
            let ends = begins.checked_add(self.duration).ok()?;
            match self.schedule.next(begins) {
                Some(next) if next <= ends => begins = next,
                _ => return Some(ends),
            }
        }
        None
    }
}

impl Budget {
    fn is_about(&self, reason: DisruptionReason) -> bool {
        self.reasons.is_empty() || self.reasons.contains(&reason)
    }

    fn in_force(&self, at: Timestamp) -> bool {
        self.window.is_none_or(|window| window.open_since(at).is_some())
    }
}

/// The lowest allowance of the budgets in force.
fn allowed(budgets: &[Budget], reason: DisruptionReason, instances: u32, at: Timestamp) -> u32 {
    let in_force = budgets.iter().filter(|budget| budget.is_about(reason) && budget.in_force(at));
    let count = |budget: &Budget| budget.nodes.of(instances as usize) as u32;
    in_force.map(count).min().unwrap_or(UNLIMITED).min(UNLIMITED)
}

/// When more is allowed than at `now`. Budgets only limit, so more is allowed when a window closes.
fn opens(
    budgets: &[Budget],
    reason: DisruptionReason,
    instances: u32,
    now: Timestamp,
) -> Option<Timestamp> {
    let before = allowed(budgets, reason, instances, now);
    let about = budgets.iter().filter(|budget| budget.is_about(reason));
    let mut windows: Vec<Window> = about.filter_map(|budget| budget.window).collect();
    let mut at = now;
    for _ in 0..WINDOWS_AHEAD_MAX {
        let mut ends = Vec::new();
        windows.retain(|window| {
            let end = window.closes(at);
            ends.extend(end);
            // It is expensive to find that an open window never closes, so it is done once.
            end.is_some() || window.open_since(at).is_none()
        });
        at = ends.into_iter().min()?;
        if allowed(budgets, reason, instances, at) > before {
            return Some(at);
        }
    }
    None
}

/// The allowances that are left while commands are decided.
#[derive(Debug)]
pub(super) struct Ledger {
    allowances: Vec<Allowance>,
    /// Instances of each pool that this pass removes.
    taken: BTreeMap<String, u32>,
}

impl Ledger {
    pub(super) fn new(snapshot: &Snapshot, fleet: &Fleet) -> Self {
        Self { allowances: allowances(snapshot, fleet), taken: BTreeMap::new() }
    }

    /// How many more instances of a pool may be removed.
    pub(super) fn left(&self, pool: &str, reason: DisruptionReason) -> u32 {
        let Some(allowance) = self.allowance(pool, reason) else { return 0 };
        allowance.allowed.saturating_sub(allowance.consuming).saturating_sub(self.taken(pool))
    }

    /// Counts one more removed instance of a pool.
    pub(super) fn take(&mut self, pool: &str) {
        *self.taken.entry(pool.to_owned()).or_default() += 1;
    }

    /// How many instances of a pool this pass removes.
    pub(super) fn taken(&self, pool: &str) -> u32 {
        self.taken.get(pool).copied().unwrap_or_default()
    }

    /// How many of a static pool's replicas have not joined or are gone.
    pub(super) fn missing(&self, pool: &str, replicas: u32) -> u32 {
        let joined = self.allowances.iter().find(|each| each.pool == pool);
        replicas.saturating_sub(joined.map_or(0, |each| each.instances))
    }

    /// The first of `instances` that budgets allow together. Each is given with its pool.
    pub(super) fn within<'p, M>(
        &self,
        instances: impl IntoIterator<Item = (M, &'p str)>,
        reason: DisruptionReason,
    ) -> Vec<M> {
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        let affordable = instances.into_iter().filter(|(_, pool)| {
            let used = used.entry(pool).or_default();
            let fits = *used < self.left(pool, reason);
            *used += u32::from(fits);
            fits
        });
        affordable.map(|(instance, _)| instance).collect()
    }

    /// The reason why no more instances of a pool may be removed.
    pub(super) fn refusal(&self, pool: &str, reason: DisruptionReason) -> Reason {
        let Some(allowance) = self.allowance(pool, reason) else {
            return Reason::new(ReasonId::PoolNotFound, format!("there is no NodePool {pool:?}"))
                .in_pool(pool)
                .with("nodePool", pool);
        };
        if let Some(error) = &allowance.error {
            let message = format!("nothing is allowed, because a budget cannot be read: {error}");
            return Reason::new(ReasonId::BudgetInvalid, message)
                .in_pool(pool)
                .with("error", error);
        }
        let consuming = allowance.consuming + self.taken(pool);
        let opens = allowance.opens.map(|at| format!("; more is allowed from {at}"));
        let opens = opens.unwrap_or_default();
        let (id, message) = if allowance.allowed == 0 {
            let message = format!(
                "the budgets of NodePool {pool:?} allow no disruption for reason {reason} now{opens}"
            );
            (ReasonId::BudgetClosed, message)
        } else {
            let message = format!(
                "the budgets of NodePool {pool:?} allow {} of its {} instances to be away for reason \
                 {reason}, and {consuming} are not ready or on their way out{opens}",
                allowance.allowed, allowance.instances
            );
            (ReasonId::BudgetUsed, message)
        };
        let told = Reason::new(id, message)
            .in_pool(pool)
            .with("reason", reason)
            .with("allowed", allowance.allowed)
            .with("consuming", consuming)
            .with("instances", allowance.instances);
        match allowance.opens {
            Some(at) => told.with("opens", at),
            None => told,
        }
    }

    /// The allowances before any instance was taken.
    pub(super) fn into_allowances(self) -> Vec<Allowance> {
        self.allowances
    }

    fn allowance(&self, pool: &str, reason: DisruptionReason) -> Option<&Allowance> {
        self.allowances.iter().find(|each| each.pool == pool && each.reason == reason)
    }
}

#[cfg(test)]
mod tests;
