//! Chance as an input: the same seed gives the same names.

use joiner_random::SharedSplitMix64;
use ring::{
    error::Unspecified,
    rand::{SecureRandom, SystemRandom},
};

/// How long the random part of a name is.
pub const SUFFIX_LENGTH: usize = 5;

/// What generated names end in: no vowels, so that no words come about, and no digits that look
/// like letters. Kubernetes' own choice.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of numbers.
#[derive(Debug)]
pub struct Random {
    numbers: SharedSplitMix64,
    /// Where secrets come from.
    secrets: Secrets,
}

/// Where secrets come from.
#[derive(Debug)]
enum Secrets {
    /// Unpredictable.
    System,
    /// The same each time, as everything of a seed.
    Seeded,
}

impl Random {
    /// The numbers of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { numbers: SharedSplitMix64::new(seed), secrets: Secrets::Seeded }
    }

    /// Numbers that no other process has.
    pub fn of_this_process() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let seed = RandomState::new().hash_one(std::process::id());
        Self { secrets: Secrets::System, ..Self::seeded(seed) }
    }

    /// An unpredictable secret.
    pub fn secret(&self) -> Result<[u8; 16], Unspecified> {
        let mut secret = [0; 16];
        match self.secrets {
            Secrets::System => SystemRandom::new().fill(&mut secret)?,
            Secrets::Seeded => {
                let (first, last) = secret.split_at_mut(8);
                first.copy_from_slice(&self.next().to_be_bytes());
                last.copy_from_slice(&self.next().to_be_bytes());
            }
        }
        Ok(secret)
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        self.numbers.draw()
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

    #[test]
    fn secrets_follow_from_a_seed_only_where_one_is_given() {
        let secret = |random: Random| random.secret().unwrap();
        assert_eq!(secret(Random::seeded(1)), secret(Random::seeded(1)));
        assert_ne!(secret(Random::of_this_process()), secret(Random::of_this_process()));
    }
}
