//! A list is whole, or an error.

use std::collections::BTreeSet;

use super::{
    Bench, Mishap,
    work::{TROUBLE, Verdict, at_every_call, attempt, create, ensure, ensure_count, order},
};
use crate::{CloudError, instance::Instance};

pub(super) async fn pages<B: Bench>(bench: &B) -> Verdict {
    let count = bench.more_than_a_page();
    let provider = bench.start().provider;
    let mut made = BTreeSet::new();
    for number in 0..count {
        made.insert(create(bench, &*provider, &order(bench, number)).await?.provider_id);
    }
    ensure_count(bench, made.len()).await?;
    let is_whole = |instances: &[Instance]| {
        let names: BTreeSet<_> = instances.iter().map(|instance| &instance.provider_id).collect();
        names.len() == instances.len() && names.into_iter().eq(&made)
    };
    let all = provider.list().await?.instances;
    ensure(is_whole(&all), || format!("{} instances are listed, of {count}", all.len()))?;
    at_every_call(&TROUBLE, async |mishap: Mishap, call| {
        let tried = attempt(bench, mishap, call, async |provider| provider.list().await).await?;
        match &tried.answer {
            Some(Ok(listing)) => {
                ensure(listing.away.is_empty() && is_whole(&listing.instances), || {
                    format!("{} instances are listed, of {count}", listing.instances.len())
                })?;
            }
            Some(Err(CloudError::Unknown(_))) => {}
            other => ensure(false, || format!("the answer is {other:?}"))?,
        }
        Ok(tried.struck)
    })
    .await
}
