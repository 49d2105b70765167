//! Choices from a seed: equal seeds always give the same scenario.

use joiner_random::SplitMix64;

/// Draws scenarios.
#[derive(Debug, Clone)]
pub struct Rng(SplitMix64);

impl Rng {
    /// A generator with the numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A separate generator for one part of a scenario, so that more draws in one part change nothing in another.
    pub fn child(seed: u64, part: u64) -> Self {
        let mut parent = SplitMix64::new(seed ^ part.wrapping_mul(0xd605_1fca_7e21_a1b3));
        Self::new(parent.draw())
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias of a remainder is too small to matter for a scenario.
        (self.0.draw() % bound.max(1) as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `percent`.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Some of `items`, in their order: `count` of them, or all if there are fewer.
    pub fn pick_some<T: Clone>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut chosen: Vec<usize> = (0..items.len()).collect();
        while chosen.len() > count {
            chosen.remove(self.below(chosen.len()));
        }
        chosen.into_iter().map(|index| items[index].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_seed_never_change() {
        let mut rng = Rng::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| rng.0.draw()).collect();
        // The first values of the published reference implementation for this seed.
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn parts_do_not_disturb_each_other() {
        let first = Rng::child(7, 1).below(1000);
        let mut second = Rng::child(7, 2);
        second.below(10);
        assert_eq!(Rng::child(7, 1).below(1000), first);
    }

    #[test]
    fn some_keeps_order_and_count() {
        let some = Rng::new(3).pick_some(&[1, 2, 3, 4, 5], 3);
        assert_eq!(some.len(), 3);
        assert!(some.is_sorted());
    }
}
