//! A cloud that does not answer has said nothing.

use super::{
    Bench, Mishap,
    work::{TROUBLE, Verdict, at_every_call, attempt, create, ensure, ensure_count, order, remove},
};
use crate::{CloudError, Deletion};

pub(super) async fn creation<B: Bench>(bench: &B) -> Verdict {
    at_every_call(&TROUBLE, async |mishap: Mishap, call| {
        let order = order(bench, call);
        let tried =
            attempt(bench, mishap, call, async |provider| create(bench, provider, &order).await)
                .await?;
        match &tried.answer {
            Some(Ok(_) | Err(CloudError::Unknown(_) | CloudError::Create { .. })) => {}
            other => ensure(false, || format!("the claim would be given up for {other:?}"))?,
        }
        let provider = bench.start().provider;
        let instance = create(bench, &*provider, &order).await?;
        if let Some(Ok(first)) = &tried.answer {
            ensure(first.provider_id == instance.provider_id, || {
                format!("{:?} was answered, then {:?}", first.provider_id, instance.provider_id)
            })?;
        }
        ensure_count(bench, 1).await?;
        remove(&*provider, &order.claim, Some(&instance.provider_id)).await?;
        Ok(tried.struck)
    })
    .await
}

pub(super) async fn deletion<B: Bench>(bench: &B) -> Verdict {
    for by_name in [true, false] {
        at_every_call(&TROUBLE, async |mishap: Mishap, call| {
            let order = order(bench, call);
            let instance = create(bench, &*bench.start().provider, &order).await?;
            let id = by_name.then_some(instance.provider_id.as_str());
            let tried = attempt(bench, mishap, call, async |provider| {
                provider.delete(&order.claim, id).await
            })
            .await?;
            let is_there = bench.instances().await.contains_key(&instance.provider_id);
            match &tried.answer {
                Some(Ok(Deletion::Requested) | Err(CloudError::Unknown(_))) => {}
                Some(Ok(Deletion::Gone)) => {
                    ensure(!is_there, || {
                        "an instance that is there is said to be gone".to_owned()
                    })?;
                }
                other => ensure(false, || format!("the answer is {other:?}"))?,
            }
            remove(&*bench.start().provider, &order.claim, id).await?;
            ensure_count(bench, 0).await?;
            Ok(tried.struck)
        })
        .await?;
    }
    Ok(())
}

pub(super) async fn question<B: Bench>(bench: &B) -> Verdict {
    let order = order(bench, 1);
    let instance = create(bench, &*bench.start().provider, &order).await?;
    let id = instance.provider_id.as_str();
    at_every_call(&TROUBLE, async |mishap: Mishap, call| {
        let tried =
            attempt(bench, mishap, call, async |provider| provider.get(&order.claim, id).await)
                .await?;
        match &tried.answer {
            Some(Ok(Some(found))) => ensure(found.provider_id == id, || {
                format!("{:?} is found instead of {id:?}", found.provider_id)
            })?,
            Some(Err(CloudError::Unknown(_))) => {}
            other => {
                ensure(false, || format!("the answer for an instance that is there is {other:?}"))?;
            }
        }
        Ok(tried.struck)
    })
    .await
}
