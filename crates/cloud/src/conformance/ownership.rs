//! Foreign instances are neither listed nor changed.

use std::collections::BTreeMap;

use super::{
    Bench,
    work::{Verdict, create, ensure, namesake, order, remove},
};
use crate::{adoption::Adoption, instance::Instance, order::ClaimId};

pub(super) async fn not_seen<B: Bench>(bench: &B) -> Verdict {
    let foreign = bench.add_foreign(&order(bench, 1)).await;
    ensure(!foreign.is_empty(), || "the bench has no instances of others".to_owned())?;
    let provider = bench.start().provider;
    let listed = provider.list().await?.instances;
    ensure(listed.is_empty(), || format!("instances of others are listed: {listed:?}"))?;
    for id in &foreign {
        let found = provider.get(&ClaimId::default(), id).await?;
        ensure(found.is_none(), || format!("an instance of others is found: {found:?}"))?;
    }
    Ok(())
}

pub(super) async fn not_touched<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let foreign = bench.add_foreign(&order).await;
    let before = bench.instances().await;
    ensure(foreign.iter().all(|id| before.contains_key(id)), || {
        format!("the bench says that {foreign:?} are there and has {before:?}")
    })?;
    let provider = bench.start().provider;
    // An error about the taken name is allowed. Taking over the foreign instance is not.
    if let Ok(instance) = create(bench, &*provider, &order).await {
        ensure(!before.contains_key(&instance.provider_id), || {
            format!("{:?} was taken over from others", instance.provider_id)
        })?;
    }
    for id in &foreign {
        // Any answer is allowed.
        let _ = provider.delete(&order.claim, Some(id)).await;
    }
    remove(&*provider, &order.claim, None).await?;
    let after = bench.instances().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))
}

/// Users clone instances, restore backups and register instances twice. The mark is copied too, so
/// the mark alone does not distinguish an instance from its copy.
pub(super) async fn copies<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &order).await?;
    let copy = bench.add_copy(&instance.provider_id).await;
    let before = bench.instances().await;
    ensure(before.contains_key(&copy) && copy != instance.provider_id, || {
        format!("the bench says that {copy:?} is a copy of {:?}", instance.provider_id)
    })?;
    for provider in [&provider, &bench.start().provider] {
        let listed = provider.list().await?.instances;
        ensure(listed.iter().all(|own| own.provider_id == instance.provider_id), || {
            format!("a copy is listed: {listed:?}")
        })?;
        ensure(listed.len() == 1, || format!("the instance is listed {} times", listed.len()))?;
        let found = provider.get(&order.claim, &copy).await?;
        ensure(found.is_none(), || format!("a copy is found: {found:?}"))?;
        let again = create(bench, &**provider, &order).await?;
        ensure(again.provider_id == instance.provider_id, || {
            format!("{:?} is the claim's instead of its instance", again.provider_id)
        })?;
    }
    let as_instance = Instance { provider_id: copy.clone(), ..Instance::default() };
    let by = Adoption { claim: order.claim.clone(), ..Adoption::default() };
    // Any answers are allowed.
    let _ = provider.adopt(&as_instance, &by).await;
    for claim in [&order.claim, &ClaimId::default()] {
        let _ = provider.empty_join_data(claim, &copy).await;
        let _ = provider.delete(claim, Some(&copy)).await;
    }
    let after = bench.instances().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    // The instance goes, and its copy is not the instance then either.
    remove(&*provider, &order.claim, Some(&instance.provider_id)).await?;
    let provider = bench.start().provider;
    remove(&*provider, &order.claim, None).await?;
    let listed = provider.list().await?.instances;
    ensure(listed.is_empty(), || format!("a copy is listed without its instance: {listed:?}"))?;
    if let Ok(next) = create(bench, &*provider, &order).await {
        ensure(next.provider_id != copy, || {
            format!("{copy:?} was taken for the claim's instance")
        })?;
        remove(&*provider, &order.claim, Some(&next.provider_id)).await?;
    }
    let left: BTreeMap<_, _> =
        before.into_iter().filter(|(id, _)| *id != instance.provider_id).collect();
    let after = bench.instances().await;
    ensure(after == left, || format!("of the copy {left:?} there is {after:?}"))
}

pub(super) async fn of_same_name<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let instance = create(bench, &*bench.start().provider, &order).await?;
    let id = instance.provider_id.as_str();
    let before = bench.instances().await;
    let Some(elsewhere) = bench.start_elsewhere() else { return Ok(()) };
    let provider = elsewhere.provider;
    let listed = provider.list().await?.instances;
    ensure(listed.is_empty(), || format!("instances of a namesake are listed: {listed:?}"))?;
    let found = provider.get(&ClaimId::default(), id).await?;
    ensure(found.is_none(), || format!("an instance of a namesake is found: {found:?}"))?;
    // Any answer is allowed, but the foreign instance must stay unchanged.
    let theirs = namesake(&order);
    let adoption = Adoption { claim: theirs.claim.clone(), ..Adoption::default() };
    let _ = provider.adopt(&instance, &adoption).await;
    for claim in [&order.claim, &theirs.claim] {
        let _ = provider.empty_join_data(claim, id).await;
        let _ = provider.delete(claim, Some(id)).await;
        let _ = remove(&*provider, claim, None).await;
    }
    if let Ok(made) = create(bench, &*provider, &theirs).await {
        remove(&*provider, &theirs.claim, Some(&made.provider_id)).await?;
    }
    let after = bench.instances().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    let left = bench.start().provider.list().await?.instances;
    ensure(left.len() == 1, || format!("its own cluster lists {left:?}"))
}
