//! A cloud of several places, one of which does not answer.

use super::{
    Bench,
    work::{PATIENCE, Verdict, create, ensure, order},
};
use crate::CloudError;

pub(super) async fn away<B: Bench>(bench: &B) -> Verdict {
    let mut made = Vec::new();
    for place in 0..2 {
        let Some(order) = bench.in_place(order(bench, place), place as usize) else {
            return Ok(());
        };
        let provider = bench.start().provider;
        made.push((create(bench, &*provider, &order).await?.provider_id, order.claim));
    }
    let [(there, _), (away, claim)] = &made[..] else { return Ok(()) };
    bench.take_away(1);
    let provider = bench.start().provider;
    let listing = provider.list().await?;
    let is_listed = |id: &String| listing.instances.iter().any(|own| own.provider_id == *id);
    let covers = |id: &String| listing.covers(provider.place_of(id).as_deref());
    ensure(is_listed(there) && covers(there), || {
        format!("{there:?} is not listed while the place of another is away: {listing:?}")
    })?;
    ensure(!covers(away), || {
        format!("the place of {away:?} is away, and counts as listed: {listing:?}")
    })?;
    let found = tokio::time::timeout(PATIENCE, provider.get(claim, away)).await;
    ensure(matches!(found, Ok(Ok(Some(_)) | Err(CloudError::Unknown(_)))), || {
        format!("the place of {away:?} is away, and the instance is {found:?}")
    })
}
