//! One machine alone, whatever keeps it: what would happen if it went?

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
use crate::drain::Moves;

/// Where the pods of a machine, by its position in the snapshot, would be if it went after
/// `commands` have been carried out, and if nothing kept its pods. It is looked at as consolidation
/// does: machines that are on their way or have just changed take no pods.
pub fn consider(
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    commands: &[Command],
    machine: usize,
) -> Moves {
    let mut fleet = fleet.clone();
    for facts in &mut fleet.machines[machine].pods {
        facts.movable = facts.reschedulable;
    }
    let question = |respect_quiet| Question { respect_quiet, claims_max: None };
    let mut simulator = Simulator::new(snapshot, &fleet, planning);
    for command in commands {
        let goes = |node: &Node| {
            let mut candidates = command.candidates.iter();
            candidates.any(|candidate| node.claim.as_ref() == Some(&candidate.node_claim))
        };
        let nodes = snapshot.nodes.iter().enumerate();
        let going: Vec<usize> = nodes.filter(|(_, node)| goes(node)).map(|(at, _)| at).collect();
        let is_consolidation = matches!(command.method, Method::MultiNode | Method::SingleNode);
        simulator.commit(&going, question(is_consolidation));
    }
    let outcome = simulator.without(&[machine], question(true));
    let unplaced = if outcome.homeless.is_empty() {
        Vec::new()
    } else {
        simulator.explain_homeless(&[machine], question(true))
    };
    Moves { existing: outcome.existing, claims: outcome.claims, unplaced }
}

/// What a machine costs an hour; nothing where its type is not known.
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
    fn its_pods_go_where_there_is_room_and_else_to_a_new_machine() {
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
    fn machines_that_go_before_it_take_no_pods() {
        let roomy = cluster("4");
        let fleet = fleet(&roomy).build();
        let settings = (PlanSettings::default(), DisruptionSettings::default());
        let commands = disrupt(&roomy, &fleet, &settings.0, &settings.1).commands;
        assert_eq!(commands[0].candidates[0].node, "b");
        let moves = consider(&roomy, &fleet, &settings.0, &commands, 0);
        assert_eq!((moves.existing.len(), moves.claims.len()), (0, 1));
    }

    #[test]
    fn pods_without_a_place_are_told_with_their_reason() {
        let mut full = cluster("1");
        full.pools.clear();
        let fleet = fleet(&cluster("1")).build();
        assert_eq!(moves(&full, &fleet), (vec![], 0, vec!["default/web".to_owned()]));
    }

    #[test]
    fn a_machine_costs_what_its_offering_does() {
        let cluster = cluster("4");
        assert_eq!(price(&cluster, &cluster.nodes[0]), Some(0.1));
        assert_eq!(price(&cluster, &cluster.nodes[1]), None);
    }
}
