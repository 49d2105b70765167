//! Uids, generated names and the like: made up, but the same ones on every run of a seed.

use crate::chance::Chance;

/// The characters that Kubernetes uses in generated names: no vowels, so no words come out.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many characters a generated name gets.
const SUFFIX_LEN: usize = 5;

/// A source of made-up identities.
#[derive(Clone, Debug)]
pub(crate) struct Ids(Chance);

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Chance::new(seed).fork("identities"))
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&mut self) -> String {
        let (high, low) = (self.0.draw(), self.0.draw());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff,
        )
    }

    /// A name that begins with a prefix, which is cut if it is too long.
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        const PREFIX_MAX: usize = 63 - SUFFIX_LEN;
        let cut = prefix.char_indices().map(|(at, _)| at).take_while(|at| *at <= PREFIX_MAX).last();
        let prefix = if prefix.len() > PREFIX_MAX { &prefix[..cut.unwrap_or(0)] } else { prefix };
        let mut name = prefix.to_owned();
        for _ in 0..SUFFIX_LEN {
            let at = self.below(ALPHABET.len() as u64) as usize;
            name.push(char::from(ALPHABET[at]));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_identities() {
        let (mut one, mut other) = (Ids::new(7), Ids::new(7));
        assert_eq!(one.uid(), other.uid());
        assert_eq!(one.name("web-"), other.name("web-"));
        assert_ne!(one.uid(), Ids::new(8).uid());
    }

    #[test]
    fn uids_are_version_4() {
        let uid = Ids::new(1).uid();
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"), "{uid}");
    }

    #[test]
    fn a_long_prefix_is_cut() {
        assert_eq!(Ids::new(1).name(&"x".repeat(100)).len(), 63);
    }
}
