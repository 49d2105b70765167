//! Chance as an input: the same seed gives the same names.

use std::sync::atomic::{AtomicU64, Ordering};

/// How long the random part of a name is.
pub const SUFFIX_LENGTH: usize = 5;

/// What generated names end in: no vowels, so that no words come about, and no digits that look
/// like letters. Kubernetes' own choice.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of numbers.
#[derive(Debug)]
pub struct Random(AtomicU64);

impl Random {
    /// The numbers of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Numbers that no other process has.
    pub fn of_this_process() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self::seeded(RandomState::new().hash_one(std::process::id()))
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        // SplitMix64.
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut number = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    /// The random part of a name.
    pub fn suffix(&self) -> String {
        let mut number = self.next();
        let mut letter = || {
            let index = number % LETTERS.len() as u64;
            number /= LETTERS.len() as u64;
            char::from(LETTERS[index as usize])
        };
        (0..SUFFIX_LENGTH).map(|_| letter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_names_again() {
        let names = |seed| {
            let random = Random::seeded(seed);
            [random.suffix(), random.suffix()]
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
        assert_ne!(names(1)[0], names(1)[1]);
    }
}
