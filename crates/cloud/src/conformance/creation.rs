//! Machines are made once for each claim, however often they are asked for.

use joiner_core::{label, requirement::Requirements};

use super::{
    Bench, Mishap,
    work::{
        KILLS, Verdict, at_every_call, attempt, ensure, ensure_count, listed, namesake, order,
        remove,
    },
};
use crate::{CloudError, machine::Machine, order::Order};

fn is_the_claims(machine: &Machine, order: &Order) -> Verdict {
    ensure(machine.claim.as_ref() == Some(&order.claim), || {
        format!("the machine of {:?} says that it was made for {:?}", order.claim, machine.claim)
    })
}

fn is_same(what: &str, machine: &Machine, other: &Machine) -> Verdict {
    ensure(machine.provider_id == other.provider_id, || {
        format!("{what} is {:?} instead of {:?}", other.provider_id, machine.provider_id)
    })
}

pub(super) async fn as_ordered<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let machine = provider.create(&order).await?;
    is_the_claims(&machine, &order)?;
    ensure(!machine.provider_id.is_empty(), || "the machine has no name".to_owned())?;
    ensure(!machine.deleting, || "a new machine is being destroyed".to_owned())?;
    ensure(order.requests.fits(&machine.allocatable), || {
        format!("{} was asked for and {} is offered", order.requests, machine.allocatable)
    })?;
    let types = provider.instance_types("conformance", &order.class)?;
    let chosen = machine.labels.get(label::INSTANCE_TYPE);
    let own = types.iter().find(|own| Some(&own.name) == chosen);
    let Some(own) = own else {
        return ensure(false, || format!("there is no instance type {chosen:?}"));
    };
    let labels = Requirements::from_labels(&machine.labels);
    for key in [label::ZONE, label::CAPACITY_TYPE] {
        ensure(machine.labels.contains_key(key), || format!("the machine has no label {key}"))?;
    }
    if let Err(other) = own.requirements.intersects(&labels) {
        return ensure(false, || format!("the machine's labels are not its type's: {other:?}"));
    }
    let found = provider.get(&machine.provider_id).await?;
    let Some(found) = found else {
        return ensure(false, || format!("{:?} is not found again", machine.provider_id));
    };
    is_the_claims(&found, &order)?;
    ensure(found.labels == machine.labels, || {
        format!("the labels were {:?} and are {:?} now", machine.labels, found.labels)
    })?;
    ensure_count(bench, 1).await
}

pub(super) async fn again<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let machine = provider.create(&order).await?;
    is_same("the second machine", &machine, &provider.create(&order).await?)?;
    let after_restart = bench.start().provider.create(&order).await?;
    is_same("the machine after a restart", &machine, &after_restart)?;
    ensure_count(bench, 1).await
}

pub(super) async fn at_once<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let (one, other) = (bench.start().provider, bench.start().provider);
    // Either may be told to try again; that there are two machines is nobody's wish.
    let _ = tokio::join!(one.create(&order), other.create(&order));
    ensure_count(bench, 1).await?;
    is_the_claims(&one.create(&order).await?, &order)?;
    ensure_count(bench, 1).await
}

pub(super) async fn same_name<B: Bench>(bench: &B) -> Verdict {
    let first = order(bench, 1);
    let later = namesake(&first);
    let provider = bench.start().provider;
    let machine = provider.create(&first).await?;
    if let Ok(other) = provider.create(&later).await {
        is_the_claims(&other, &later)?;
        ensure(other.provider_id != machine.provider_id, || {
            format!("{:?} belongs to two claims", machine.provider_id)
        })?;
    }
    remove(&*provider, &later.claim, None).await?;
    let left = provider.get(&machine.provider_id).await?;
    ensure(left.is_some(), || "the machine of the first claim is gone".to_owned())?;
    is_same("the machine of the first claim", &machine, &provider.create(&first).await?)
}

/// Kills a creation at each of its calls in turn.
async fn after_every_kill<B: Bench>(bench: &B, then: impl AsyncFn(&Order) -> Verdict) -> Verdict {
    let mut number = 0;
    at_every_call(&KILLS, async |mishap: Mishap, call| {
        number += 1;
        let order = order(bench, number);
        let tried = attempt(bench, mishap, call, async |provider| provider.create(&order).await);
        let struck = tried.await?.struck;
        let left = bench.machines().await;
        ensure(left.len() <= 1, || format!("several machines were made: {left:?}"))?;
        let known = listed(bench, &order.claim).await?;
        ensure(known.len() == left.len(), || {
            format!("of {left:?}, {} carry the claim's mark", known.len())
        })?;
        then(&order).await?;
        ensure_count(bench, 0).await?;
        Ok(struck)
    })
    .await
}

pub(super) async fn killed<B: Bench>(bench: &B) -> Verdict {
    after_every_kill(bench, async |order| {
        let provider = bench.start().provider;
        let machine = provider.create(order).await?;
        is_the_claims(&machine, order)?;
        ensure_count(bench, 1).await?;
        remove(&*provider, &order.claim, Some(&machine.provider_id)).await
    })
    .await
}

pub(super) async fn killed_for_good<B: Bench>(bench: &B) -> Verdict {
    after_every_kill(bench, async |order| {
        remove(&*bench.start().provider, &order.claim, None).await
    })
    .await
}

pub(super) async fn no_room<B: Bench>(bench: &B) -> Verdict {
    let order = bench.without_room(order(bench, 1)).await;
    let before = bench.machines().await;
    let provider = bench.start().provider;
    let answer = provider.create(&order).await;
    ensure(matches!(answer, Err(CloudError::InsufficientCapacity(_))), || {
        format!("the answer to an order without room is {answer:?}")
    })?;
    let after = bench.machines().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    remove(&*provider, &order.claim, None).await
}
