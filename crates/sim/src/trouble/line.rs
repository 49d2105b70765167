//! Lines of trouble.
//!
//! ```text
//! # what         with which call        how often
//! lost before    on CloneVM_Task        once
//! silence after  on Destroy_Task
//! http 503       on /rest               always
//! cut short      on listVirtualMachines 2 times
//! slow 30s       on CloneVM_Task of "web-1"   after 2 calls once
//! ```
//!
//! `before` means that the call has no effect, `after` that it has. Without `on`, any call is meant;
//! without a count, the next one.

use super::{CloudTrouble, Effect, Rule};
use crate::script::{Often, duration};

pub(super) fn rule<C: CloudTrouble>(words: &[&str]) -> Result<Rule<C>, String> {
    let (effect, rest) = effect::<C>(words)?;
    let (call, rest) = match rest {
        ["on", call, rest @ ..] => ((*call).to_owned(), rest),
        rest => (String::new(), rest),
    };
    let (object, rest) = match rest {
        ["of", name, rest @ ..] => (name.trim_matches('"').to_owned(), rest),
        rest => (String::new(), rest),
    };
    let often = Often::read(rest).map_err(|problem| {
        format!("{problem}; before it may stand `on CALL` and `of OBJECT`, in this order")
    })?;
    if !call.is_empty() && !effect.can_happen_to(&call) {
        return Err(format!("that cannot happen to {call}: {}", C::POSSIBLE));
    }
    Ok(Rule { effect, call, object, often })
}

fn effect<'a, 'w, C: CloudTrouble>(
    words: &'a [&'w str],
) -> Result<(Effect<C>, &'a [&'w str]), String> {
    if let Some((trouble, rest)) = C::read(words)? {
        return Ok((Effect::Cloud(trouble), rest));
    }
    Ok(match words {
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
        ["cut", "short", rest @ ..] => (Effect::CutShort, rest),
        ["slow", time, rest @ ..] => (Effect::Slow(duration(time)?), rest),
        other => {
            return Err(format!(
                "cannot understand {:?}; write {}, `lost before|after`, `silence before|after`, \
                 `http STATUS`, `cut short` or `slow TIME`",
                other.join(" "),
                C::WORDS,
            ));
        }
    })
}
