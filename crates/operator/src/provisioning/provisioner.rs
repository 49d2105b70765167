//! The loop that plans and creates claims.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream};
use joiner_api::node_claim::NodeClaim;
use joiner_core::{plan::PlannedClaim, pod::Role};
use tokio::time::Instant;

use super::{
    batch::{AGAIN, Triggers},
    claim,
    pass::{Input, Pass},
    telling::{tell_created, tell_plan},
};
use crate::{
    buffers::write_provisioning,
    claim_creation::ClaimCreation,
    context::Context,
    marks::is_disrupted,
    offload::offload,
    pods::is_provisionable,
    queue::Backoff,
    stop::Stop,
    trouble::Trouble,
    world::{Change, World},
};

/// How many claims are created at the same time. The value was chosen and not measured separately.
const AT_ONCE: usize = 20;
/// The backoff of a pass that fails, at first and at most.
const BACKOFF: Backoff = Backoff::REASONABLE;

/// The UID under which clouds ask for a plan. No object has it.
const BY_CLOUD: &str = "cloud";

/// Plans pending pods and creates the claims that they need.
#[derive(Debug)]
pub struct Provisioner {
    context: Context,
    triggers: Arc<Triggers>,
    creation: ClaimCreation,
}

/// A claim that was created for pods.
#[derive(Debug)]
pub struct Created {
    /// The claim.
    pub claim: NodeClaim,
    /// Its pods, each as `namespace/name`.
    pub pods: Vec<String>,
}

impl Provisioner {
    /// Starts to collect requests for a plan.
    pub fn new(context: Context) -> Self {
        let triggers = Arc::new(Triggers::default());
        let asking = Arc::clone(&triggers);
        context.cache.listen(move |_: &World, change| {
            if let Some(uid) = who_asks(change) {
                asking.ask(uid);
            }
        });
        let creation = ClaimCreation::new(context.clone());
        Self { context, triggers, creation }
    }

    /// Where other controllers ask for a plan.
    pub fn triggers(&self) -> &Arc<Triggers> {
        &self.triggers
    }

    /// Runs until `stop`; a running pass finishes first.
    pub async fn run(self, stop: Stop) {
        let Context { clock, settings, .. } = &self.context;
        let mut failures = 0;
        let mut again: Option<Instant> = None;
        loop {
            tokio::select! {
                biased;
                () = stop.asked() => return,
                () = self.triggers.window(clock, settings.batch, again) => {}
            }
            again = match self.pass().await {
                Ok(waiting) => {
                    failures = 0;
                    waiting.then(|| clock.instant_after(AGAIN))
                }
                Err(trouble) => {
                    tracing::error!(controller = "provisioner", "{trouble}");
                    failures += 1;
                    Some(clock.instant_after(BACKOFF.after(failures)))
                }
            };
        }
    }

    /// Plans once and creates the planned claims. Returns whether pods still wait.
    pub async fn pass(&self) -> Result<bool, Trouble> {
        self.creation.settle().await?;
        if let Some(missing) = self.context.feeds.missing_of(&["pods", "nodes", "nodeclaims"]) {
            return Err(Trouble::Object(format!("no plan is made from stale facts: {missing}")));
        }
        let input = self.context.cache.read(|world| Input::gather(world, &self.context.providers));
        let begun = self.context.clock.running();
        let (settings, now) = (Arc::clone(&self.context.settings), self.context.now());
        let plan = move || input.plan(&settings.planner, now);
        let pass = offload(&self.context.liveness, "provisioner", plan).await;
        let took = self.context.clock.running().saturating_sub(begun);
        self.context
            .metrics
            .scheduler_scheduling_duration("provisioner")
            .observe(took.as_secs_f64());
        tell_plan(&self.context, &pass);
        // Buffers ask for their own passes.
        let waiting = pass.snapshot.pods.iter().any(|pod| pod.role != Role::Buffer);
        let created = self.create_all(&pass).await;
        if self.context.settings.planner.gates.capacity_buffer {
            write_provisioning(&self.context, &pass).await;
        }
        created.map(|()| waiting)
    }

    async fn create_all(&self, pass: &Pass) -> Result<(), Trouble> {
        let claims = &pass.planned.plan.claims;
        let creating: Vec<_> = claims.iter().map(|planned| self.create(planned).boxed()).collect();
        let created: Vec<Result<Option<Created>, Trouble>> =
            stream::iter(creating).buffered(AT_ONCE).collect().await;
        let mut trouble = None;
        for outcome in created {
            match outcome {
                Ok(Some(created)) => tell_created(&self.context, &created),
                Ok(None) => {}
                // A failed create does not stop the others.
                Err(failed) => {
                    tracing::error!(controller = "provisioner", "{failed}");
                    trouble = Some(failed);
                }
            }
        }
        trouble.map_or(Ok(()), Err)
    }

    /// Creates one claim, unless its pool has become unusable meanwhile.
    async fn create(&self, planned: &PlannedClaim) -> Result<Option<Created>, Trouble> {
        let pool = match claim::pool(&self.context.cache, planned) {
            Ok(pool) => pool,
            Err(why) => {
                tracing::info!(controller = "provisioner", NodePool = planned.node_pool, "{why}");
                return Ok(None);
            }
        };
        let name = claim::name(&planned.node_pool, &self.context.random.suffix());
        let object = claim::object(planned, &pool, name);
        let claim = self.creation.create(&object, None).await?;
        Ok(Some(Created { claim, pods: planned.pods.clone() }))
    }
}

/// The UID that asks for a plan because of a change.
fn who_asks(change: &Change) -> Option<&str> {
    match change {
        Change::Pod(diff) => {
            let pod = diff.new.as_ref().filter(|pod| is_provisionable(pod))?;
            pod.metadata.uid.as_deref()
        }
        Change::Node(diff) => {
            let node = diff.new.as_ref().filter(|node| is_disrupted(node))?;
            node.metadata.uid.as_deref()
        }
        Change::Replan => Some(BY_CLOUD),
        _ => None,
    }
}
