//! How many pods of a group each instance has, and which instances have too many.
//!
//! The limit is the lowest count plus the skew. The lowest count is 0, as if one more instance were always
//! possible, unless [`HostCounts::count_lowest`] is called. Then it rises with the placed pods up to a maximum, and
//! falls when an instance is opened.

use super::group::{Instance, Way};
use crate::solve::bits::Bits;

/// Counts per instance.
#[derive(Debug, Clone, Default)]
pub(super) struct HostCounts {
    /// By how many pods instances may differ; `None` if no constraint needs it.
    max_skew: Option<i64>,
    nodes: PerInstance,
    claims: PerInstance,
    /// The number of instances with a count, including those that take no pods.
    occupied: usize,
    lowest: Lowest,
}

#[derive(Debug, Clone, Default)]
struct PerInstance {
    counts: Vec<i64>,
    /// Instances with at least one pod.
    occupied: Bits,
    /// Instances with at least the maximum skew of pods, with one more, and so on. There is a level for each value
    /// that the lowest count can have.
    crowded: Vec<Bits>,
    /// Instances that do not count for the lowest count.
    outsiders: Bits,
}

/// The lowest count among the instances that count for it.
#[derive(Debug, Clone, Default)]
struct Lowest {
    now: usize,
    instances: usize,
    /// How many of them have at least one pod, at least two, and so on up to the maximum of `now`.
    reached: Vec<usize>,
    /// Pods that arrive from now on are not counted.
    is_final: bool,
}

impl Lowest {
    #[inline]
    fn is_counted(&self) -> bool {
        !self.reached.is_empty()
    }

    fn shift(&mut self, level: i64, way: Way) {
        let at = usize::try_from(level - 1).ok().filter(|_| !self.is_final);
        let Some(reached) = at.and_then(|at| self.reached.get_mut(at)) else { return };
        match way {
            Way::In => *reached += 1,
            Way::Out => *reached -= 1,
        }
        self.find();
    }

    fn find(&mut self) {
        let all = |reached: &&usize| **reached == self.instances;
        self.now = self.reached.iter().take_while(all).count();
    }
}

impl PerInstance {
    /// Adds a pod to the count of an instance, or removes it. The result is the count with the pod.
    #[inline]
    fn shift(&mut self, position: usize, way: Way, max_skew: Option<i64>) -> i64 {
        if self.counts.len() <= position {
            self.counts.resize(position + 1, 0);
        }
        let count = &mut self.counts[position];
        let (is_in, level) = match way {
            Way::In => {
                *count += 1;
                (true, *count)
            }
            Way::Out => {
                *count -= 1;
                (false, *count + 1)
            }
        };
        if level == 1 {
            self.occupied.set(position, is_in);
        }
        for (step, crowded) in self.crowded.iter_mut().enumerate() {
            if Some(level) == max_skew.map(|skew| threshold(skew, step)) {
                crowded.set(position, is_in);
            }
        }
        level
    }

    /// Computes the levels again from the counts.
    fn crowd(&mut self, max_skew: i64, levels: usize) {
        let at_least = |least: i64| {
            let counts = self.counts.iter().enumerate();
            counts.filter(|(_, count)| **count >= least).map(|(position, _)| position).collect()
        };
        self.crowded = (0..levels).map(|step| at_least(threshold(max_skew, step))).collect();
    }
}

/// How many pods make an instance crowded. An empty instance never is.
fn threshold(max_skew: i64, step: usize) -> i64 {
    (max_skew + step as i64).max(1)
}

impl HostCounts {
    /// Counts for instances that may differ by `max_skew` pods.
    pub(super) fn spread(max_skew: i64) -> Self {
        let mut counts = Self { max_skew: Some(max_skew), ..Self::default() };
        counts.crowd(max_skew);
        counts
    }

    /// One level for pods that count themselves, one for those that do not, and one for each step of the lowest
    /// count.
    fn crowd(&mut self, max_skew: i64) {
        let levels = self.lowest.reached.len() + 2;
        self.nodes.crowd(max_skew, levels);
        self.claims.crowd(max_skew, levels);
    }

    /// The lowest count of the nodes that have one; 0 if none has.
    pub(super) fn lowest_occupied(&self) -> usize {
        let counts = self.nodes.counts.iter().filter_map(|count| usize::try_from(*count).ok());
        counts.filter(|count| *count > 0).min().unwrap_or(0)
    }

    /// Starts tracking the lowest count, up to `most`, over all nodes except `outsiders`. Call it before any claim
    /// is opened.
    pub(super) fn count_lowest(&mut self, most: usize, nodes: usize, outsiders: Bits) {
        let Some(max_skew) = self.max_skew else { return };
        let insiders = self.nodes.counts.iter().enumerate();
        let insiders = insiders.filter(|(position, _)| !outsiders.contains(*position));
        let counts: Vec<i64> = insiders.map(|(_, count)| *count).collect();
        let having = |least: i64| counts.iter().filter(|count| **count >= least).count();
        self.lowest.reached = (1..=most as i64).map(having).collect();
        self.lowest.instances = nodes - outsiders.len();
        self.lowest.find();
        self.nodes.outsiders = outsiders;
        self.crowd(max_skew);
    }

    /// Registers a claim without pods. An outsider does not count for the lowest count.
    pub(super) fn open(&mut self, claim: usize, is_outsider: bool) {
        if is_outsider {
            self.claims.outsiders.insert(claim);
        } else {
            self.lowest.instances += 1;
            self.lowest.find();
        }
    }

    /// Stops raising the lowest count.
    pub(super) fn finish_lowest(&mut self) {
        self.lowest.is_final = true;
    }

    /// Adds a pod to the count of an instance, or removes it.
    pub(super) fn shift(&mut self, instance: Option<Instance>, way: Way) {
        let (instances, position) = match instance {
            Some(Instance::Node(position)) => (&mut self.nodes, position),
            Some(Instance::Claim(position)) => (&mut self.claims, position),
            // Its pods still exist in the group's count.
            None => return self.shift_occupied(way),
        };
        let level = instances.shift(position, way, self.max_skew);
        if self.lowest.is_counted() && !instances.outsiders.contains(position) {
            self.lowest.shift(level, way);
        }
        if level == 1 {
            self.shift_occupied(way);
        }
    }

    fn shift_occupied(&mut self, way: Way) {
        match way {
            Way::In => self.occupied += 1,
            Way::Out => self.occupied -= 1,
        }
    }

    /// Whether any instance has a pod.
    pub(super) fn is_anywhere(&self) -> bool {
        self.occupied > 0
    }

    /// Which of 64 nodes or claims have pods. `word` is their position.
    #[inline]
    pub(super) fn occupied(&self, nodes: bool, word: usize) -> u64 {
        self.of(nodes).occupied.word(word)
    }

    /// Which of 64 nodes or claims have too many pods for one more. `word` is their position.
    #[inline]
    pub(super) fn crowded(&self, counts_itself: bool, nodes: bool, word: usize) -> u64 {
        self.of(nodes).crowded[self.lowest.now + usize::from(!counts_itself)].word(word)
    }

    /// Instances with more pods than the skew allows.
    pub(super) fn too_crowded(&self) -> impl Iterator<Item = Instance> + '_ {
        let beyond = self.lowest.now + 1;
        let nodes = self.nodes.crowded[beyond].iter().map(Instance::Node);
        nodes.chain(self.claims.crowded[beyond].iter().map(Instance::Claim))
    }

    #[inline]
    fn of(&self, nodes: bool) -> &PerInstance {
        if nodes { &self.nodes } else { &self.claims }
    }
}

/// The state that trials may change, for tests to compare.
#[cfg(test)]
impl HostCounts {
    pub(super) fn state(&self) -> String {
        let per_instance = |instances: &PerInstance| {
            let PerInstance { counts, occupied, crowded, outsiders } = instances;
            format!("{:?} {occupied:?} {crowded:?} {outsiders:?}", counted(counts))
        };
        let (nodes, claims) = (per_instance(&self.nodes), per_instance(&self.claims));
        format!("{nodes} {claims} {} {:?}", self.occupied, self.lowest)
    }
}

/// The counts that are not zero.
#[cfg(test)]
pub(super) fn counted(counts: &[i64]) -> Vec<(usize, i64)> {
    counts.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect()
}

#[cfg(test)]
mod tests;
