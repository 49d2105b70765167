//! Questions for explanations alone: what would happen if one instance were removed, and where pods of static pools
//! go. Decisions do not use these answers.

use std::collections::BTreeSet;

use joiner_core::{
    disruption::{Command, Fleet, Method},
    label,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
};

use super::{
    candidate,
    simulate::{Question, Simulator},
};
use crate::drain::{Moves, about};

/// Where the pods of an instance would be if it were removed after `commands`, and if nothing kept its pods. The
/// instance is given by its position in the snapshot. As in consolidation, instances that are not ready or were
/// busy recently take no pods.
pub fn consider(
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    commands: &[Command],
    instance: usize,
) -> Moves {
    let mut fleet = fleet.clone();
    for facts in &mut fleet.instances[instance].pods {
        facts.movable = facts.reschedulable;
    }
    let mut simulator = Simulator::new(snapshot, &fleet, planning);
    for command in commands {
        carry_out(&mut simulator, snapshot, command);
    }
    let question = Question { respect_quiet: true, claims_max: None };
    let outcome = simulator.without(&[instance], question);
    let unplaced = if outcome.homeless.is_empty() {
        Vec::new()
    } else {
        simulator.explain_homeless(&[instance], question)
    };
    Moves { existing: outcome.existing, claims: outcome.claims, unplaced }
}

/// Adds the places of pods to commands for static pools, which are decided without them. Pods that fit on no other
/// instance are expected on the instance that replaces theirs.
pub fn tell_places(
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    commands: &mut [Command],
) {
    let is_static = |command: &&Command| command.method == Method::StaticDrift;
    let fixed: Vec<usize> =
        commands.iter().filter(is_static).flat_map(|command| going(snapshot, command)).collect();
    if fixed.is_empty() {
        return;
    }
    let mut simulator = Simulator::new(snapshot, fleet, planning);
    for command in commands.iter().filter(|command| !is_static(command)) {
        carry_out(&mut simulator, snapshot, command);
    }
    // All of them at once, because none of them can take the pods of another.
    let outcome = simulator.without(&fixed, Question::default());
    for command in commands.iter_mut().filter(|command| is_static(&&**command)) {
        let mut pods: BTreeSet<String> = BTreeSet::new();
        for at in going(snapshot, command) {
            let facts = snapshot.nodes[at].pods.iter().zip(&fleet.instances[at].pods);
            pods.extend(facts.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod.key()));
        }
        command.destinations = about(outcome.existing.clone(), &pods);
        for pod in command.destinations.iter().flat_map(|to| &to.pods) {
            pods.remove(pod);
        }
        if let [replacement] = command.replacements.as_mut_slice() {
            replacement.pods = pods.into_iter().collect();
        }
    }
}

/// Simulates the command: its instances are removed, and their pods move.
fn carry_out(simulator: &mut Simulator<'_>, snapshot: &Snapshot, command: &Command) {
    let respect_quiet = matches!(command.method, Method::MultiNode | Method::SingleNode);
    let instances: Vec<usize> = going(snapshot, command).collect();
    simulator.commit(&instances, Question { respect_quiet, claims_max: None });
}

/// Positions of the instances that a command removes.
fn going<'input>(
    snapshot: &'input Snapshot,
    command: &'input Command,
) -> impl Iterator<Item = usize> + 'input {
    let goes = |node: &Node| {
        let mut candidates = command.candidates.iter();
        candidates.any(|candidate| node.claim.as_ref() == Some(&candidate.node_claim))
    };
    let nodes = snapshot.nodes.iter().enumerate();
    nodes.filter(move |(_, node)| goes(node)).map(|(at, _)| at)
}

/// The hourly price of an instance. `None` if its type is unknown.
pub fn price(snapshot: &Snapshot, node: &Node) -> Option<f64> {
    let types = snapshot.catalog.types(node.pool.as_deref()?);
    let named = node.labels.get(label::INSTANCE_TYPE)?;
    let instance_type = types.iter().find(|each| each.name == *named)?;
    Some(candidate::price(node, instance_type))
}

#[cfg(test)]
mod tests {
    use joiner_core::{
        disruption::{DisruptionSettings, KeptBy},
        testing::{fleet, instance_type, node, pod, pool, snapshot},
    };

    use super::*;
    use crate::disrupt::disrupt;

    fn cluster(room: &str) -> Snapshot {
        snapshot()
            .pool(pool("general"), [instance_type("small").cpu("4").mem("8Gi").price(0.1)])
            .node(
                node("a")
                    .pool("general")
                    .label(label::INSTANCE_TYPE, "small")
                    .label(label::CAPACITY_TYPE, "on-demand")
                    .pod(pod("web").cpu("2")),
            )
            .node(node("b").pool("general").cpu(room))
            .build()
    }

    fn moves(snapshot: &Snapshot, fleet: &Fleet) -> (Vec<String>, usize, Vec<String>) {
        let moves = consider(snapshot, fleet, &PlanSettings::default(), &[], 0);
        let existing = moves.existing.into_iter().map(|at| at.node).collect();
        let unplaced = moves.unplaced.into_iter().map(|each| each.pod).collect();
        (existing, moves.claims.len(), unplaced)
    }

    #[test]
    fn its_pods_go_where_there_is_room_and_else_to_a_new_instance() {
        let roomy = cluster("4");
        assert_eq!(moves(&roomy, &fleet(&roomy).build()), (vec!["b".to_owned()], 0, vec![]));
        let full = cluster("1");
        assert_eq!(moves(&full, &fleet(&full).build()), (vec![], 1, vec![]));
    }

    #[test]
    fn what_keeps_its_pods_is_looked_past() {
        let roomy = cluster("4");
        let kept = fleet(&roomy).kept("web", KeptBy::DoNotDisrupt(None)).build();
        assert_eq!(moves(&roomy, &kept), (vec!["b".to_owned()], 0, vec![]));
    }

    #[test]
    fn instances_that_go_before_it_take_no_pods() {
        let roomy = cluster("4");
        let fleet = fleet(&roomy).build();
        let settings = (PlanSettings::default(), DisruptionSettings::default());
        let commands = disrupt(&roomy, &fleet, &settings.0, &settings.1).commands;
        assert_eq!(commands[0].candidates[0].node, "b");
        let moves = consider(&roomy, &fleet, &settings.0, &commands, 0);
        assert_eq!((moves.existing.len(), moves.claims.len()), (0, 1));
    }

    /// Two drifted instances of a static pool with two replicas. An instance of another pool has room for one of
    /// their pods: the larger one, which is placed first.
    #[test]
    fn pods_of_a_static_pool_go_where_there_is_room_and_else_to_the_instance_that_comes() {
        let fixed = |name: &str, of: &str, cpu: &str| {
            let instance = node(name).pool("fixed").label(label::INSTANCE_TYPE, "small");
            instance.label(label::CAPACITY_TYPE, "on-demand").pod(pod(of).cpu(cpu))
        };
        let types = || [instance_type("small").cpu("4").mem("8Gi").price(0.1)];
        let snapshot = snapshot()
            .pool(pool("fixed").fixed(), types())
            .node(fixed("a", "web", "2500m"))
            .node(fixed("b", "shop", "2"))
            .node(node("other").cpu("3"))
            .build();
        let fleet = fleet(&snapshot).drifted("a", 2).drifted("b", 1).build();
        let planning = PlanSettings::default();
        let settings = DisruptionSettings::default();
        let mut commands = disrupt(&snapshot, &fleet, &planning, &settings).commands;
        tell_places(&snapshot, &fleet, &planning, &mut commands);
        let told = |command: &Command| {
            let existing = command.destinations.iter();
            let existing: Vec<_> = existing.map(|to| (to.node.clone(), to.pods.clone())).collect();
            let new: Vec<_> = command.replacements.iter().map(|new| new.pods.clone()).collect();
            (command.candidates[0].node.clone(), existing, new)
        };
        let told: Vec<_> = commands.iter().map(told).collect();
        let pods = |of: &str| vec![format!("default/{of}")];
        assert_eq!(
            told,
            [
                ("a".to_owned(), vec![("other".to_owned(), pods("web"))], vec![vec![]]),
                ("b".to_owned(), vec![], vec![pods("shop")]),
            ]
        );
    }

    #[test]
    fn pods_without_a_place_are_told_with_their_reason() {
        let mut full = cluster("1");
        full.pools.clear();
        let fleet = fleet(&cluster("1")).build();
        assert_eq!(moves(&full, &fleet), (vec![], 0, vec!["default/web".to_owned()]));
    }

    #[test]
    fn an_instance_costs_what_its_offering_does() {
        let cluster = cluster("4");
        assert_eq!(price(&cluster, &cluster.nodes[0]), Some(0.1));
        assert_eq!(price(&cluster, &cluster.nodes[1]), None);
    }
}
