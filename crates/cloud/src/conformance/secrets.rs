//! Errors, notes and what is printed for debugging end up in logs and events.

use super::{
    Bench, Mishap,
    work::{TROUBLE, Verdict, at_every_call, attempt, create, ensure, order, remove},
};

pub(super) async fn unprinted<B: Bench>(bench: &B) -> Verdict {
    let secrets = bench.secrets();
    let check = |printed: &str| {
        let told = secrets.iter().find(|secret| printed.contains(secret.as_str()));
        // The secret itself is not repeated here either.
        ensure(told.is_none(), || {
            let text = told.map(|secret| printed.replace(secret.as_str(), "<secret>"));
            format!("a secret is printed: {}", text.unwrap_or_default())
        })
    };
    at_every_call(&TROUBLE, async |mishap: Mishap, call| {
        let order = order(bench, call + 1);
        let tried = attempt(bench, mishap, call, async |provider| {
            let answer = create(bench, provider, &order).await;
            let told = provider.notes().map(crate::notes::Notes::unread_now).unwrap_or_default();
            let named = answer.as_ref().err().map(ToString::to_string);
            format!("{provider:?} {order:?} {answer:?} {named:?} {told:?}")
        });
        let tried = tried.await?;
        check(tried.answer.as_deref().unwrap_or_default())?;
        let provider = bench.start().provider;
        remove(&*provider, &order.claim, None).await?;
        Ok(tried.struck)
    })
    .await?;
    let full = bench.without_room(order(bench, 0)).await;
    let answer = create(bench, &*bench.start().provider, &full).await;
    check(&format!("{answer:?} {full:?}"))
}
