//! Sets of CPUs of a host.

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
};

/// CPUs that Linux can have at most, so that a list stays small whatever is written.
const CPUS_MAX: u32 = 8192;

/// A set of numbers of CPUs. It is written as Linux writes such lists: `0-7,16`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct CpuSet(Vec<u64>);

/// A text that is no list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no list of CPUs; write it as 0-7,16-23")]
pub struct NotACpuList(String);

impl CpuSet {
    /// The CPUs from `first` on, so many.
    pub fn range(first: u32, count: u32) -> Self {
        (first..first.saturating_add(count)).collect()
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a CPU is among them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.get(cpu as usize / 64).is_some_and(|word| word & (1 << (cpu % 64)) != 0)
    }

    /// Adds a CPU. One that no host can have is not added.
    pub fn insert(&mut self, cpu: u32) {
        if cpu >= CPUS_MAX {
            return;
        }
        let at = cpu as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (cpu % 64);
    }

    /// Adds all CPUs of another set.
    pub fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own |= other;
        }
    }

    /// The CPUs of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combined(other, |own, other| own | other)
    }

    /// The CPUs that both have.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combined(other, |own, other| own & other)
    }

    /// The CPUs that only this one has.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combined(other, |own, other| own & !other)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| at as u32 * 64 + bit)
        })
    }

    fn combined(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let word = |words: &[u64], at: usize| words.get(at).copied().unwrap_or_default();
        let longest = self.0.len().max(other.0.len());
        let mut words: Vec<u64> =
            (0..longest).map(|at| combine(word(&self.0, at), word(&other.0, at))).collect();
        // Equal sets are equal in memory.
        while words.last() == Some(&0) {
            words.pop();
        }
        Self(words)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

/// The CPUs of a list in its own order, which matters where positions in it are named.
pub fn ordered(text: &str) -> Result<Vec<u32>, NotACpuList> {
    let error = || NotACpuList(text.to_owned());
    let number = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|cpu: &u32| *cpu < CPUS_MAX).ok_or_else(error)
    };
    let mut cpus = Vec::new();
    for part in text.split([',', ';']).filter(|part| !part.trim().is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        let room = CPUS_MAX as usize - cpus.len();
        if first > last || (last - first) as usize >= room {
            return Err(error());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

impl FromStr for CpuSet {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        Ok(ordered(text)?.into_iter().collect())
    }
}

impl Display for CpuSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.peek() == Some(&(last + 1)) {
                last += 1;
                cpus.next();
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn a_set_is_read_and_written_as_linux_does() {
        for (text, expected) in [
            ("", ""),
            ("3", "3"),
            ("0-7,16-23", "0-7,16-23"),
            ("8,0-1,9,2", "0-2,8-9"),
            ("0;64;128", "0,64,128"),
            ("63-64", "63-64"),
        ] {
            assert_eq!(set(text).to_string(), expected);
        }
        for text in ["a", "3-1", "-1", "0-", "8192", "0-99999999999", "0-8191,0"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
        assert_eq!(ordered("4-5,0-1"), Ok(vec![4, 5, 0, 1]));
    }

    #[test]
    fn sets_with_equal_cpus_are_equal() {
        assert_eq!(set("0,200").difference(&set("200")), set("0"));
        assert_eq!(set("0-3").intersection(&set("2-9")), set("2-3"));
        assert_eq!(set("0-1").union(&set("1-2,70")), set("0-2,70"));
        assert_eq!(set("5").difference(&set("5")), CpuSet::default());
        assert_eq!(set("0-7,70").len(), 9);
    }
}
