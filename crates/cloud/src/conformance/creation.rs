//! Instances are made once for each claim, however often they are asked for.

use joiner_core::{label, requirement::Requirements};

use super::{
    Bench, Mishap,
    work::{
        KILLS, Verdict, at_every_call, attempt, create, ensure, ensure_count, listed, namesake,
        order, remove,
    },
};
use crate::{CloudError, instance::Instance, order::Order};

fn is_the_claims(instance: &Instance, order: &Order) -> Verdict {
    ensure(instance.claim.as_ref() == Some(&order.claim), || {
        format!("the instance of {:?} says that it was made for {:?}", order.claim, instance.claim)
    })
}

fn is_same(what: &str, instance: &Instance, other: &Instance) -> Verdict {
    ensure(instance.provider_id == other.provider_id, || {
        format!("{what} is {:?} instead of {:?}", other.provider_id, instance.provider_id)
    })
}

pub(super) async fn as_ordered<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &order).await?;
    is_the_claims(&instance, &order)?;
    ensure(!instance.provider_id.is_empty(), || "the instance has no name".to_owned())?;
    ensure(!instance.deleting, || "a new instance is being destroyed".to_owned())?;
    ensure(order.requests.fits(&instance.allocatable), || {
        format!("{} was asked for and {} is offered", order.requests, instance.allocatable)
    })?;
    let types = provider.instance_types("conformance", &order.class)?;
    let chosen = instance.labels.get(label::INSTANCE_TYPE);
    let own = types.iter().find(|own| Some(&own.name) == chosen);
    let Some(own) = own else {
        return ensure(false, || format!("there is no instance type {chosen:?}"));
    };
    let labels = Requirements::from_labels(&instance.labels);
    for key in [label::ZONE, label::CAPACITY_TYPE] {
        ensure(instance.labels.contains_key(key), || format!("the instance has no label {key}"))?;
    }
    if let Err(other) = own.requirements.intersects(&labels) {
        return ensure(false, || format!("the instance's labels are not its type's: {other:?}"));
    }
    let found = provider.get(&order.claim, &instance.provider_id).await?;
    let Some(found) = found else {
        return ensure(false, || format!("{:?} is not found again", instance.provider_id));
    };
    is_the_claims(&found, &order)?;
    ensure(found.labels == instance.labels, || {
        format!("the labels were {:?} and are {:?} now", instance.labels, found.labels)
    })?;
    ensure_count(bench, 1).await
}

pub(super) async fn again<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &order).await?;
    is_same("the second instance", &instance, &create(bench, &*provider, &order).await?)?;
    let after_restart = create(bench, &*bench.start().provider, &order).await?;
    is_same("the instance after a restart", &instance, &after_restart)?;
    ensure_count(bench, 1).await
}

pub(super) async fn at_once<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let (one, other) = (bench.start().provider, bench.start().provider);
    // Either call may fail and be repeated, but only one instance may exist.
    let _ = tokio::join!(create(bench, &*one, &order), create(bench, &*other, &order));
    ensure_count(bench, 1).await?;
    is_the_claims(&create(bench, &*one, &order).await?, &order)?;
    ensure_count(bench, 1).await
}

pub(super) async fn same_name<B: Bench>(bench: &B) -> Verdict {
    let first = order(bench, 1);
    let later = namesake(&first);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &first).await?;
    if let Ok(other) = create(bench, &*provider, &later).await {
        is_the_claims(&other, &later)?;
        ensure(other.provider_id != instance.provider_id, || {
            format!("{:?} belongs to two claims", instance.provider_id)
        })?;
    }
    remove(&*provider, &later.claim, None).await?;
    let left = provider.get(&first.claim, &instance.provider_id).await?;
    ensure(left.is_some(), || "the instance of the first claim is gone".to_owned())?;
    is_same("the instance of the first claim", &instance, &create(bench, &*provider, &first).await?)
}

/// Kills a creation at each of its calls in turn.
async fn after_every_kill<B: Bench>(bench: &B, then: impl AsyncFn(&Order) -> Verdict) -> Verdict {
    let mut number = 0;
    at_every_call(&KILLS, async |mishap: Mishap, call| {
        number += 1;
        let order = order(bench, number);
        let tried =
            attempt(bench, mishap, call, async |provider| create(bench, provider, &order).await);
        let struck = tried.await?.struck;
        let left = bench.instances().await;
        ensure(left.len() <= 1, || format!("several instances were made: {left:?}"))?;
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
        let instance = create(bench, &*provider, order).await?;
        is_the_claims(&instance, order)?;
        ensure_count(bench, 1).await?;
        remove(&*provider, &order.claim, Some(&instance.provider_id)).await
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
    let before = bench.instances().await;
    let provider = bench.start().provider;
    let answer = create(bench, &*provider, &order).await;
    ensure(matches!(answer, Err(CloudError::InsufficientCapacity(_))), || {
        format!("the answer to an order without room is {answer:?}")
    })?;
    let after = bench.instances().await;
    ensure(after == before, || format!("{before:?} became {after:?}"))?;
    remove(&*provider, &order.claim, None).await
}
