//! Instances: claims and nodes put together.

use std::collections::BTreeSet;

use super::{View, claims::Claim, nodes::Seat};
use crate::{
    scene::{Amount, Node, Phase, Pod, PodState, Totals},
    types,
};

impl View {
    /// All instances, by pool and then by age.
    pub(super) fn instances(&self) -> Vec<Node> {
        let mut pods = self.pods_by_node();
        let mut pods_on = |node: &str| pods.remove(node).unwrap_or_default();
        let mut instances: Vec<(f64, Node)> = Vec::new();
        let mut of_claims = BTreeSet::new();
        for (name, claim) in &self.claims {
            let seat = self.seat_of(claim);
            of_claims.extend(seat.map(|(node, _)| node));
            let pods = seat.map(|(node, _)| pods_on(node)).unwrap_or_default();
            instances.push((claim.since, self.claimed(name, claim, seat, pods)));
        }
        for (name, seat) in &self.seats {
            if !of_claims.contains(name) {
                instances.push((seat.since, self.unclaimed(name, seat, pods_on(name))));
            }
        }
        instances.sort_by(|(since, one), (other_since, other)| {
            let age = since.total_cmp(other_since);
            one.pool.cmp(&other.pool).then(age).then(one.name.cmp(&other.name))
        });
        instances.into_iter().map(|(_, instance)| instance).collect()
    }

    /// The node of a claim.
    pub(super) fn seat_of(&self, claim: &Claim) -> Option<(&String, &Seat)> {
        if claim.node.is_empty() {
            self.seats.iter().find(|(node, seat)| claim.is_of(node, seat))
        } else {
            self.seats.get_key_value(&claim.node)
        }
    }

    fn claimed(
        &self,
        name: &str,
        claim: &Claim,
        seat: Option<(&String, &Seat)>,
        pods: Vec<Pod>,
    ) -> Node {
        let (phase, since) = phase_of(claim, seat.map(|(_, seat)| seat), &pods);
        let offers = match seat {
            Some((_, seat)) if seat.cpu > 0.0 => (seat.cpu, seat.memory),
            _ => (claim.cpu, claim.memory),
        };
        let asks = if phase.is_coming() {
            (claim.asked.cpu, claim.asked.memory)
        } else {
            requested(&pods)
        };
        let trouble = seat.filter(|_| phase == Phase::Lost).map(|(_, seat)| &seat.trouble);
        Node {
            name: name.to_owned(),
            node: seat.map(|(node, _)| node.clone()),
            pool: claim.shape.pool.clone(),
            instance_type: types::in_words(&claim.shape.instance_type),
            zone: claim.shape.zone.clone(),
            capacity_type: claim.shape.capacity_type.clone(),
            price: self.known_price(&claim.shape),
            phase,
            since,
            why: match trouble {
                Some(trouble) => trouble.clone(),
                None => claim.why_shown(),
            },
            cpu: Amount { requested: asks.0, total: offers.0 },
            memory: Amount { requested: asks.1, total: offers.1 },
            planned_pods: if phase.is_coming() { claim.asked.pods } else { 0 },
            pods,
        }
    }

    fn unclaimed(&self, name: &str, seat: &Seat, pods: Vec<Pod>) -> Node {
        let (phase, since) = match (seat.deleting, seat.lost, seat.ready) {
            (Some(since), ..) => (Phase::Draining, since),
            (None, Some(since), _) => (Phase::Lost, since),
            (None, None, Some(since)) => (Phase::Ready, since),
            (None, None, None) => (Phase::Joining, seat.since),
        };
        let (cpu, memory) = requested(&pods);
        Node {
            name: name.to_owned(),
            node: Some(name.to_owned()),
            pool: seat.shape.pool.clone(),
            instance_type: types::in_words(&seat.shape.instance_type),
            zone: seat.shape.zone.clone(),
            capacity_type: seat.shape.capacity_type.clone(),
            price: self.known_price(&seat.shape),
            phase,
            since,
            why: if phase == Phase::Lost { seat.trouble.clone() } else { String::new() },
            cpu: Amount { requested: cpu, total: seat.cpu },
            memory: Amount { requested: memory, total: seat.memory },
            planned_pods: 0,
            pods,
        }
    }

    /// The cluster in figures.
    pub(super) fn totals_of(&self, instances: &[Node]) -> Totals {
        let mut totals = Totals::default();
        for guest in self.guests.values().filter(|guest| !guest.daemon) {
            match guest.state {
                _ if guest.waits() => totals.waiting += 1,
                PodState::Running => totals.running += 1,
                PodState::Starting => totals.starting += 1,
                PodState::Unready => totals.unready += 1,
                PodState::Ending => {}
            }
        }
        for instance in instances {
            match instance.phase {
                phase if phase.is_coming() => totals.coming += 1,
                Phase::Lost => totals.lost += 1,
                Phase::Draining | Phase::Leaving => totals.leaving += 1,
                _ => {
                    totals.ready += 1;
                    totals.cpu = totals.cpu.plus(instance.cpu);
                    totals.memory = totals.memory.plus(instance.memory);
                }
            }
            totals.price += instance.price.unwrap_or_default();
        }
        totals
    }
}

/// How far a claimed instance has come, and since when.
fn phase_of(claim: &Claim, seat: Option<&Seat>, pods: &[Pod]) -> (Phase, f64) {
    if let Some(since) = claim.deleting {
        let empty = pods.iter().all(|pod| pod.daemon);
        return (if empty { Phase::Leaving } else { Phase::Draining }, since);
    }
    if let Some(since) = claim.initialized {
        return match seat.and_then(|seat| seat.lost) {
            Some(lost) => (Phase::Lost, lost),
            None => (Phase::Ready, since),
        };
    }
    // A Node that the cloud has made says nothing of the instance before there is a kubelet.
    let joined = claim.registered.and_then(|registered| match seat {
        Some(seat) => seat.heard.map(|heard| heard.max(registered)),
        None => Some(registered),
    });
    match (joined, claim.launched) {
        (Some(since), _) => (Phase::Joining, since),
        (None, Some(since)) => (Phase::Booting, since),
        (None, None) => (Phase::Asked, claim.since),
    }
}

/// CPU and memory that pods ask for.
fn requested(pods: &[Pod]) -> (f64, f64) {
    pods.iter().fold((0.0, 0.0), |(cpu, memory), pod| (cpu + pod.cpu, memory + pod.memory))
}
