//! What a cloud learns from what it could not make, or lost.

use std::time::Duration;

use joiner_core::label;

use super::{
    Bench,
    work::{Verdict, create, ensure, order},
};
use crate::{CloudError, CloudProvider, choice, instance::Lost, order::Order};

/// After this time at the latest, a cloud offers again what it had no room for.
const TRIED_AGAIN_AFTER: Duration = Duration::from_hours(24);

/// What can be had now for an order, as type, zone and capacity type.
fn offered(provider: &dyn CloudProvider, order: &Order) -> Result<Vec<[String; 3]>, CloudError> {
    let types = provider.instance_types("conformance", &order.class)?;
    let well_known = provider.well_known();
    let choices = choice::every(order, &types, &well_known);
    Ok(choices.map(|choice| named(&choice.labels())).collect())
}

fn named(labels: &label::Labels) -> [String; 3] {
    [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE]
        .map(|key| labels.get(key).cloned().unwrap_or_default())
}

pub(super) async fn no_room_offered<B: Bench>(bench: &B) -> Verdict {
    let order = bench.without_room(order(bench, 1)).await;
    let provider = bench.start().provider;
    let before = offered(&*provider, &order)?;
    let answer = create(bench, &*provider, &order).await;
    ensure(matches!(answer, Err(CloudError::InsufficientCapacity(_))), || {
        format!("the answer to an order without room is {answer:?}")
    })?;
    let after = offered(&*provider, &order)?;
    ensure(after.is_empty(), || format!("there was no room, and still offered are {after:?}"))?;
    tokio::time::sleep(TRIED_AGAIN_AFTER).await;
    let later = offered(&*provider, &order)?;
    ensure(later == before, || format!("a day later {later:?} are offered instead of {before:?}"))
}

pub(super) async fn told<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let provider = bench.start().provider;
    let instance = create(bench, &*provider, &order).await?;
    let id = instance.provider_id.as_str();
    if !bench.lose(id).await {
        return Ok(());
    }
    let provider = bench.start().provider;
    let listing = provider.list().await?;
    let listed = listing.instances.iter().find(|own| own.provider_id == id);
    ensure(listed.is_none_or(|own| own.lost.is_some()), || {
        format!("{id:?} is lost, and listed as {listed:?}")
    })?;
    let found = provider.get(&order.claim, id).await?;
    let lost = found.as_ref().and_then(|own| own.lost.clone());
    ensure(found.is_none() || lost.is_some(), || format!("{id:?} is lost, and is {found:?}"))?;
    let lost = lost.unwrap_or_default();
    let failed = if lost.offering.is_empty() { instance.labels } else { lost.offering.clone() };
    let failed = named(&failed);
    provider.lost_before_it_joined(&order.class, &Lost { offering: offering(&failed), ..lost });
    let after = offered(&*provider, &order)?;
    ensure(!after.contains(&failed), || format!("{failed:?} has failed and is still offered"))
}

fn offering(named: &[String; 3]) -> label::Labels {
    let keys = [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE];
    keys.map(str::to_owned).into_iter().zip(named.clone()).collect()
}
