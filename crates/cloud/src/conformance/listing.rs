//! A list is whole, or an error.

use std::collections::BTreeSet;

use super::{
    Bench, Mishap,
    work::{TROUBLE, Verdict, at_every_call, attempt, ensure, ensure_count, order},
};
use crate::{CloudError, machine::Machine};

pub(super) async fn pages<B: Bench>(bench: &B) -> Verdict {
    let count = bench.more_than_a_page();
    let provider = bench.start().provider;
    let mut made = BTreeSet::new();
    for number in 0..count {
        made.insert(provider.create(&order(bench, number)).await?.provider_id);
    }
    ensure_count(bench, made.len()).await?;
    let is_whole = |machines: &[Machine]| {
        let names: BTreeSet<_> = machines.iter().map(|machine| &machine.provider_id).collect();
        names.len() == machines.len() && names.into_iter().eq(&made)
    };
    let all = provider.list().await?;
    ensure(is_whole(&all), || format!("{} machines are listed, of {count}", all.len()))?;
    at_every_call(&TROUBLE, async |mishap: Mishap, call| {
        let tried = attempt(bench, mishap, call, async |provider| provider.list().await).await?;
        match &tried.answer {
            Some(Ok(machines)) => ensure(is_whole(machines), || {
                format!("{} machines are listed, of {count}", machines.len())
            })?,
            Some(Err(CloudError::Unknown(_))) => {}
            other => ensure(false, || format!("the answer is {other:?}"))?,
        }
        Ok(tried.struck)
    })
    .await
}
