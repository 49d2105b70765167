//! Whether the pods of many instances could fit on the others at all.
//!
//! A sum is no placement, but what does not fit as a sum fits in no way, and most sets of instances
//! that are tried together are ruled out like that before anybody looks at single pods.

use joiner_core::{
    disruption::Fleet,
    resources::{CPU, MEMORY, Resources},
    snapshot::Snapshot,
};

use super::consolidation::COME_MAX;

/// Sums of floats differ by so much at most, whatever their order.
const TOLERANCE: f64 = 1e-9;

/// CPUs and bytes.
type Amounts = [f64; 2];

/// What there is, and what would have to find a place.
#[derive(Debug)]
pub(super) struct Room {
    /// For each instance, what its pods need when it goes.
    moving: Vec<Amounts>,
    /// For each instance, what it could still take at most.
    free: Vec<Amounts>,
    /// What all instances together could still take at most.
    total: Amounts,
    /// The most that the new instances could have which may come.
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

    /// Whether the pods of these instances could fit on the others and as many new ones as may come.
    pub(super) fn may_hold(&self, instances: impl Iterator<Item = usize>) -> bool {
        let mut left = plus(self.total, self.new, 1.0);
        for instance in instances {
            left = plus(left, self.free[instance], -1.0);
            left = plus(left, self.moving[instance], -1.0);
        }
        let slack = plus(self.total, self.new, 1.0).map(|amount| amount.abs() * TOLERANCE);
        left[0] >= -slack[0] && left[1] >= -slack[1]
    }

    /// These instances are gone. Where their pods went is not kept track of, so that there may be less
    /// room than this knows of.
    pub(super) fn remove(&mut self, instances: impl Iterator<Item = usize>) {
        for instance in instances {
            self.total = plus(self.total, self.free[instance], -1.0);
        }
    }
}

fn amounts(of: &Resources) -> Amounts {
    [of.get(CPU).as_f64(), of.get(MEMORY).as_f64()]
}

fn plus(a: Amounts, b: Amounts, times: f64) -> Amounts {
    [a[0] + b[0] * times, a[1] + b[1] * times]
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
        // 3 are needed; 2 on each of the others, and 1 on each of two new instances.
        assert!(room.may_hold([0].into_iter()));
        // 5 are needed; 2 and 2.
        assert!(!room.may_hold([0, 1].into_iter()));
        // 4 are needed; 1 and 2.
        assert!(!room.may_hold([1, 2].into_iter()));
        room.remove([2].into_iter());
        assert!(room.may_hold([0].into_iter()));
        room.remove([1].into_iter());
        assert!(!room.may_hold([0].into_iter()));
    }
}
