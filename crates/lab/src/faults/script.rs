//! Fault scripts: one line per fault.
//!
//! ```text
//! # when  who        what             with which calls      how often
//! at 10m  operator:  conflict         on update nodeclaims  3 times
//! at 0s   anybody:   slow 2s          on list nodes         always
//! at 5m   operator:  partition 30s
//! at 2m   operator:  kill after       on create nodeclaims  once
//! at 3m   operator:  cut after        on create instances    once
//! at 1h   clock:     jump -30s
//! ```
//!
//! `instances` are those of the laboratory's cloud.

use std::time::Duration;

use jiff::SignedDuration;
use joiner_sim::script::{self, Often, ScriptError, number};

use super::{Aim, Fault, Rule};

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A fault that happens to calls.
    Rule(Rule),
    /// A client that cannot reach the server for a while.
    Partition { client: String, from: SignedDuration, lasts: SignedDuration },
    /// The clock is set.
    Jump { at: SignedDuration, by: SignedDuration },
}

/// Reads a script.
pub(super) fn parse(script: &str) -> Result<Vec<Line>, ScriptError> {
    script::read(script, parse_line)
}

fn parse_line(words: &[&str]) -> Result<Line, String> {
    let [at, from, who, rest @ ..] = words else {
        return Err("too short; write `at TIME WHO: FAULT …`".to_owned());
    };
    if *at != "at" {
        return Err(format!("begins with {at:?}; write `at TIME WHO: FAULT …`"));
    }
    let from = duration(from)?;
    let Some(who) = who.strip_suffix(':') else {
        return Err(format!("{who:?} has no colon; write who it happens to as `operator:`"));
    };
    let client = if who == "anybody" { String::new() } else { who.to_owned() };
    match rest {
        ["jump", by] if who == "clock" => Ok(Line::Jump { at: from, by: duration(by)? }),
        _ if who == "clock" => Err("the clock can only `jump DURATION`".to_owned()),
        ["partition", lasts] if client.is_empty() => {
            Err(format!("a partition of {lasts} needs the name of one client"))
        }
        ["partition", lasts] => Ok(Line::Partition { client, from, lasts: duration(lasts)? }),
        _ => parse_rule(client, from, rest).map(Line::Rule),
    }
}

fn parse_rule(client: String, from: SignedDuration, words: &[&str]) -> Result<Rule, String> {
    let (fault, rest) = parse_fault(words)?;
    let (aim, rest) = match rest {
        ["on", verb, plural, rest @ ..] if !is_count(plural, rest) => {
            (Aim { client, verb: verb_of(verb)?, plural: (*plural).to_owned() }, rest)
        }
        ["on", verb, rest @ ..] => {
            (Aim { client, verb: verb_of(verb)?, plural: String::new() }, rest)
        }
        rest => (Aim { client, ..Aim::default() }, rest),
    };
    if !aim.verb.is_empty() && !fault.can_happen_to(&aim.verb, &aim.plural) {
        return Err(format!("`{fault}` cannot happen to {} {}", aim.verb, aim.plural));
    }
    let Often { skip, times } = Often::read(rest)?;
    Ok(Rule { fault, aim, from, skip, times })
}

fn parse_fault<'a, 'w>(words: &'a [&'w str]) -> Result<(Fault, &'a [&'w str]), String> {
    Ok(match words {
        ["conflict", rest @ ..] => (Fault::Conflict, rest),
        ["429", seconds, rest @ ..] if seconds.ends_with('s') => {
            let retry_after_seconds = number(seconds.trim_end_matches('s'))?;
            (Fault::TooManyRequests { retry_after_seconds }, rest)
        }
        ["429", rest @ ..] => (Fault::TooManyRequests { retry_after_seconds: 1 }, rest),
        ["500", rest @ ..] => (Fault::Internal, rest),
        ["503", rest @ ..] => (Fault::Unavailable, rest),
        ["cut", "before", rest @ ..] => (Fault::CutBefore, rest),
        ["cut", "after", rest @ ..] => (Fault::CutAfter, rest),
        ["cut", "watch", after, rest @ ..] if after.parse::<usize>().is_ok() => {
            (Fault::CutWatch { after: number(after)? as usize }, rest)
        }
        ["cut", "watch", rest @ ..] => (Fault::CutWatch { after: 0 }, rest),
        ["stale", versions, rest @ ..] => {
            (Fault::Stale { versions: u64::from(number(versions)?) }, rest)
        }
        ["slow", delay, rest @ ..] => {
            let delay = Duration::try_from(duration(delay)?)
                .map_err(|_| format!("{delay:?} is not a time to wait"))?;
            (Fault::Slow(delay), rest)
        }
        ["kill", "before", rest @ ..] => (Fault::Kill { after: false }, rest),
        ["kill", "after", rest @ ..] => (Fault::Kill { after: true }, rest),
        other => {
            return Err(format!(
                "no fault is called {:?}; there are: conflict, 429 [Ns], 500, 503, cut \
                 before|after|watch [N], stale N, slow DURATION, kill before|after, partition \
                 DURATION",
                other.first().copied().unwrap_or_default()
            ));
        }
    })
}

/// Whether what stands after a verb already says how often.
fn is_count(word: &str, rest: &[&str]) -> bool {
    matches!(word, "once" | "always" | "after") || rest.first() == Some(&"times")
}

fn verb_of(verb: &str) -> Result<String, String> {
    const VERBS: [&str; 10] = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
        "write",
        "anything",
    ];
    match verb {
        "anything" => Ok(String::new()),
        known if VERBS.contains(&known) => Ok(known.to_owned()),
        other => Err(format!("no call is called {other:?}; there are: {}", VERBS.join(", "))),
    }
}

/// Reads a duration such as `90s`, `5m`, `-1h30m`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    text.parse().map_err(|_| format!("{text:?} is not a duration; write it as 90s, 5m or 1h30m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_who_what_and_how_often() {
        let cases = [
            ("at 10m operator: conflict on update nodeclaims 3 times", "conflict"),
            ("at 0s anybody: slow 2s on list nodes always", "answer 2000 ms late"),
            ("at 2m operator: kill after on create nodeclaims", "killed after"),
            ("at 2m operator: 429 5s on write once", "429, retry after 5 s"),
            ("at 1s a: cut watch 2 on watch after 3 calls always", "watch cut after 2 pieces"),
        ];
        for (text, expected) in cases {
            let lines = parse(text).unwrap();
            let [Line::Rule(rule)] = lines.as_slice() else { panic!("{text}: {lines:?}") };
            assert!(rule.fault.to_string().starts_with(expected), "{text}: {}", rule.fault);
        }
    }

    #[test]
    fn the_aim_is_read_with_and_without_a_resource() {
        let aim = |text: &str| match parse(text).unwrap().remove(0) {
            Line::Rule(rule) => (rule.aim.verb, rule.aim.plural, rule.times),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            aim("at 0s a: 500 on update 2 times"),
            ("update".into(), String::new(), Some(2))
        );
        assert_eq!(aim("at 0s a: 500 on get pods"), ("get".into(), "pods".into(), Some(1)));
        assert_eq!(aim("at 0s a: 500 always"), (String::new(), String::new(), None));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let refused = parse("at 1m a: conflict\nat soon a: conflict").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "line 2 of the fault script: \"soon\" is not a duration; write it as 90s, 5m or 1h30m"
        );
        for wrong in [
            "conflict",
            "at 1m a conflict",
            "at 1m a: hiccup",
            "at 1m clock: conflict",
            "at 1m anybody: partition 5s",
            "at 1m a: stale 3 on get pods",
            "at 1m a: stale 3 on list instances",
            "at 1m a: conflict on list pods",
            "at 1m a: cut watch on list",
            "at 1m a: 500 on list pods sometimes",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
