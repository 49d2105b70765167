//! How many pods of a group are on each instance, and where there are too many of them.
//!
//! What is too many depends on where they are fewest. That is taken to be nowhere, as if there could always be one more
//! instance, unless the group is told to count ([`HostCounts::count_lowest`]). Then it rises with the pods that are
//! placed, but never above what it may rise to, and falls when an instance is opened.

use super::group::{Instance, Way};
use crate::solve::bits::Bits;

/// Counts per instance.
#[derive(Debug, Clone, Default)]
pub(super) struct HostCounts {
    /// By how many pods instances may differ. `None`: nobody asks.
    max_skew: Option<i64>,
    nodes: PerInstance,
    claims: PerInstance,
    /// Instances with a count, also those that take no pods.
    occupied: usize,
    lowest: Lowest,
}

#[derive(Debug, Clone, Default)]
struct PerInstance {
    counts: Vec<i64>,
    /// At least one.
    occupied: Bits,
    /// With as many pods as the maximum skew, with one more, and so on: as many levels as the lowest count can make a
    /// difference to.
    crowded: Vec<Bits>,
    /// Instances that are left out when the lowest count is looked for.
    outsiders: Bits,
}

/// The lowest count among the instances that are not left out.
#[derive(Debug, Clone, Default)]
struct Lowest {
    now: usize,
    instances: usize,
    /// How many of them have one pod or more, two or more, and so on up to the highest that `now` may be.
    reached: Vec<usize>,
    /// Pods that come from now on are not counted.
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
    /// Counts a pod on an instance, or counts it no more. Answers with the count that is reached with it.
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

    /// Looks once more at what is counted, for as many levels.
    fn crowd(&mut self, max_skew: i64, levels: usize) {
        let at_least = |least: i64| {
            let counts = self.counts.iter().enumerate();
            counts.filter(|(_, count)| **count >= least).map(|(position, _)| position).collect()
        };
        self.crowded = (0..levels).map(|step| at_least(threshold(max_skew, step))).collect();
    }
}

/// How many pods make an instance crowded. One without any never is.
fn threshold(max_skew: i64, step: usize) -> i64 {
    (max_skew + step as i64).max(1)
}

impl HostCounts {
    /// Counts for instances that may differ by so many pods.
    pub(super) fn spread(max_skew: i64) -> Self {
        let mut counts = Self { max_skew: Some(max_skew), ..Self::default() };
        counts.crowd(max_skew);
        counts
    }

    /// One level for pods that count themselves, one for those that do not, and one for each step that the lowest count
    /// may take.
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

    /// From now on the lowest count is counted, up to `most`, over so many nodes but for `outsiders`. Before any claim is
    /// opened.
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

    /// A claim is opened that has no pods yet. One that is an outsider is left out when the lowest count is looked for.
    pub(super) fn open(&mut self, claim: usize, is_outsider: bool) {
        if is_outsider {
            self.claims.outsiders.insert(claim);
        } else {
            self.lowest.instances += 1;
            self.lowest.find();
        }
    }

    /// From now on the lowest count does not rise.
    pub(super) fn finish_lowest(&mut self) {
        self.lowest.is_final = true;
    }

    /// Counts a pod on an instance, or counts it no more.
    pub(super) fn shift(&mut self, instance: Option<Instance>, way: Way) {
        let (instances, position) = match instance {
            Some(Instance::Node(position)) => (&mut self.nodes, position),
            Some(Instance::Claim(position)) => (&mut self.claims, position),
            // Its pods still count as being somewhere.
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

    /// Whether there is a pod on any instance.
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

    /// Instances that have more pods than the skew allows.
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

/// What trials may change, for tests to compare.
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

/// What is counted where, without what is nothing.
#[cfg(test)]
pub(super) fn counted(counts: &[i64]) -> Vec<(usize, i64)> {
    counts.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect()
}

#[cfg(test)]
mod tests;
