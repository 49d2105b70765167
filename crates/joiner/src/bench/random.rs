//! Choices of a seed, for workloads.

use joiner_random::SplitMix64;

/// Draws workloads.
#[derive(Debug, Clone)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// A generator that gives the same numbers for the same seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// The next number.
    pub(super) fn number(&mut self) -> u64 {
        self.0.draw()
    }

    /// One of `choices`. The tiny bias of a remainder does not matter here.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.number() % choices.len() as u64) as usize]
    }

    /// Something that looks like a UID, so that pods of one size come in no particular order.
    pub(super) fn uid(&mut self) -> String {
        let (high, low) = (self.number(), self.number());
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFF,
            low >> 52,
            low & 0xFFFF_FFFF_FFFF
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_first_numbers_come_out() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.number()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn uids_have_the_usual_form() {
        assert_eq!(
            Random::new(1).uid().split('-').map(str::len).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
    }
}
