//! Clouds give ids of removed instances again. The mark says whose an instance is, not its id.

use super::{
    Bench,
    work::{Verdict, create, ensure, order, remove},
};
use crate::Deletion;

pub(super) async fn id_used_again<B: Bench>(bench: &B) -> Verdict {
    let (first, second) = (order(bench, 1), order(bench, 2));
    let provider = bench.start().provider;
    let id = create(bench, &*provider, &first).await?.provider_id;
    remove(&*provider, &first.claim, Some(&id)).await?;
    if !bench.give_id_again(&id, &second).await {
        return Ok(());
    }
    for provider in [provider, bench.start().provider] {
        let found = provider.get(&first.claim, &id).await?;
        ensure(found.is_none(), || format!("{id:?} is still the removed instance: {found:?}"))?;
        let answer = provider.delete(&first.claim, Some(&id)).await?;
        ensure(answer == Deletion::Gone, || {
            format!("the deletion of the removed instance is {answer:?}")
        })?;
        let found = provider.get(&second.claim, &id).await?;
        ensure(found.is_some_and(|found| !found.deleting), || {
            format!("{id:?} is not the instance of its new claim")
        })?;
    }
    Ok(())
}
