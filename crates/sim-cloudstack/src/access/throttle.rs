//! How many calls an account may make.

use std::{collections::BTreeMap, time::Duration};

use crate::{estate::Number, inventory::Throttle, refusal::Refusal};

/// The interval of each account: when it began, and how many calls it has had.
#[derive(Debug, Default)]
pub(crate) struct Throttles(BTreeMap<Number, (Duration, u32)>);

impl Throttles {
    /// Counts a call. An interval begins with the first call after the one before.
    pub(crate) fn count(
        &mut self,
        account: Number,
        now: Duration,
        limit: Option<Throttle>,
    ) -> Result<(), Refusal> {
        let Some(limit) = limit else { return Ok(()) };
        let (began, calls) = self.0.entry(account).or_insert((now, 0));
        let ends = *began + limit.interval;
        if now >= ends {
            (*began, *calls) = (now, 0);
        }
        *calls += 1;
        if *calls > limit.calls {
            return Err(Refusal::too_many(ends.saturating_sub(now).as_millis()));
        }
        Ok(())
    }
}
