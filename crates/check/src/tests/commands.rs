//! For each rule about commands a decision that breaks it and no other.

use std::collections::BTreeSet;

use joiner_core::{
    disruption::{Candidate, Command, Decision, Disruptions, Fleet, KeptBy, Method, Staying},
    label,
    plan::ExistingPlacement,
    reason::{Reason, ReasonId},
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::*,
};

use crate::{Rule, check_disruptions};

#[derive(Clone)]
struct Decided {
    snapshot: Snapshot,
    fleet: Fleet,
    disruptions: Disruptions,
}

/// Three instances with a pod each. `n1` goes and sends its pod to `n2`.
fn decided() -> Decided {
    let instance = |name: &str| node(name).pool("p").of_type("four");
    let snapshot = snapshot()
        .pool(pool("p"), [instance_type("four").price(2.0)])
        .node(instance("n1").pod(pod("a").cpu("1")))
        .node(instance("n2").pod(pod("b").cpu("1")))
        .node(instance("n3").pod(pod("c").cpu("1")))
        .build();
    let fleet = fleet(&snapshot).build();
    let disruptions =
        Disruptions { commands: vec![delete("n1", "a", "n2")], ..Disruptions::default() };
    Decided { snapshot, fleet, disruptions }
}

fn delete(name: &str, pod: &str, to: &str) -> Command {
    let pods = vec![format!("default/{pod}")];
    Command {
        method: Method::SingleNode,
        decision: Decision::Delete,
        candidates: vec![Candidate {
            node_claim: name.to_owned(),
            node: name.to_owned(),
            node_pool: "p".to_owned(),
            pods: pods.clone(),
        }],
        replacements: Vec::new(),
        destinations: vec![ExistingPlacement {
            node: to.to_owned(),
            node_claim: to.to_owned(),
            pods,
        }],
        reason: Reason::new(ReasonId::NodeUnderutilized, "it can go"),
        savings: 2.0,
        score: 0.0,
        scores: Vec::new(),
    }
}

impl Decided {
    fn but(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn broken(&self) -> BTreeSet<Rule> {
        let settings = PlanSettings::default();
        let found = check_disruptions(&self.snapshot, &self.fleet, &settings, &self.disruptions);
        found.iter().map(|finding| finding.rule).collect()
    }
}

#[test]
fn a_decision_that_keeps_every_rule() {
    assert_eq!(decided().broken(), BTreeSet::new());
}

#[test]
fn every_rule_about_commands_can_be_broken_alone() {
    for rule in Rule::ALL.iter().copied().filter(|rule| rule.is_about_commands()) {
        let broken = decided().but(|decided| breaking(rule, decided));
        assert_eq!(broken.broken(), BTreeSet::from([rule]), "{rule}");
    }
}

fn breaking(rule: Rule, decided: &mut Decided) {
    let commands = &mut decided.disruptions.commands;
    match rule {
        Rule::CommandUnknown => {
            commands[0]
                .candidates
                .push(Candidate { node_claim: "nobody".to_owned(), ..Candidate::default() });
        }
        Rule::CommandRepeated => {
            let again = Command {
                method: Method::Emptiness,
                destinations: Vec::new(),
                ..commands[0].clone()
            };
            commands.push(again);
        }
        Rule::CommandKept => decided.fleet.instances[0].do_not_disrupt = true,
        Rule::CommandPods => {
            commands[0].candidates[0].pods.clear();
        }
        Rule::CommandDestination => commands.push(delete("n2", "b", "n3")),
        Rule::CommandPrice => commands[0].savings = 3.0,
        Rule::CommandBudget => {
            let rules = decided.fleet.pools.get_mut("p").expect("the pool");
            rules.budgets = vec![budget("0")];
        }
        _ => unreachable!("{rule} is about plans"),
    }
}

#[test]
fn a_protected_pod_is_moved_only_where_it_goes_by_force_in_the_end() {
    let protected = || {
        decided().but(|decided| {
            decided.fleet.instances[0].pods[0].kept_by = Some(KeptBy::DoNotDisrupt(None));
        })
    };
    assert_eq!(protected().broken(), BTreeSet::from([Rule::CommandKept]));
    let drifted = protected().but(|decided| {
        decided.disruptions.commands[0].method = Method::Drift;
        decided.fleet.instances[0].claim.as_mut().unwrap().drifted =
            Some(joiner_core::disruption::Drifted { reason: "Old".to_owned(), since: now() });
    });
    assert_eq!(drifted.broken(), BTreeSet::from([Rule::CommandKept]));
    let by_force = drifted
        .but(|decided| decided.fleet.instances[0].claim.as_mut().unwrap().has_grace_period = true);
    assert_eq!(by_force.broken(), BTreeSet::new());
}

#[test]
fn a_pod_that_does_not_fit_where_it_is_sent_is_found() {
    let full = decided().but(|decided| {
        decided.snapshot.nodes[1].pods[0] = pod("b").cpu("3500m").bound().build();
    });
    assert_eq!(full.broken(), BTreeSet::from([Rule::NodeOverfull]));
    let nowhere = decided().but(|decided| decided.disruptions.commands[0].destinations.clear());
    assert_eq!(nowhere.broken(), BTreeSet::from([Rule::PodMissing]));
}

#[test]
fn what_earlier_commands_send_somewhere_takes_room_there() {
    let both = decided().but(|decided| {
        decided.snapshot.nodes[1].pods[0] = pod("b").cpu("2500m").bound().build();
        decided.disruptions.commands.push(delete("n3", "c", "n2"));
    });
    assert_eq!(both.broken(), BTreeSet::from([Rule::NodeOverfull]));
}

#[test]
fn replacements_that_are_too_many_or_not_cheaper_are_found() {
    let replaced_by = |prices: &[f64]| {
        decided().but(|decided| {
            let command = &mut decided.disruptions.commands[0];
            let claim = |price| joiner_core::plan::PlannedClaim { price, ..Default::default() };
            command.method = Method::SingleNode;
            command.replacements = prices.iter().copied().map(claim).collect();
            command.savings = 2.0 - prices.iter().sum::<f64>();
        })
    };
    for (prices, is_found) in
        [(&[2.0][..], true), (&[1.0, 1.0], true), (&[1.0, 0.5], false), (&[0.5, 0.5, 0.5], true)]
    {
        let broken = replaced_by(prices).broken();
        assert_eq!(broken.contains(&Rule::CommandPrice), is_found, "{prices:?}");
    }
}

#[test]
fn an_instance_that_stays_has_a_reason() {
    let silent = decided().but(|decided| {
        let staying =
            Staying { node: "n2".to_owned(), claim: "n2".to_owned(), reasons: Vec::new() };
        decided.disruptions.staying.push(staying);
    });
    assert_eq!(silent.broken(), BTreeSet::from([Rule::CommandKept]));
}

#[test]
fn pods_that_are_spread_over_hosts_are_not_brought_together() {
    // The scheduler would allow a second one on each of the hosts that are left.
    let web = |name: &str| {
        let own = selector([("app", "web")]);
        pod(name).cpu("1").label("app", "web").spread(label::HOSTNAME, 1, own)
    };
    let spread = decided().but(|it| {
        for (node, name) in it.snapshot.nodes.iter_mut().zip(["a", "b", "c"]) {
            node.pods = vec![web(name).bound().build()];
        }
    });
    assert_eq!(spread.broken(), [Rule::Spread].into());
}
