//! Changes in place may be interrupted anywhere.

use super::{
    Bench, Mishap,
    work::{ALL, ASKS_MAX, Verdict, at_every_call, attempt, create, ensure, order},
};
use crate::{CloudError, progress::Progress};

pub(super) async fn until_done<B: Bench>(bench: &B) -> Verdict {
    let Some(class) = bench.changed_class() else { return Ok(()) };
    let mut number = 0;
    at_every_call(&ALL, async |mishap: Mishap, call| {
        number += 1;
        let order = order(bench, number);
        let instance = create(bench, &*bench.start().provider, &order).await?;
        let id = instance.provider_id.as_str();
        let tried =
            attempt(bench, mishap, call, async |provider| provider.update(&instance, &class).await);
        let tried = tried.await?;
        let mut is_done = matches!(tried.answer, Some(Ok(Progress::Done(_))));
        for _ in 0..ASKS_MAX {
            if is_done {
                break;
            }
            match bench.start().provider.update(&instance, &class).await {
                Ok(Progress::Done(_)) => is_done = true,
                Ok(Progress::NotYet(wait)) => tokio::time::sleep(wait).await,
                Err(CloudError::Unknown(_)) => {}
                Err(other) => return Err(other.into()),
            }
        }
        ensure(is_done, || format!("{id:?} is not updated after {ASKS_MAX} tries"))?;
        ensure(bench.is_up_to_date(id, &class).await, || {
            format!("{id:?} is said to be updated and is not")
        })?;
        Ok(tried.struck)
    })
    .await
}
