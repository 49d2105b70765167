//! What is not ours is neither seen nor touched.

use std::collections::BTreeMap;

use super::{
    Bench,
    work::{Verdict, ensure, namesake, order, remove},
};
use crate::{adoption::Adoption, machine::Machine, order::ClaimId};

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

/// People clone machines, restore backups and register what is there twice. Whatever marks a machine
/// is copied with it, so the mark alone does not tell a machine from its copy.
pub(super) async fn copies<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let machine = provider.create(&order).await?;
    let copy = bench.add_copy(&machine.provider_id).await;
    let before = bench.machines().await;
    ensure(before.contains_key(&copy) && copy != machine.provider_id, || {
        format!("the bench says that {copy:?} is a copy of {:?}", machine.provider_id)
    })?;
    for provider in [&provider, &bench.start().provider] {
        let listed = provider.list().await?;
        ensure(listed.iter().all(|own| own.provider_id == machine.provider_id), || {
            format!("a copy is listed: {listed:?}")
        })?;
        ensure(listed.len() == 1, || format!("the machine is listed {} times", listed.len()))?;
        let found = provider.get(&copy).await?;
        ensure(found.is_none(), || format!("a copy is found: {found:?}"))?;
        let again = provider.create(&order).await?;
        ensure(again.provider_id == machine.provider_id, || {
            format!("{:?} is the claim's instead of its machine", again.provider_id)
        })?;
    }
    let as_machine = Machine { provider_id: copy.clone(), ..Machine::default() };
    let by = Adoption { claim: order.claim.clone(), ..Adoption::default() };
    // Whatever these answer.
    let _ = provider.adopt(&as_machine, &by).await;
    for claim in [&order.claim, &ClaimId::default()] {
        let _ = provider.empty_join_data(claim, &copy).await;
        let _ = provider.delete(claim, Some(&copy)).await;
    }
    let after = bench.machines().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    // The machine goes, and its copy is not the machine then either.
    remove(&*provider, &order.claim, Some(&machine.provider_id)).await?;
    let provider = bench.start().provider;
    remove(&*provider, &order.claim, None).await?;
    let listed = provider.list().await?;
    ensure(listed.is_empty(), || format!("a copy is listed without its machine: {listed:?}"))?;
    if let Ok(next) = provider.create(&order).await {
        ensure(next.provider_id != copy, || format!("{copy:?} was taken for the claim's machine"))?;
        remove(&*provider, &order.claim, Some(&next.provider_id)).await?;
    }
    let left: BTreeMap<_, _> =
        before.into_iter().filter(|(id, _)| *id != machine.provider_id).collect();
    let after = bench.machines().await;
    ensure(after == left, || format!("of the copy {left:?} there is {after:?}"))
}

pub(super) async fn of_same_name<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let machine = bench.start().provider.create(&order).await?;
    let id = machine.provider_id.as_str();
    let before = bench.machines().await;
    let Some(elsewhere) = bench.start_elsewhere() else { return Ok(()) };
    let provider = elsewhere.provider;
    let listed = provider.list().await?;
    ensure(listed.is_empty(), || format!("instances of a namesake are listed: {listed:?}"))?;
    let found = provider.get(id).await?;
    ensure(found.is_none(), || format!("an instance of a namesake is found: {found:?}"))?;
    // Whatever is answered, nothing of it may change.
    let theirs = namesake(&order);
    let adoption = Adoption { claim: theirs.claim.clone(), ..Adoption::default() };
    let _ = provider.adopt(&machine, &adoption).await;
    for claim in [&order.claim, &theirs.claim] {
        let _ = provider.empty_join_data(claim, id).await;
        let _ = provider.delete(claim, Some(id)).await;
        let _ = remove(&*provider, claim, None).await;
    }
    if let Ok(made) = provider.create(&theirs).await {
        remove(&*provider, &theirs.claim, Some(&made.provider_id)).await?;
    }
    let after = bench.machines().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    let left = bench.start().provider.list().await?;
    ensure(left.len() == 1, || format!("its own cluster lists {left:?}"))
}
