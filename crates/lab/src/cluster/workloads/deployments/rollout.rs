//! How large each ReplicaSet of a Deployment should be: arithmetic only.

use std::cmp::Reverse;

/// The sizes of one ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// How many pods it is asked for.
    pub(super) wanted: i64,
    /// How many it has that have been ready for long enough.
    pub(super) available: i64,
}

/// How many pods a Deployment wants, and how far it may stray while it rolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) replicas: i64,
    pub(super) max_surge: i64,
    pub(super) max_unavailable: i64,
}

impl Limits {
    /// How many pods there may be at once.
    pub(super) fn max_total(self) -> i64 {
        self.replicas + self.max_surge
    }
}

/// How large the new ReplicaSet may be now, given the sizes of the old ones.
pub(super) fn new_size(limits: Limits, new: i64, old: &[Size]) -> i64 {
    let total = new + old.iter().map(|size| size.wanted).sum::<i64>();
    if new > limits.replicas {
        return limits.replicas;
    }
    let room = limits.max_total() - total;
    if room <= 0 { new } else { new + room.min(limits.replicas - new) }
}

/// How large the old ReplicaSets (oldest first) should be now. Pods that do not work go first;
/// of the others only as many as leave enough that do.
pub(super) fn old_sizes(limits: Limits, new: Size, old: &[Size]) -> Vec<i64> {
    let mut sizes: Vec<i64> = old.iter().map(|size| size.wanted).collect();
    let min_available = limits.replicas - limits.max_unavailable;
    let total = new.wanted + sizes.iter().sum::<i64>();
    let new_unavailable = new.wanted - new.available;
    let max_removed = total - min_available - new_unavailable;
    if max_removed <= 0 {
        return sizes;
    }
    let mut removed = 0;
    for (size, set) in sizes.iter_mut().zip(old) {
        let broken = (*size - set.available).max(0);
        let cut = broken.min(max_removed - removed);
        *size -= cut;
        removed += cut;
    }
    let available = new.available + old.iter().map(|size| size.available).sum::<i64>();
    let mut spare = available - min_available;
    for size in &mut sizes {
        let cut = (*size).min(spare.max(0));
        *size -= cut;
        spare -= cut;
    }
    sizes
}

/// How large ReplicaSets of several versions should be after the Deployment was scaled while it
/// rolled: each gets its share of the difference. `max_total_before` is what the sets were sized
/// for; they are given newest first among equals.
pub(super) fn proportional(limits: Limits, sizes: &[i64], max_total_before: &[i64]) -> Vec<i64> {
    let mut result = sizes.to_vec();
    let total: i64 = sizes.iter().sum();
    let allowed = if limits.replicas > 0 { limits.max_total() } else { 0 };
    let to_add = allowed - total;
    if to_add == 0 {
        return result;
    }
    // The largest gets its share first; what rounding leaves over goes to it, too.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| (Reverse(sizes[*at]), *at));
    let mut added = 0;
    for at in &order {
        let before = max_total_before[*at].max(1);
        let exact = sizes[*at] as f64 * allowed as f64 / before as f64;
        let share = exact.round() as i64 - sizes[*at];
        let left = to_add - added;
        let share = if to_add > 0 { share.clamp(0, left) } else { share.clamp(left, 0) };
        result[*at] = (sizes[*at] + share).max(0);
        added += result[*at] - sizes[*at];
    }
    if let Some(first) = order.first() {
        result[*first] = (result[*first] + to_add - added).max(0);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(wanted: i64, available: i64) -> Size {
        Size { wanted, available }
    }

    const TEN: Limits = Limits { replicas: 10, max_surge: 3, max_unavailable: 2 };

    #[test]
    fn the_new_set_grows_into_the_room_there_is() {
        assert_eq!(new_size(TEN, 0, &[]), 10);
        assert_eq!(new_size(TEN, 0, &[size(10, 10)]), 3);
        assert_eq!(new_size(TEN, 3, &[size(8, 8)]), 5);
        assert_eq!(new_size(TEN, 3, &[size(10, 10)]), 3);
        assert_eq!(new_size(TEN, 12, &[]), 10);
    }

    #[test]
    fn old_sets_shrink_as_far_as_enough_pods_work() {
        assert_eq!(old_sizes(TEN, size(3, 0), &[size(10, 10)]), [8]);
        assert_eq!(old_sizes(TEN, size(5, 3), &[size(8, 8)]), [5]);
        assert_eq!(old_sizes(TEN, size(5, 0), &[size(8, 8)]), [8]);
        assert_eq!(old_sizes(TEN, size(10, 10), &[size(2, 2)]), [0]);
    }

    #[test]
    fn old_pods_that_do_not_work_go_first() {
        assert_eq!(old_sizes(TEN, size(3, 0), &[size(4, 4), size(6, 1)]), [4, 4]);
        assert_eq!(old_sizes(TEN, size(5, 5), &[size(3, 0), size(5, 5)]), [0, 3]);
    }

    #[test]
    fn a_rollout_reaches_its_end_without_breaking_its_limits() {
        for (max_surge, max_unavailable) in [(1, 0), (0, 1), (3, 2), (10, 0), (0, 10)] {
            let limits = Limits { replicas: 10, max_surge, max_unavailable };
            let (mut new, mut old) = (0, 10);
            for _ in 0..100 {
                new = new_size(limits, new, &[size(old, old)]);
                assert!(new + old <= limits.max_total());
                // Every new pod works before the next step.
                old = old_sizes(limits, size(new, new), &[size(old, old)])[0];
                assert!(new + old >= 10 - max_unavailable);
            }
            assert_eq!((new, old), (10, 0), "{limits:?}");
        }
    }

    #[test]
    fn sets_of_several_versions_share_a_change_of_scale() {
        let twenty = Limits { replicas: 20, max_surge: 5, max_unavailable: 5 };
        assert_eq!(proportional(twenty, &[5, 8], &[13, 13]), [10, 15]);
        let five = Limits { replicas: 5, max_surge: 1, max_unavailable: 1 };
        assert_eq!(proportional(five, &[5, 8], &[13, 13]), [2, 4]);
        let none = Limits { replicas: 0, max_surge: 1, max_unavailable: 1 };
        assert_eq!(proportional(none, &[5, 8], &[13, 13]), [0, 0]);
    }
}
