//! Whether decisions about instances break a rule.
//!
//! Commands are checked in their order, each in the state that the previous ones leave: their instances are removed
//! and their pods have moved. The places of one command's pods are checked like any plan.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{
    disruption::{
        Command, DisruptionReason, Disruptions, Fleet, Instance, Method, NodeBudget, PoolRules,
    },
    label,
    plan::Plan,
    pod::{Pod, Role},
    requirement::Requirement,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
};

use crate::{
    check_with,
    finding::{Finding, Findings, Rule},
    topology::LowestHost,
};

/// The largest difference of prices that another order of addition can explain. It is far above the rounding error,
/// and far below any price.
const PRICE_TOLERANCE: f64 = 1e-6;

/// The most replacements of a consolidation, as `COME_MAX` of the planner.
const COME_MAX: usize = 2;

/// Rules about the places of other pods. Facts that are unknown, about planned instances and pending pods, may
/// satisfy them.
const ABOUT_OTHERS: [Rule; 7] = [
    Rule::AntiAffinity,
    Rule::Affinity,
    Rule::AffinityBootstrap,
    Rule::TopologyNowhere,
    Rule::Spread,
    Rule::SpreadUnpinned,
    Rule::SpreadMiscounted,
];

/// Finds every rule that `disruptions` break.
pub fn check_disruptions(
    snapshot: &Snapshot,
    fleet: &Fleet,
    settings: &PlanSettings,
    disruptions: &Disruptions,
) -> Vec<Finding> {
    let mut findings = Findings::default();
    let known: BTreeMap<&str, usize> = snapshot
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(at, node)| Some((node.claim.as_deref()?, at)))
        .collect();
    let mut sets = Vec::new();
    let mut gone = BTreeSet::new();
    for command in &disruptions.commands {
        let mut set = Vec::new();
        for candidate in &command.candidates {
            match known.get(candidate.node_claim.as_str()) {
                None => findings.add(
                    Rule::CommandUnknown,
                    &candidate.node_claim,
                    "the snapshot has no instance with such a claim",
                ),
                Some(at) if !gone.insert(*at) => {
                    let name = snapshot.nodes[*at].name();
                    findings.add(Rule::CommandRepeated, name, "it goes in more than one command");
                }
                Some(at) => set.push(*at),
            }
        }
        sets.push(set);
    }
    let mut world = World {
        snapshot,
        fleet,
        settings,
        gone: &gone,
        left: snapshot.clone(),
        vague: !snapshot.pods.is_empty(),
    };
    for (command, set) in disruptions.commands.iter().zip(&sets) {
        world.check(command, set, &mut findings);
    }
    check_budgets(snapshot, fleet, disruptions, &sets, &mut findings);
    for staying in disruptions.staying.iter().filter(|staying| staying.reasons.is_empty()) {
        findings.add(Rule::CommandKept, &staying.node, "it stays without a reason");
    }
    findings.into_vec()
}

struct World<'a> {
    snapshot: &'a Snapshot,
    fleet: &'a Fleet,
    settings: &'a PlanSettings,
    /// Every instance that any command removes.
    gone: &'a BTreeSet<usize>,
    /// The state after the earlier commands. Instances keep their positions; removed ones have lost their names.
    left: Snapshot,
    /// Whether the state contains facts that are not certain.
    vague: bool,
}

impl World<'_> {
    fn check(&mut self, command: &Command, set: &[usize], findings: &mut Findings) {
        for at in set {
            self.check_candidate(command, *at, findings);
        }
        self.check_price(command, set, findings);
        for to in &command.destinations {
            let goes = |at: &usize| is_named(&self.snapshot.nodes[*at], &to.node, &to.node_claim);
            if self.gone.iter().any(goes) {
                let message = "pods are sent to it, and it goes";
                findings.add(Rule::CommandDestination, &to.node, message);
            }
        }
        for at in set {
            self.left.nodes[*at] = Node { leaving: true, ..Node::default() };
        }
        // Instances of static pools are replaced without looking at pods.
        if command.method != Method::StaticDrift {
            self.check_places(command, set, findings);
        }
        self.send(command);
    }

    fn check_candidate(&self, command: &Command, at: usize, findings: &mut Findings) {
        let (node, instance) = (&self.snapshot.nodes[at], &self.fleet.instances[at]);
        let name = node.name();
        if let Some(why) = self.must_stay(command.method, node, instance) {
            findings.add(Rule::CommandKept, name, why);
        }
        let movable: BTreeSet<String> = movable(node, instance).map(Pod::key).collect();
        let named =
            command.candidates.iter().find(|each| Some(&each.node_claim) == node.claim.as_ref());
        let told: BTreeSet<String> = named.into_iter().flat_map(|each| each.pods.clone()).collect();
        if movable != told {
            let message = format!("it says that {told:?} move, and {movable:?} have to");
            findings.add(Rule::CommandPods, name, message);
        }
    }

    fn must_stay(&self, method: Method, node: &Node, instance: &Instance) -> Option<String> {
        let Some(claim) = &instance.claim else { return Some("it is not ours".to_owned()) };
        let rules = node.pool.as_ref().and_then(|pool| self.fleet.pools.get(pool));
        let Some(rules) = rules else { return Some("its pool is gone".to_owned()) };
        if self.fleet.paused.is_some() || rules.paused.is_some() {
            return Some("disruption is paused".to_owned());
        }
        for (kept, why) in [
            (node.node.is_none() || !node.initialized, "it is not up"),
            (node.leaving || claim.instance_terminating, "it is on its way out"),
            (instance.shared, "another Node says that it is the same instance"),
            (claim.expires.is_some_and(|at| at <= self.fleet.now), "it has expired"),
            (instance.queued, "it is part of another command"),
            (instance.nominated, "a pod was promised a place on it"),
            (instance.do_not_disrupt, "its Node asks to be left alone"),
        ] {
            if kept {
                return Some(why.to_owned());
            }
        }
        let drift = matches!(method, Method::Drift | Method::StaticDrift);
        if drift && claim.drifted.is_none() {
            return Some("it has not drifted".to_owned());
        }
        if !drift && !may_consolidate(rules, claim.consolidatable) {
            return Some("its pool does not consolidate it".to_owned());
        }
        let mut pods = node.pods.iter().zip(&instance.pods);
        let protected = pods.find(|(_, facts)| facts.kept_by.is_some());
        match protected {
            Some((pod, _)) if !(drift && claim.has_grace_period) => {
                Some(format!("pod {} is protected", pod.key()))
            }
            _ => None,
        }
    }

    /// A replacement of a consolidation must be cheaper.
    fn check_price(&self, command: &Command, set: &[usize], findings: &mut Findings) {
        if !matches!(command.method, Method::MultiNode | Method::SingleNode) {
            return;
        }
        let now = set.iter().fold(0.0, |sum, at| sum + self.price(&self.snapshot.nodes[*at]));
        let then = command.replacements.iter().fold(0.0, |sum, claim| sum + claim.price);
        let subject = set.first().map_or("", |at| self.snapshot.nodes[*at].name());
        if command.replacements.len() > COME_MAX {
            let message = format!("more than {COME_MAX} instances come in its place");
            findings.add(Rule::CommandPrice, subject, message);
        }
        if !command.replacements.is_empty() && then >= now {
            let message = format!("it costs {now}, and what comes in its place {then}");
            findings.add(Rule::CommandPrice, subject, message);
        }
        if (now - then - command.savings).abs() > PRICE_TOLERANCE {
            let message =
                format!("{} are said to be saved, and it is {}", command.savings, now - then);
            findings.add(Rule::CommandPrice, subject, message);
        }
    }

    fn price(&self, node: &Node) -> f64 {
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        let types = node.pool.as_ref().map_or(&[][..], |pool| self.snapshot.catalog.types(pool));
        let of_node =
            types.iter().find(|each| Some(each.name.as_str()) == label(label::INSTANCE_TYPE));
        let same = |requirements: &joiner_core::requirement::Requirements, key: &str| {
            requirements.get(key).and_then(Requirement::single) == label(key)
        };
        let mut offerings = of_node.into_iter().flat_map(|of_node| &of_node.offerings);
        let offering = offerings.find(|each| {
            same(&each.requirements, label::ZONE) && same(&each.requirements, label::CAPACITY_TYPE)
        });
        offering.map_or(0.0, |offering| offering.price)
    }

    /// Every pod that must move has exactly one place, and fits there.
    fn check_places(&self, command: &Command, set: &[usize], findings: &mut Findings) {
        let plan = Plan {
            claims: command.replacements.clone(),
            existing: command.destinations.clone(),
            ..Plan::default()
        };
        let mut after = self.left.clone();
        after.nodes.retain(|node| node.node.is_some() || node.claim.is_some());
        after.pods = Vec::new();
        for at in set {
            let pods = movable(&self.snapshot.nodes[*at], &self.fleet.instances[*at]);
            after.pods.extend(pods.map(|pod| Pod { role: Role::Moving, ..pod.clone() }));
        }
        // Pending pods with a place on a removed instance move as well.
        let named = plan.claims.iter().flat_map(|claim| &claim.pods);
        let named = named.chain(plan.existing.iter().flat_map(|to| &to.pods));
        let named: BTreeSet<&String> = named.collect();
        let waiting = self.snapshot.pods.iter().filter(|pod| named.contains(&pod.key()));
        after.pods.extend(waiting.cloned());
        let settings = PlanSettings { reserved_fallback: true, ..self.settings.clone() };
        // Replicas that are spread over hosts must not be moved together.
        for finding in check_with(&after, &settings, &plan, LowestHost::AlwaysEmpty) {
            if !(self.vague && ABOUT_OTHERS.contains(&finding.rule)) {
                findings.add(finding.rule, finding.subject, finding.message);
            }
        }
    }

    /// Moves the pods of a command to their destinations.
    fn send(&mut self, command: &Command) {
        self.vague |= !command.replacements.is_empty();
        let moved: BTreeMap<String, Pod> = self
            .snapshot
            .nodes
            .iter()
            .flat_map(|node| &node.pods)
            .chain(&self.snapshot.pods)
            .map(|pod| (pod.key(), pod.clone()))
            .collect();
        for to in &command.destinations {
            let node =
                self.left.nodes.iter_mut().find(|node| is_named(node, &to.node, &to.node_claim));
            let pods = to.pods.iter().filter_map(|key| moved.get(key));
            let bound = Role::Bound { daemon_set: None, terminating: false };
            let pods = pods.map(|pod| Pod { role: bound.clone(), ..pod.clone() });
            if let Some(node) = node {
                node.pods.extend(pods);
            }
        }
    }
}

fn is_named(node: &Node, name: &str, claim: &str) -> bool {
    let known = node.node.is_some() || node.claim.is_some();
    known
        && node.node.as_deref().unwrap_or_default() == name
        && node.claim.as_deref().unwrap_or_default() == claim
}

fn movable<'n>(node: &'n Node, instance: &'n Instance) -> impl Iterator<Item = &'n Pod> {
    let pods = node.pods.iter().zip(&instance.pods);
    pods.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod)
}

fn may_consolidate(rules: &PoolRules, consolidatable: bool) -> bool {
    consolidatable && rules.consolidate_after.is_some() && rules.replicas.is_none()
}

/// Checks budgets that are always in force. Those with a schedule are ignored.
fn check_budgets(
    snapshot: &Snapshot,
    fleet: &Fleet,
    disruptions: &Disruptions,
    sets: &[Vec<usize>],
    findings: &mut Findings,
) {
    let gone: BTreeSet<usize> = sets.iter().flatten().copied().collect();
    for (pool, rules) in &fleet.pools {
        let (mut all, mut away) = (0, 0);
        for (at, (node, instance)) in snapshot.nodes.iter().zip(&fleet.instances).enumerate() {
            let counts = instance.claim.as_ref().is_some_and(|claim| !claim.instance_terminating)
                && node.initialized
                && node.pool.as_ref() == Some(pool);
            all += u64::from(counts);
            let out = gone.contains(&at) || !instance.ready || instance.queued || node.leaving;
            away += u64::from(counts && out);
        }
        let used = disruptions.commands.iter().zip(sets).filter(|(_, set)| {
            set.iter().any(|at| snapshot.nodes[*at].pool.as_ref() == Some(pool))
        });
        let reasons: BTreeSet<DisruptionReason> =
            used.map(|(command, _)| command.method.budget()).collect();
        for budget in &rules.budgets {
            let mut about = reasons.iter().filter(|reason| {
                budget.reasons.is_empty()
                    || budget.reasons.iter().any(|word| word == reason.as_str())
            });
            // The last of the reasons has counted against what all others took. Only with a single reason the
            // result is certain.
            let Some(reason) = about.next().filter(|_| reasons.len() == 1) else { continue };
            let Some(allowed) = allowed(budget, all) else { continue };
            if away > allowed {
                let message = format!(
                    "{away} of its {all} instances are away for {reason}, and a budget allows {:?}",
                    budget.nodes
                );
                findings.add(Rule::CommandBudget, format!("pool {pool}"), message);
            }
        }
    }
}

/// How many instances a budget allows; `None` if it has a schedule or cannot be read.
fn allowed(budget: &NodeBudget, instances: u64) -> Option<u64> {
    if budget.schedule.is_some() || budget.duration.is_some() {
        return None;
    }
    let text = budget.nodes.as_str();
    Some(match text.strip_suffix('%') {
        Some(percent) => {
            percent.parse::<u64>().map_or(0, |percent| (instances * percent).div_ceil(100))
        }
        None => text.parse().unwrap_or(0),
    })
}
