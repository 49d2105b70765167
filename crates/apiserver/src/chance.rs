//! Chance that can be repeated.
//!
//! One seed starts everything. Every part forks its own generator by name, so that what one part
//! draws never changes what another one gets.

use joiner_random::SplitMix64;

/// A seeded generator of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance(SplitMix64);

impl Chance {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A generator of its own for a part, by the part's name. Drawing from it leaves this one as it
    /// is, and the same name gives the same generator as long as nothing was drawn from this one.
    pub fn fork(&self, name: &str) -> Self {
        // FNV-1a, then one step of the generator to spread what similar names have in common.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut fork = SplitMix64::new(self.0.state() ^ hash);
        Self::new(fork.draw())
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0.draw()
    }

    /// A number below `n`; zero when `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }

    /// A number from zero up to, but not including, one.
    pub fn ratio(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_numbers() {
        let draw = |seed, name| {
            let mut chance = Chance::new(seed).fork(name);
            [chance.below(100), chance.below(100), chance.below(100)]
        };
        assert_eq!(draw(1, "kubelet"), draw(1, "kubelet"));
        assert_ne!(draw(1, "kubelet"), draw(1, "network"));
        assert_ne!(draw(1, "kubelet"), draw(2, "kubelet"));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut chance = Chance::new(7);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[chance.below(5) as usize] += 1;
            assert!((0.0..1.0).contains(&chance.ratio()));
        }
        assert!(seen.iter().all(|times| *times > 150), "{seen:?}");
        assert_eq!(chance.below(0), 0);
    }
}
