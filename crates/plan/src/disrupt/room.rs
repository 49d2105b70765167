//! Whether the pods of many instances could fit on the others at all.
//!
//! Sums prove nothing about places, but pods that do not fit as a sum fit nowhere. That rules out most sets before
//! single pods are simulated.

use joiner_core::{
    disruption::Fleet,
    resources::{CPU, MEMORY, Resources},
    snapshot::Snapshot,
};

use super::consolidation::COME_MAX;

/// Sums of the same floats in another order differ by less than this share. The value is far above the rounding
/// error of such a sum.
const TOLERANCE: f64 = 1e-9;

/// CPU in cores, and memory in bytes.
type Amounts = [f64; 2];

/// The free capacity, and what would need it.
#[derive(Debug)]
pub(super) struct Room {
    /// For each instance, the requests of its pods that move.
    moving: Vec<Amounts>,
    /// For each instance, an upper bound of its free capacity.
    free: Vec<Amounts>,
    /// The sum of `free`.
    total: Amounts,
    /// The largest capacity that the new instances of one command could have.
    new: Amounts,
}

impl Room {
    pub(super) fn new(snapshot: &Snapshot, fleet: &Fleet) -> Self {
        let nodes = || snapshot.nodes.iter().zip(&fleet.instances);
        let moving = nodes().map(|(node, instance)| {
            let pods = node.pods.iter().zip(&instance.pods).filter(|(_, facts)| facts.movable);
            pods.fold([0.0; 2], |sum, (pod, _)| plus(sum, amounts(&pod.spec.requests), 1.0))
        });
        let free: Vec<Amounts> = nodes()
            .map(|(node, _)| {
                if node.leaving || !node.initialized {
                    return [0.0; 2];
                }
                let used = |left, pod: &joiner_core::pod::Pod| {
                    plus(left, amounts(&pod.spec.requests), -1.0)
                };
                let left = node.pods.iter().fold(amounts(&node.allocatable), used);
                left.map(|amount| amount.max(0.0))
            })
            .collect();
        let types = snapshot.catalog.by_pool.values().flat_map(|types| types.iter());
        let sizes = types.flat_map(|each| {
            let offered = each.offerings.iter().map(|offering| each.offered_capacity(offering));
            offered.map(|capacity| amounts(&capacity))
        });
        let largest: Amounts =
            sizes.fold([0.0; 2], |most, size| [most[0].max(size[0]), most[1].max(size[1])]);
        Self {
            moving: moving.collect(),
            total: free.iter().fold([0.0; 2], |sum, free| plus(sum, *free, 1.0)),
            free,
            new: largest.map(|amount| amount * COME_MAX as f64),
        }
    }

    /// Whether the pods of these instances could fit on the others and on the new instances of one command.
    pub(super) fn may_hold(&self, instances: impl Iterator<Item = usize>) -> bool {
        let mut left = plus(self.total, self.new, 1.0);
        for instance in instances {
            left = plus(left, self.free[instance], -1.0);
            left = plus(left, self.moving[instance], -1.0);
        }
        let slack = plus(self.total, self.new, 1.0).map(|amount| amount.abs() * TOLERANCE);
        left[0] >= -slack[0] && left[1] >= -slack[1]
    }

    /// Removes instances. The places of their pods are not tracked, so there may be less capacity than `total`
    /// says.
    pub(super) fn remove(&mut self, instances: impl Iterator<Item = usize>) {
        for instance in instances {
            self.total = plus(self.total, self.free[instance], -1.0);
        }
    }
}

fn amounts(of: &Resources) -> Amounts {
    [of.get(CPU).as_f64(), of.get(MEMORY).as_f64()]
}

fn plus(left: Amounts, right: Amounts, times: f64) -> Amounts {
    [left[0] + right[0] * times, left[1] + right[1] * times]
}

#[cfg(test)]
mod tests {
    use joiner_core::testing::{fleet, instance_type, node, pod, pool, snapshot};

    use super::*;

    #[test]
    fn what_is_too_much_as_a_sum_is_ruled_out() {
        let cluster = snapshot()
            .pool(pool("p"), [instance_type("one").cpu("1").mem("1Gi")])
            .node(node("a").pool("p").cpu("4").pod(pod("p1").cpu("3")))
            .node(node("b").pool("p").cpu("4").pod(pod("p2").cpu("2")))
            .node(node("c").pool("p").cpu("4").pod(pod("p3").cpu("2")))
            .build();
        let mut room = Room::new(&cluster, &fleet(&cluster).build());
        // 3 CPUs are needed; 2 are free on each of the others, and 1 on each of two new instances.
        assert!(room.may_hold([0].into_iter()));
        // 5 are needed; 2 and 2 are free.
        assert!(!room.may_hold([0, 1].into_iter()));
        // 4 are needed; 1 and 2 are free.
        assert!(!room.may_hold([1, 2].into_iter()));
        room.remove([2].into_iter());
        assert!(room.may_hold([0].into_iter()));
        room.remove([1].into_iter());
        assert!(!room.may_hold([0].into_iter()));
    }
}
