//! Semantic versions, for rules that compare them.

use std::cmp::Ordering;

/// A version: numbers, and what comes before a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
    pre: Vec<String>,
}

impl Version {
    /// Reads `1.2.3-alpha.1+build`; `lenient` also takes a leading `v` and missing numbers.
    pub(super) fn parse(text: &str, lenient: bool) -> Option<Self> {
        let text = if lenient { text.strip_prefix('v').unwrap_or(text) } else { text };
        let (text, build) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
        let (core, pre) = text.split_once('-').map_or((text, None), |(a, b)| (a, Some(b)));
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        };
        if !build.is_none_or(|build| build.split('.').all(word)) {
            return None;
        }
        let pre: Vec<String> =
            pre.map_or_else(Vec::new, |pre| pre.split('.').map(str::to_owned).collect());
        let leading_zero = |part: &str| part.len() > 1 && part.starts_with('0');
        let number = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
        if pre.iter().any(|part| !word(part) || (number(part) && leading_zero(part))) {
            return None;
        }
        let mut numbers = Vec::new();
        for part in core.split('.') {
            if part.is_empty() || !number(part) || (leading_zero(part) && !lenient) {
                return None;
            }
            numbers.push(part.parse().ok()?);
        }
        if lenient {
            numbers.resize(numbers.len().max(3), 0);
        }
        let [major, minor, patch] = numbers[..] else { return None };
        Some(Self { major, minor, patch, pre })
    }

    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        let core = |version: &Self| (version.major, version.minor, version.patch);
        core(self).cmp(&core(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    let parts = self.pre.iter().zip(&other.pre);
                    let first = parts.map(|(a, b)| compare_parts(a, b)).find(|order| order.is_ne());
                    first.unwrap_or_else(|| self.pre.len().cmp(&other.pre.len()))
                }
            }
        })
    }
}

/// Numbers are less than words.
fn compare_parts(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
