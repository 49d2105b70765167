//! What the checks have in common.

use std::{sync::Arc, time::Duration};

use joiner_core::{quantity::Quantity, resources::CPU};
use tokio::time::error::Elapsed;

use super::{Bench, Mishap, Process};
use crate::{
    CloudError, CloudProvider, Deletion,
    class::class_label,
    instance::Instance,
    order::{ClaimId, Order},
};

/// Calls to its cloud that a provider may need for one piece of work. Far more than any does; a
/// provider that never comes to an end is found out.
const CALLS_MAX: u32 = 200;
/// How long a provider may take for anything. Deadlines are to be much shorter.
pub(super) const PATIENCE: Duration = Duration::from_hours(1);
/// How often a deletion is asked for, and how long apart.
pub(crate) const ASKS_MAX: u32 = 100;
pub(crate) const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Every way to be killed at a call.
pub(crate) const KILLS: [Mishap; 2] = [Mishap::KilledBefore, Mishap::KilledAfter];
/// Every way in which a call can go wrong.
pub(super) const ALL: [Mishap; 5] = [
    Mishap::KilledBefore,
    Mishap::KilledAfter,
    Mishap::NoAnswer,
    Mishap::AnswerLost,
    Mishap::Failed,
];
/// Every way in which a call can go wrong for a process that lives on.
pub(super) const TROUBLE: [Mishap; 3] = [Mishap::NoAnswer, Mishap::AnswerLost, Mishap::Failed];

/// Why a check does not hold.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

/// Whether a check holds.
pub(super) type Verdict = Result<(), Broken>;

impl From<CloudError> for Broken {
    fn from(error: CloudError) -> Self {
        Self(format!("a call with which nothing was wrong failed: {error:?}"))
    }
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Broken(otherwise())) }
}

/// The n-th order of a check.
pub(super) fn order<B: Bench>(bench: &B, number: u32) -> Order {
    const POOL: &str = "conformance";
    let claim = ClaimId {
        name: format!("{POOL}-{number}"),
        uid: format!("0b8c6a52-5a0d-4d5e-9c39-{number:012x}"),
    };
    let class = bench.class();
    let mut order = Order::plain(claim, POOL, Arc::clone(&class));
    order.labels.insert(class_label(&class.group, &class.kind), class.name.clone());
    order.requests.set(CPU, Quantity::whole(1));
    order.inputs = bench.inputs();
    order
}

/// Has an instance made, as the operator does: with what is kept for the claim, and its notebook.
pub(super) async fn create<B: Bench>(
    bench: &B,
    provider: &dyn CloudProvider,
    order: &Order,
) -> Result<Instance, CloudError> {
    provider.create(&bench.notebooks().equip(order)).await
}

/// A claim of the same name that was made later.
pub(super) fn namesake(order: &Order) -> Order {
    let uid = order.claim.uid.replacen("0b8c6a52", "7d1f03e9", 1);
    Order { claim: ClaimId { uid, ..order.claim.clone() }, ..order.clone() }
}

/// What came of work during which a call went wrong.
pub(super) struct Attempt<T> {
    /// Whether the work got as far as that call.
    pub(super) struck: bool,
    /// What it answered; none if it was killed.
    pub(super) answer: Option<T>,
}

/// Has a new process do some work while one of its calls goes wrong.
pub(super) async fn attempt<B: Bench, T>(
    bench: &B,
    mishap: Mishap,
    call: u32,
    work: impl AsyncFnOnce(&dyn CloudProvider) -> T,
) -> Result<Attempt<T>, Broken> {
    bench.arm(mishap, call);
    let answer = until_killed(bench, work).await;
    let struck = bench.disarm();
    let when = format!("{mishap:?} at call {}", call + 1);
    Ok(Attempt { struck, answer: in_time(answer, &when)? })
}

/// The same while a write of a notebook goes wrong instead of a call.
pub(super) async fn attempt_writing<B: Bench, T>(
    bench: &B,
    mishap: Mishap,
    write: u32,
    work: impl AsyncFnOnce(&dyn CloudProvider) -> T,
) -> Result<Attempt<T>, Broken> {
    bench.notebooks().arm(mishap, write);
    let answer = until_killed(bench, work).await;
    let struck = bench.notebooks().disarm();
    let when = format!("{mishap:?} at write {}", write + 1);
    Ok(Attempt { struck, answer: in_time(answer, &when)? })
}

/// Has a new process do some work until it is done, killed, or has taken too long.
async fn until_killed<B: Bench, T>(
    bench: &B,
    work: impl AsyncFnOnce(&dyn CloudProvider) -> T,
) -> Option<Result<T, Elapsed>> {
    let Process { provider, killed } = bench.start();
    tokio::select! {
        biased;
        () = killed => None,
        () = bench.notebooks().killed() => None,
        answer = tokio::time::timeout(PATIENCE, work(&*provider)) => Some(answer),
    }
}

fn in_time<T>(answer: Option<Result<T, Elapsed>>, when: &str) -> Result<Option<T>, Broken> {
    let too_long =
        |_| Broken(format!("{when}: no answer within {PATIENCE:?}; a call has no deadline"));
    answer.transpose().map_err(too_long)
}

/// Does something for the first call to the cloud, the second and so on, for each mishap, until
/// there are no more calls that could go wrong: the work says whether there was one.
pub(super) async fn at_every_call(
    mishaps: &[Mishap],
    mut work: impl AsyncFnMut(Mishap, u32) -> Result<bool, Broken>,
) -> Verdict {
    for mishap in mishaps {
        let mut call = 0;
        loop {
            let told =
                |broken: Broken| Broken(format!("{mishap:?} at call {}: {}", call + 1, broken.0));
            if !work(*mishap, call).await.map_err(told)? {
                break;
            }
            call += 1;
            ensure(call < CALLS_MAX, || {
                format!("more than {CALLS_MAX} calls for one piece of work")
            })?;
        }
    }
    Ok(())
}

/// Asks for a deletion until the instance is gone.
pub(super) async fn remove(
    provider: &dyn CloudProvider,
    claim: &ClaimId,
    provider_id: Option<&str>,
) -> Verdict {
    for _ in 0..ASKS_MAX {
        if provider.delete(claim, provider_id).await? == Deletion::Gone {
            return Ok(());
        }
        tokio::time::sleep(ASK_AGAIN_AFTER).await;
    }
    Err(Broken(format!("NodeClaim {} is not gone after {ASKS_MAX} deletions", claim.name)))
}

/// The instances of a claim, as a new process lists them.
pub(super) async fn listed<B: Bench>(bench: &B, claim: &ClaimId) -> Result<Vec<Instance>, Broken> {
    let all = bench.start().provider.list().await?.instances;
    Ok(all.into_iter().filter(|instance| instance.claim.as_ref() == Some(claim)).collect())
}

/// Checks the number of instances in the cloud, of any owner.
pub(super) async fn ensure_count<B: Bench>(bench: &B, expected: usize) -> Verdict {
    let instances = bench.instances().await;
    ensure(instances.len() == expected, || {
        format!("{} instances in the cloud instead of {expected}: {instances:?}", instances.len())
    })
}
