//! What fault scripts have in common: lines, comments, and how often something happens.
//!
//! ```text
//! WHAT GOES WRONG WITH WHICH CALL  [after N calls]  [once | always | N times]  # a comment
//! ```

use std::{fmt, time::Duration};

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the fault script: {}", self.line, self.problem)
    }
}

impl std::error::Error for ScriptError {}

/// Reads each line of a script, as its words. Empty lines and comments, which begin with `#`, do
/// not count.
pub fn read<T>(
    script: &str,
    line: impl Fn(&[&str]) -> Result<T, String>,
) -> Result<Vec<T>, ScriptError> {
    let mut read = Vec::new();
    for (index, text) in script.lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            let at = |problem| ScriptError { line: index + 1, problem };
            read.push(line(&words).map_err(at)?);
        }
    }
    Ok(read)
}

/// How often something happens to the calls that it may happen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Often {
    /// How many calls get through first.
    pub skip: u32,
    /// How many times it happens; none for always.
    pub times: Option<u32>,
}

impl Often {
    /// Reads the end of a line.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let (skip, rest) = match words {
            ["after", count, "calls", rest @ ..] => (number(count)?, rest),
            rest => (0, rest),
        };
        let times = match rest {
            [] | ["once"] => Some(1),
            ["always"] => None,
            [count, "times"] => Some(number(count)?),
            other => {
                return Err(format!(
                    "cannot understand {:?}; how often is `after N calls`, then `once`, `always` \
                     or `N times`",
                    other.join(" ")
                ));
            }
        };
        Ok(Self { skip, times })
    }
}

/// Counts the calls that something may happen to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    seen: u32,
    happened: u32,
}

impl Counter {
    /// Whether it has happened as often as it may.
    pub fn is_spent(&self, often: Often) -> bool {
        often.times.is_some_and(|times| self.happened >= times)
    }

    /// Counts a call: whether it happens to this one.
    pub fn strikes(&mut self, often: Often) -> bool {
        self.seen += 1;
        let strikes = self.seen > often.skip;
        self.happened += u32::from(strikes);
        strikes
    }

    /// How many times it has happened.
    pub fn happened(&self) -> u32 {
        self.happened
    }
}

/// A number of calls.
pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number"))
}

/// A time such as `1500ms`, `30s`, `20m`, `24h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(split);
    let wrong = || format!("{text:?} is no time; write it as 1500ms, 30s, 20m or 24h");
    let count: u64 = count.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    count.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}
