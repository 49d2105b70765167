//! What a creation has written down is where the next one goes on.

use super::{
    Bench, Mishap,
    work::{
        ALL, Verdict, at_every_call, attempt_writing, create, ensure, ensure_count, listed, order,
        remove,
    },
};

pub(super) async fn found_again<B: Bench>(bench: &B) -> Verdict {
    at_every_call(&ALL, async |mishap: Mishap, write| {
        let order = order(bench, write);
        let tried = attempt_writing(bench, mishap, write, async |provider| {
            create(bench, provider, &order).await
        });
        let struck = tried.await?.struck;
        let written = bench.notebooks().kept(&order.claim);
        let provider = bench.start().provider;
        let instance = create(bench, &*provider, &order).await?;
        let now = bench.notebooks().kept(&order.claim);
        let stays = written.iter().all(|(key, value)| now.get(key) == Some(value));
        ensure(stays, || format!("{written:?} was written first, then {now:?} instead of it"))?;
        ensure_count(bench, 1).await?;
        let known = listed(bench, &order.claim).await?;
        ensure(known.len() == 1, || format!("the claim has {} instances", known.len()))?;
        remove(&*provider, &order.claim, Some(&instance.provider_id)).await?;
        ensure_count(bench, 0).await?;
        Ok(struck)
    })
    .await
}
