//! Numbers that follow from a seed.
//!
//! A seed that was printed once gives the same numbers on every computer and in every release. So
//! neither the operating system nor another library decides about them.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the state grows by with each number: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The generator `SplitMix64` of Steele, Lea and Flood: one addition and two multiplications per
/// number. It is for simulations and names, and secrets need another source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// What the generator would have to be made of to continue here.
    pub fn state(&self) -> u64 {
        self.0
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

/// The same generator for several threads: each number is drawn once.
#[derive(Debug)]
pub struct SharedSplitMix64(AtomicU64);

impl SharedSplitMix64 {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn draw(&self) -> u64 {
        mix(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

/// Spreads the bits of a state. The constants are those of the published generator.
fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that the published reference implementation gives for the seed 1234567.
    const PUBLISHED: [u64; 3] =
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];

    #[test]
    fn the_published_first_numbers_come_out() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!([(); 3].map(|()| random.draw()), PUBLISHED);
    }

    #[test]
    fn a_shared_generator_draws_the_same_numbers() {
        let random = SharedSplitMix64::new(1_234_567);
        assert_eq!([(); 3].map(|()| random.draw()), PUBLISHED);
    }

    #[test]
    fn a_generator_continues_from_its_state() {
        let mut random = SplitMix64::new(7);
        random.draw();
        let mut continued = SplitMix64::new(random.state());
        assert_eq!(continued.draw(), random.draw());
    }
}
