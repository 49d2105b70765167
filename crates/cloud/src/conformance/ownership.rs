//! What is not ours is neither seen nor touched.

use super::{
    Bench,
    work::{Verdict, ensure, order, remove},
};

pub(super) async fn not_seen<B: Bench>(bench: &B) -> Verdict {
    let foreign = bench.add_foreign(&order(bench, 1)).await;
    ensure(!foreign.is_empty(), || "the bench has no machines of others".to_owned())?;
    let provider = bench.start().provider;
    let listed = provider.list().await?;
    ensure(listed.is_empty(), || format!("machines of others are listed: {listed:?}"))?;
    for id in &foreign {
        let found = provider.get(id).await?;
        ensure(found.is_none(), || format!("a machine of others is found: {found:?}"))?;
    }
    Ok(())
}

pub(super) async fn not_touched<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let foreign = bench.add_foreign(&order).await;
    let before = bench.machines().await;
    ensure(foreign.iter().all(|id| before.contains_key(id)), || {
        format!("the bench says that {foreign:?} are there and has {before:?}")
    })?;
    let provider = bench.start().provider;
    // That a name is taken may be told; that a machine of others is taken over may not be.
    if let Ok(machine) = provider.create(&order).await {
        ensure(!before.contains_key(&machine.provider_id), || {
            format!("{:?} was taken over from others", machine.provider_id)
        })?;
    }
    for id in &foreign {
        // Whatever it answers.
        let _ = provider.delete(&order.claim, Some(id)).await;
    }
    remove(&*provider, &order.claim, None).await?;
    let after = bench.machines().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))
}
