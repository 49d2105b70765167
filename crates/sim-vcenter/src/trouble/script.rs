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

use std::time::Duration;

use joiner_sim::script::duration;

use super::{TaskTrouble, VCenterTrouble};
use crate::{fault::Fault, reference::Ref, wire::value::Value};

/// Reads the beginning of a line.
pub(super) fn read<'a, 'w>(
    words: &'a [&'w str],
) -> Result<Option<(VCenterTrouble, &'a [&'w str])>, String> {
    Ok(Some(match words {
        ["fault", kind, rest @ ..] => {
            let (fault, rest) = fault(kind, rest)?;
            (VCenterTrouble::Fault(fault), rest)
        }
        ["task", rest @ ..] => {
            let Some((task, rest)) = task(rest)? else { return Ok(None) };
            (VCenterTrouble::Task(task), rest)
        }
        ["expire", "sessions", rest @ ..] => (VCenterTrouble::ExpireSessions, rest),
        ["all", "missing", rest @ ..] => (VCenterTrouble::AllMissing, rest),
        _ => return Ok(None),
    }))
}

fn task<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(TaskTrouble, &'a [&'w str])>, String> {
    Ok(Some(match words {
        ["fault", kind, rest @ ..] => {
            let (fault, rest) = fault(kind, rest)?;
            let (after, rest) = match rest {
                ["after", time, rest @ ..] if !matches!(rest, ["calls", ..]) => {
                    (duration(time)?, rest)
                }
                rest => (Duration::ZERO, rest),
            };
            (TaskTrouble::Fails { after, fault }, rest)
        }
        ["lasts", time, rest @ ..] => (TaskTrouble::Lasts(duration(time)?), rest),
        ["never", "ends", rest @ ..] => (TaskTrouble::NeverEnds, rest),
        ["garbage", rest @ ..] => (TaskTrouble::Garbage, rest),
        _ => return Ok(None),
    }))
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

#[cfg(test)]
mod tests {
    use joiner_sim::{
        script::ScriptError,
        trouble::{self, Rule},
    };

    use super::*;

    fn parse(script: &str) -> Result<Vec<Rule<VCenterTrouble>>, ScriptError> {
        trouble::parse(script)
    }

    #[test]
    fn the_lines_of_the_documentation_are_understood() {
        let example = include_str!("script.rs");
        let lines = example.lines().skip_while(|line| !line.ends_with("```text")).skip(1);
        let lines = lines.take_while(|line| !line.ends_with("```"));
        let script: Vec<&str> = lines.map(|line| line.trim_start_matches("//!")).collect();
        let rules = parse(&script.join("\n")).unwrap();
        assert_eq!(rules.len(), 13);
        assert_eq!(rules[1].object, "web-1");
        assert_eq!((rules[2].often.skip, rules[2].often.times), (2, Some(1)));
        assert_eq!(rules[9].often.times, None);
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_line_and_a_remedy() {
        let problem = |script: &str| parse(script).unwrap_err().to_string();
        assert!(problem("\nfoul").starts_with(
            "line 2 of the fault script: cannot understand \"foul\"; write `fault KIND`"
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
