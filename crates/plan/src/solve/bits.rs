//! Sets of small integers as bits.

/// A set of small integers. Trailing zero words are dropped, so equal sets are equal values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) const EMPTY: Self = Self(Vec::new());

    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The numbers below `len`.
    pub(crate) fn all(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if !len.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = (1 << (len % 64)) - 1;
        }
        Self(words)
    }

    /// The `index`-th word of [`Bits::all`], without building the set.
    pub(crate) fn word_of_all(len: usize, index: usize) -> u64 {
        match len.saturating_sub(index * 64) {
            0 => 0,
            rest if rest >= 64 => u64::MAX,
            rest => (1 << rest) - 1,
        }
    }

    pub(crate) fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(crate) fn remove(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
            self.trim();
        }
    }

    /// Adds or removes `bit`.
    pub(crate) fn set(&mut self, bit: usize, member: bool) {
        if member { self.insert(bit) } else { self.remove(bit) }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The `index`-th word; zero beyond the end.
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(left, right)| left & right).collect()).trimmed()
    }

    pub(crate) fn and_not(&self, other: &Self) -> Self {
        Self(self.0.iter().enumerate().map(|(index, word)| word & !other.word(index)).collect())
            .trimmed()
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        let len = self.0.len().max(other.0.len());
        Self((0..len).map(|index| self.word(index) | other.word(index)).collect())
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(left, right)| left & right != 0)
    }

    /// The members in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, word)| ones(*word).map(move |bit| index * 64 + bit))
    }

    /// The members for which `keep` is true.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(usize) -> bool) -> Self {
        let mut kept = Self::new();
        for bit in self.iter() {
            if keep(bit) {
                kept.insert(bit);
            }
        }
        kept
    }

    /// Keeps the members whose entry in `amounts` is at least `least`.
    pub(crate) fn keep_at_least(&mut self, amounts: &[i64], least: i64) {
        for (word, amounts) in self.0.iter_mut().zip(amounts.chunks(64)) {
            let enough = amounts
                .iter()
                .enumerate()
                .fold(0, |bits, (bit, amount)| bits | (u64::from(*amount >= least) << bit));
            *word &= enough;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn trimmed(mut self) -> Self {
        self.trim();
        self
    }
}

impl FromIterator<usize> for Bits {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Self {
        let mut bits = Self::new();
        for bit in iter {
            bits.insert(bit);
        }
        bits
    }
}

/// The positions of the ones of a word, lowest first.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(bit)
    })
}

/// A sparse set of many integers: only words that are not zero are kept, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct SparseBits(Vec<(u32, u64)>);

impl SparseBits {
    pub(crate) fn insert(&mut self, bit: usize) {
        let (word, mask) = ((bit / 64) as u32, 1u64 << (bit % 64));
        match self.0.binary_search_by_key(&word, |(index, _)| *index) {
            Ok(at) => self.0[at].1 |= mask,
            Err(at) => self.0.insert(at, (word, mask)),
        }
    }

    pub(crate) fn remove(&mut self, bit: usize) {
        let (word, mask) = ((bit / 64) as u32, 1u64 << (bit % 64));
        if let Ok(at) = self.0.binary_search_by_key(&word, |(index, _)| *index) {
            self.0[at].1 &= !mask;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }

    pub(crate) fn contains(&self, bit: usize) -> bool {
        let word = (bit / 64) as u32;
        let found = self.0.binary_search_by_key(&word, |(index, _)| *index);
        found.is_ok_and(|at| self.0[at].1 >> (bit % 64) & 1 == 1)
    }

    /// The words that are not zero, with their positions.
    pub(crate) fn words(&self) -> &[(u32, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn members() -> impl Strategy<Value = BTreeSet<usize>> {
        prop::collection::btree_set(0usize..200, 0..20)
    }

    proptest! {
        #[test]
        fn bits_are_sets(a in members(), b in members()) {
            let bits = |set: &BTreeSet<usize>| set.iter().copied().collect::<Bits>();
            let set = |bits: &Bits| bits.iter().collect::<BTreeSet<usize>>();
            let (x, y) = (bits(&a), bits(&b));
            prop_assert_eq!(set(&x.and(&y)), &a & &b);
            prop_assert_eq!(set(&x.or(&y)), &a | &b);
            prop_assert_eq!(set(&x.and_not(&y)), &a - &b);
            prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            prop_assert_eq!(x.len(), a.len());
            // Equal sets are equal values, however they were built.
            prop_assert_eq!(x.and_not(&y), bits(&(&a - &b)));
            prop_assert_eq!(&x.or(&y).and(&x), &x);
            let mut rest = x.clone();
            for bit in &b {
                rest.remove(*bit);
            }
            prop_assert_eq!(rest, x.and_not(&y));
        }

        #[test]
        fn all_is_everything_below(len in 0usize..200) {
            let all = Bits::all(len);
            prop_assert_eq!(all.iter().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            prop_assert!((0..5).all(|word| all.word(word) == Bits::word_of_all(len, word)));
        }

        #[test]
        fn sparse_bits_keep_their_order(inserted in members(), removed in members()) {
            let mut sparse = SparseBits::default();
            for bit in &inserted {
                sparse.insert(*bit);
            }
            for bit in &removed {
                sparse.remove(*bit);
            }
            let left = sparse
                .words()
                .iter()
                .flat_map(|(word, bits)| ones(*bits).map(move |bit| *word as usize * 64 + bit));
            prop_assert_eq!(left.collect::<Vec<_>>(), (&inserted - &removed).into_iter().collect::<Vec<_>>());
            prop_assert!((0..200).all(|bit| sparse.contains(bit) == (inserted.contains(&bit) && !removed.contains(&bit))));
        }
    }
}
