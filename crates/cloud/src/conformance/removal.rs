//! Instances are removed once, and only those that are meant.

use super::{
    Bench, Mishap,
    work::{
        KILLS, Verdict, at_every_call, attempt, create, ensure, ensure_count, listed, order, remove,
    },
};
use crate::Deletion;

pub(super) async fn again<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &order).await?;
    let id = Some(instance.provider_id.as_str());
    provider.delete(&order.claim, id).await?;
    provider.delete(&order.claim, id).await?;
    remove(&*bench.start().provider, &order.claim, id).await?;
    ensure_count(bench, 0).await?;
    let answer = bench.start().provider.delete(&order.claim, id).await?;
    ensure(answer == Deletion::Gone, || format!("the deletion of what is gone is {answer:?}"))?;
    let found = provider.get(&order.claim, &instance.provider_id).await?;
    ensure(found.is_none(), || format!("what is gone is found: {found:?}"))?;
    let left = listed(bench, &order.claim).await?;
    ensure(left.is_empty(), || format!("what is gone is listed: {left:?}"))
}

pub(super) async fn by_claim<B: Bench>(bench: &B) -> Verdict {
    let (own, other) = (order(bench, 1), order(bench, 2));
    let provider = bench.start().provider;
    create(bench, &*provider, &own).await?;
    let stays = create(bench, &*provider, &other).await?;
    remove(&*bench.start().provider, &own.claim, None).await?;
    ensure_count(bench, 1).await?;
    let left = provider.get(&other.claim, &stays.provider_id).await?;
    ensure(left.is_some(), || "the instance of another claim was removed".to_owned())
}

pub(super) async fn never_was<B: Bench>(bench: &B) -> Verdict {
    let (own, other) = (order(bench, 1), order(bench, 2));
    let provider = bench.start().provider;
    let stays = create(bench, &*provider, &other).await?;
    let answer = provider.delete(&own.claim, None).await?;
    ensure(answer == Deletion::Gone, || {
        format!("the deletion for a claim that never had an instance is {answer:?}")
    })?;
    // As a name that the provider could have given, and as one that it could not.
    let unlike = format!("{}-that-never-was", stays.provider_id);
    for id in [unlike.as_str(), "elsewhere://never-was", ""] {
        let answer = provider.delete(&own.claim, Some(id)).await?;
        ensure(answer == Deletion::Gone, || format!("the deletion of {id:?} is {answer:?}"))?;
        let found = provider.get(&own.claim, id).await?;
        ensure(found.is_none(), || format!("{id:?} is found: {found:?}"))?;
    }
    ensure_count(bench, 1).await
}

pub(super) async fn of_another_claim<B: Bench>(bench: &B) -> Verdict {
    let (own, other) = (order(bench, 1), order(bench, 2));
    let provider = bench.start().provider;
    let stays = create(bench, &*provider, &other).await?;
    // An error is as good an answer as any: only the instance matters.
    let _ = provider.delete(&own.claim, Some(&stays.provider_id)).await;
    ensure_count(bench, 1).await?;
    let left = provider.get(&other.claim, &stays.provider_id).await?;
    ensure(left.is_some_and(|left| !left.deleting), || {
        format!("{:?} was removed for another claim", stays.provider_id)
    })
}

pub(super) async fn killed<B: Bench>(bench: &B) -> Verdict {
    for by_name in [true, false] {
        at_every_call(&KILLS, async |mishap: Mishap, call| {
            let order = order(bench, call);
            let instance = create(bench, &*bench.start().provider, &order).await?;
            let id = by_name.then_some(instance.provider_id.as_str());
            let tried = attempt(bench, mishap, call, async |provider| {
                provider.delete(&order.claim, id).await
            });
            let struck = tried.await?.struck;
            remove(&*bench.start().provider, &order.claim, id).await?;
            ensure_count(bench, 0).await?;
            Ok(struck)
        })
        .await?;
    }
    Ok(())
}
