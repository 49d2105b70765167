//! Shapes of tests: crashes, faults, and load.
//!
//! A cloud's tests make a [`Scene`] of a simulated cloud and name the calls and faults of that cloud;
//! what is done and what must hold is here. A test that fails panics.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_clock::Clock;

use super::mishaps::Mishaps;
use crate::{
    CloudError, CloudProvider, Deletion,
    conformance::{
        Mishap,
        work::{ASK_AGAIN_AFTER, ASKS_MAX, KILLS},
    },
    instance::Instance,
    order::{ClaimId, Order},
};

/// A simulated cloud with providers that use it.
#[async_trait(?Send)]
pub trait Scene {
    /// A provider in a process that has just started.
    fn provider(&self) -> Arc<dyn CloudProvider>;

    /// What goes wrong between its providers and the cloud.
    fn mishaps(&self) -> &Mishaps;

    /// The clock of providers and cloud.
    fn clock(&self) -> &Clock;

    /// The order of a claim by its number.
    fn order(&self, number: u32) -> Order;

    /// Every instance in the cloud, by its provider id.
    async fn instances(&self) -> BTreeMap<String, String>;

    /// Panics unless the instance of an order runs.
    async fn check_runs(&self, order: &Order);
}

/// Kills the creation of an order at a call, before or after the call took effect.
pub async fn kill_creation(scene: &impl Scene, order: &Order, mishap: Mishap, call: &'static str) {
    scene.mishaps().arm_at(mishap, call);
    let provider = scene.provider();
    let answer = scene.mishaps().until_killed(provider.create(order)).await;
    assert!(answer.is_none(), "{mishap:?} at {call}: the process lives: {answer:?}");
}

/// A new process creates the order, and there is one instance, which runs.
pub async fn create_again(scene: &impl Scene, order: &Order) -> Instance {
    let created = scene.provider().create(order).await;
    let instance = created.expect("nothing is wrong any more");
    assert_eq!(instance.claim.as_ref(), Some(&order.claim));
    let all = scene.instances().await;
    assert_eq!(all.len(), 1, "{all:?}");
    scene.check_runs(order).await;
    instance
}

/// Asks for a deletion until the instance is gone.
pub async fn remove(
    provider: &dyn CloudProvider,
    clock: &Clock,
    claim: &ClaimId,
    provider_id: Option<&str>,
) {
    let mut asked = 0;
    while provider.delete(claim, provider_id).await.expect("it answers") != Deletion::Gone {
        asked += 1;
        assert!(asked < ASKS_MAX, "{} is not gone", claim.name);
        clock.sleep(ASK_AGAIN_AFTER).await;
    }
}

/// A new process removes the instance of an order, and nothing is left.
pub async fn remove_all(scene: &impl Scene, order: &Order, provider_id: Option<&str>) {
    remove(&*scene.provider(), scene.clock(), &order.claim, provider_id).await;
    assert_eq!(scene.instances().await.len(), 0);
}

/// Crash sweep: kills the creation of the first order at each of these calls, before and after the
/// call took effect, and has a new process create it. `then` checks what is the cloud's own.
pub async fn crash_sweep<S: Scene>(
    scene: impl Fn() -> S,
    calls: &[&'static str],
    then: impl AsyncFn(&S, &str),
) {
    for call in calls {
        for mishap in KILLS {
            let scene = scene();
            let order = scene.order(1);
            kill_creation(&scene, &order, mishap, call).await;
            create_again(&scene, &order).await;
            then(&scene, &format!("{mishap:?} at {call}")).await;
        }
    }
}

/// The claim of a creation that was killed at a call is deleted: nothing is left, also later.
pub async fn deleted_after_a_crash(scene: &impl Scene, call: &'static str) {
    let order = scene.order(1);
    kill_creation(scene, &order, Mishap::KilledAfter, call).await;
    remove_all(scene, &order, None).await;
    scene.clock().sleep(Duration::from_hours(1)).await;
    let left = scene.instances().await;
    assert_eq!(left.len(), 0, "nothing comes after it was said to be gone: {left:?}");
}

/// The claim is deleted while the same process makes its instance: nothing is left.
pub async fn deleted_meanwhile(scene: &impl Scene) {
    let (order, provider) = (scene.order(1), scene.provider());
    let creation = provider.create(&order);
    let deletion = async {
        scene.clock().sleep(Duration::from_secs(2)).await;
        remove(&*provider, scene.clock(), &order.claim, None).await;
    };
    // The creation may succeed or fail: the instance is removed in both cases.
    let _ = tokio::join!(creation, deletion);
    scene.clock().sleep(Duration::from_hours(1)).await;
    remove_all(scene, &order, None).await;
}

/// The claim is gone when a process starts after a crash: a list names the instance and its claim.
pub async fn orphaned_by_a_crash(scene: &impl Scene, call: &'static str) {
    let order = scene.order(1);
    kill_creation(scene, &order, Mishap::KilledAfter, call).await;
    scene.clock().sleep(Duration::from_hours(8)).await;
    let listed = scene.provider().list().await.expect("nothing is wrong");
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].claim.as_ref(), Some(&order.claim), "the mark names the claim");
    remove_all(scene, &order, Some(&listed[0].provider_id)).await;
}

/// Two processes create the same order, the second one `delay` later: they make one instance.
pub async fn created_twice(scene: &impl Scene, delay: Duration) {
    let (order, one, other) = (scene.order(1), scene.provider(), scene.provider());
    let delayed = async {
        scene.clock().sleep(delay).await;
        other.create(&order).await
    };
    let (one, other) = tokio::join!(one.create(&order), delayed);
    let (one, other) = (one.expect("it is made"), other.expect("it is found"));
    assert_eq!(one.provider_id, other.provider_id);
    assert_eq!(scene.instances().await.len(), 1);
}

/// Fault sweep: for each script of faults, what so many creations of one order answer and how many
/// instances are left, a line each. `scene` prepares a cloud with a script.
pub async fn fault_sweep<S: Scene>(scene: impl Fn(&str) -> S, rows: &[(&str, usize)]) -> String {
    let mut lines = Vec::new();
    for (script, tries) in rows {
        let scene = scene(script);
        let (provider, order) = (scene.provider(), scene.order(1));
        let mut answers = Vec::new();
        for _ in 0..*tries {
            answers.push(match provider.create(&order).await {
                Ok(_) => "made".to_owned(),
                Err(CloudError::Create { reason, .. }) => reason.to_owned(),
                Err(CloudError::InsufficientCapacity(_)) => "InsufficientCapacity".to_owned(),
                Err(CloudError::NodeClassNotReady(_)) => "NodeClassNotReady".to_owned(),
                Err(other) => format!("{other:?}"),
            });
        }
        let left = scene.instances().await.len();
        lines.push(format!("{script}: {}, {left} left", answers.join(", ")));
    }
    lines.join("\n")
}

/// Creates orders at the same time and returns the highest `load` of the cloud meanwhile, looked at
/// ten times a second.
pub async fn highest_load(scene: &impl Scene, orders: u32, load: impl Fn() -> usize) -> usize {
    let provider = scene.provider();
    let creations: Vec<_> = (0..orders)
        .map(|number| {
            let (provider, order) = (Arc::clone(&provider), scene.order(number));
            tokio::spawn(async move { provider.create(&order).await })
        })
        .collect();
    let mut highest = 0;
    while creations.iter().any(|creation| !creation.is_finished()) {
        highest = highest.max(load());
        scene.clock().sleep(Duration::from_millis(100)).await;
    }
    for creation in creations {
        creation.await.expect("it does not panic").expect("there is room");
    }
    highest
}

/// The calls of a provider for one more instance. What is read once per process is not part of it.
pub async fn calls_for_one_more(
    scene: &impl Scene,
    calls: impl Fn() -> Vec<String>,
) -> Vec<String> {
    let provider = scene.provider();
    provider.create(&scene.order(1)).await.expect("there is room");
    let before = calls().len();
    provider.create(&scene.order(2)).await.expect("there is room");
    calls().split_off(before)
}
