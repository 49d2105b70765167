//! What guests are given to join with is emptied on demand, and only that of the claim that is meant.

use super::{
    Bench, Mishap,
    work::{
        ASK_AGAIN_AFTER, ASKS_MAX, Broken, KILLS, Verdict, at_every_call, attempt, create, ensure,
        order,
    },
};
use crate::{CloudError, CloudProvider, order::ClaimId};

pub(super) async fn emptied<B: Bench>(bench: &B) -> Verdict {
    at_every_call(&KILLS, async |mishap: Mishap, call| {
        let order = order(bench, call);
        let id = create(bench, &*bench.start().provider, &order).await?.provider_id;
        let tried = attempt(bench, mishap, call, async |provider| {
            provider.empty_join_data(&order.claim, &id).await
        });
        let struck = tried.await?.struck;
        let provider = bench.start().provider;
        empty_at_last(&*provider, &order.claim, &id).await?;
        provider.empty_join_data(&order.claim, &id).await?;
        let left = bench.start().provider.get(&order.claim, &id).await?;
        ensure(left.as_ref().is_some_and(|left| !left.holds_join_data), || {
            format!("after its data was emptied the instance is {left:?}")
        })?;
        ensure(left.is_some_and(|left| left.claim.as_ref() == Some(&order.claim)), || {
            format!("{id:?} has lost its mark with its data")
        })?;
        Ok(struck)
    })
    .await
}

/// Asks until it is done: what a process that was killed has begun may be under way.
async fn empty_at_last(provider: &dyn CloudProvider, claim: &ClaimId, id: &str) -> Verdict {
    for _ in 0..ASKS_MAX {
        match provider.empty_join_data(claim, id).await {
            Err(CloudError::Unknown(_)) => tokio::time::sleep(ASK_AGAIN_AFTER).await,
            answer => return Ok(answer?),
        }
    }
    Err(Broken(format!("what {id:?} joined with is not emptied after {ASKS_MAX} attempts")))
}

pub(super) async fn of_another<B: Bench>(bench: &B) -> Verdict {
    let (own, other) = (order(bench, 1), order(bench, 2));
    let provider = bench.start().provider;
    let before = create(bench, &*provider, &other).await?;
    // An error is as good an answer as any: only the data matters.
    let _ = provider.empty_join_data(&own.claim, &before.provider_id).await;
    let after = bench.start().provider.get(&other.claim, &before.provider_id).await?;
    ensure(after.as_ref().is_some_and(|own| own.holds_join_data == before.holds_join_data), || {
        format!("for another claim {before:?} became {after:?}")
    })
}
