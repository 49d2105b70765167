//! Many instances at once, and one among many.

use futures_util::future::join_all;

use super::{
    AtOnce, Bench,
    work::{Verdict, create, ensure, order},
};

/// So many instances are asked for at once.
const AT_ONCE: u32 = 200;
/// A small cluster, and a large one.
const FEW: u32 = 100;
const MANY: u32 = 5000;

pub(super) async fn at_once<B: Bench>(bench: &B) -> Verdict {
    if bench.calls_at_once().is_none() {
        return Ok(());
    }
    let provider = bench.start().provider;
    let orders: Vec<_> = (0..AT_ONCE).map(|number| order(bench, number)).collect();
    let made = join_all(orders.iter().map(|order| create(bench, &*provider, order))).await;
    if let Some(Err(error)) = made.into_iter().find(Result::is_err) {
        return Err(error.into());
    }
    let Some(AtOnce { limit, most }) = bench.calls_at_once() else { return Ok(()) };
    ensure(most <= limit, || format!("{most} calls were under way at once, of {limit} allowed"))
}

pub(super) async fn among_many<B: Bench>(bench: &B) -> Verdict {
    if bench.calls().is_none() {
        return Ok(());
    }
    let Some(few) = calls_for_one_more(bench, 0, FEW).await? else { return Ok(()) };
    let Some(many) = calls_for_one_more(bench, FEW, MANY).await? else { return Ok(()) };
    ensure(many <= few, || {
        format!("one more instance costs {few} calls among {FEW} and {many} among {MANY}")
    })
}

/// How many calls a new process makes for one more instance, once there are so many.
async fn calls_for_one_more<B: Bench>(
    bench: &B,
    from: u32,
    to: u32,
) -> Result<Option<u64>, super::work::Broken> {
    let orders: Vec<_> = (from..to).map(|number| order(bench, number)).collect();
    bench.add_instances(&orders).await;
    let provider = bench.start().provider;
    let before = bench.calls();
    create(bench, &*provider, &order(bench, 2 * MANY + to)).await?;
    Ok(before.zip(bench.calls()).map(|(before, after)| after - before))
}
