//! Scripts of trouble: one line each.
//!
//! ```text
//! # what                                              with which call               how often
//! fault NoPermission privilegeId=Network.Assign       on CloneVM_Task               once
//! fault InvalidState                                  on PowerOnVM_Task of "web-1"  2 times
//! task fault InsufficientHostCapacityFault after 30s  on CloneVM_Task               after 2 calls once
//! task lasts 20m                                      on CloneVM_Task
//! task never ends                                     on CloneVM_Task
//! task garbage                                        on PowerOnVM_Task
//! lost before                                         on CloneVM_Task
//! lost after                                          on CloneVM_Task
//! silence after                                       on Destroy_Task
//! http 503                                            on /rest/com/vmware/cis/tagging   always
//! slow 30s                                            on RetrievePropertiesEx
//! expire sessions                                     on CurrentTime
//! all missing                                         on RetrievePropertiesEx
//! ```
//!
//! `before` means that the call has no effect, `after` that it has. Without `on`, any call is meant;
//! without a count, the next one.

use std::{fmt, time::Duration};

use super::{Effect, Rule, TaskTrouble};
use crate::{fault::Fault, reference::Ref, wire::value::Value};

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TroubleError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl fmt::Display for TroubleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the script of trouble: {}", self.line, self.problem)
    }
}

impl std::error::Error for TroubleError {}

/// Reads a script. Empty lines and what follows a `#` do not count.
pub(super) fn parse(script: &str) -> Result<Vec<Rule>, TroubleError> {
    let mut rules = Vec::new();
    for (index, text) in script.lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            let at = |problem| TroubleError { line: index + 1, problem };
            rules.push(rule(&words).map_err(at)?);
        }
    }
    Ok(rules)
}

fn rule(words: &[&str]) -> Result<Rule, String> {
    let (effect, rest) = effect(words)?;
    let (call, rest) = match rest {
        ["on", call, rest @ ..] => ((*call).to_owned(), rest),
        rest => (String::new(), rest),
    };
    let (object, rest) = match rest {
        ["of", name, rest @ ..] => (name.trim_matches('"').to_owned(), rest),
        rest => (String::new(), rest),
    };
    let (skip, rest) = match rest {
        ["after", count, "calls", rest @ ..] => (number(count)?, rest),
        rest => (0, rest),
    };
    let times = match rest {
        [] | ["once"] => Some(1),
        ["always"] => None,
        [count, "times"] => Some(number(count)?),
        other => {
            let other = other.join(" ");
            return Err(format!(
                "cannot understand {other:?}; after what goes wrong comes `on CALL`, `of OBJECT`, \
                 `after N calls`, and `once`, `always` or `N times`"
            ));
        }
    };
    if !call.is_empty() && !effect.can_happen_to(&call) {
        return Err(format!(
            "that cannot happen to {call}: REST paths know no faults but `http STATUS`, tasks are \
             begun by methods that end in `_Task`, and `all missing` is an answer to \
             RetrievePropertiesEx"
        ));
    }
    Ok(Rule { effect, call, object, skip, times })
}

fn effect<'a, 'w>(words: &'a [&'w str]) -> Result<(Effect, &'a [&'w str]), String> {
    Ok(match words {
        ["fault", kind, rest @ ..] => {
            let (fault, rest) = fault(kind, rest)?;
            (Effect::Fault(fault), rest)
        }
        ["task", "fault", kind, rest @ ..] => {
            let (fault, rest) = fault(kind, rest)?;
            let (after, rest) = match rest {
                ["after", time, rest @ ..] if !matches!(rest, ["calls", ..]) => {
                    (duration(time)?, rest)
                }
                rest => (Duration::ZERO, rest),
            };
            (Effect::Task(TaskTrouble::Fails { after, fault }), rest)
        }
        ["task", "lasts", time, rest @ ..] => {
            (Effect::Task(TaskTrouble::Lasts(duration(time)?)), rest)
        }
        ["task", "never", "ends", rest @ ..] => (Effect::Task(TaskTrouble::NeverEnds), rest),
        ["task", "garbage", rest @ ..] => (Effect::Task(TaskTrouble::Garbage), rest),
        ["lost", when @ ("before" | "after"), rest @ ..] => {
            (Effect::Lost { after: *when == "after" }, rest)
        }
        ["silence", when @ ("before" | "after"), rest @ ..] => {
            (Effect::Silence { after: *when == "after" }, rest)
        }
        ["http", status, rest @ ..] => {
            let status = status.parse().ok().filter(|status| (400..=599).contains(status));
            (Effect::Http(status.ok_or("`http` needs a status from 400 to 599")?), rest)
        }
        ["slow", time, rest @ ..] => (Effect::Slow(duration(time)?), rest),
        ["expire", "sessions", rest @ ..] => (Effect::ExpireSessions, rest),
        ["all", "missing", rest @ ..] => (Effect::AllMissing, rest),
        other => {
            return Err(format!(
                "cannot understand {:?}; write `fault KIND`, `task fault KIND after TIME`, \
                 `task lasts TIME`, `task never ends`, `task garbage`, `lost before|after`, \
                 `silence before|after`, `http STATUS`, `slow TIME`, `expire sessions` or \
                 `all missing`",
                other.join(" ")
            ));
        }
    })
}

/// A fault with its fields, which are written as `name=value`.
fn fault<'a, 'w>(kind: &str, words: &'a [&'w str]) -> Result<(Fault, &'a [&'w str]), String> {
    if !kind.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        return Err(format!("{kind:?} is no name of a fault"));
    }
    let mut fault = Fault::new(kind.to_owned(), format!("{kind}, as the script has it"));
    let mut rest = words;
    while let [word, after @ ..] = rest
        && let Some((name, value)) = word.split_once('=')
    {
        let named = value.split_once(':').and_then(|(kind, id)| Ref::read(kind, id));
        let value = named.map_or_else(|| Value::text(value.to_owned()), Value::Ref);
        fault = fault.with(name.to_owned(), value);
        rest = after;
    }
    Ok((fault, rest))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no number of calls"))
}

/// A time such as `1500ms`, `30s`, `20m`, `24h`.
fn duration(text: &str) -> Result<Duration, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_documentation_are_understood() {
        let example = include_str!("script.rs");
        let lines = example.lines().skip_while(|line| !line.ends_with("```text")).skip(1);
        let lines = lines.take_while(|line| !line.ends_with("```"));
        let script: Vec<&str> = lines.map(|line| line.trim_start_matches("//!")).collect();
        let rules = parse(&script.join("\n")).unwrap();
        assert_eq!(rules.len(), 13);
        assert_eq!(rules[1].object, "web-1");
        assert_eq!((rules[2].skip, rules[2].times), (2, Some(1)));
        assert_eq!(rules[9].times, None);
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_line_and_a_remedy() {
        let problem = |script: &str| parse(script).unwrap_err().to_string();
        assert!(problem("\nfoul").starts_with(
            "line 2 of the script of trouble: cannot understand \"foul\"; write `fault KIND`"
        ));
        assert!(problem("http 200").contains("400 to 599"));
        for time in ["3", "s", "-1s", "1d", "18446744073709551615h"] {
            assert!(problem(&format!("slow {time}")).contains("write it as 1500ms"), "{time}");
        }
        assert!(problem("lost after on X twice").contains("`N times`"));
        for script in ["fault X on /rest", "task garbage on CurrentTime", "all missing on Login"] {
            assert!(problem(script).contains("that cannot happen to"), "{script}");
        }
    }
}
