//! The lifecycle of a claim: launch the instance, register its node, initialize it. Claims that
//! exceed a timeout are deleted, and a deleted claim leaves no instance behind.
//!
//! Each step is a module of pure functions: the request, the conditions, the missing parts. This
//! file performs the IO. One reconcile takes all steps on a copy of the claim and writes it once. A
//! deleted claim goes to `finalize`; the termination controller drains its node.

mod devices;
mod finalize;
mod hooks;
mod initialization;
mod launch;
mod liveness;
mod notebook;
mod registration;
mod timeouts;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::{condition::find, node_claim::NodeClaim, node_pool::NodePool};
use joiner_cloud::{
    CloudError, CloudProvider, bootstrap::token::Lifetime, instance::Instance, notebook::Notebook,
    order::Order,
};
use joiner_core::{
    instance_type::InstanceType,
    label::{NODE_POOL, ZONE},
};
use k8s_openapi::api::{core::v1::Node, resource::v1::ResourceSlice};
use kube::{
    Api,
    api::{ListParams, ObjectList},
};

use self::{
    devices::Devices,
    initialization::Lack,
    launch::Request,
    liveness::{Liveness, Step},
    notebook::OnClaim,
    registration::Joined,
    timeouts::{Annotated, Timeouts},
};
use crate::{
    attempts::Attempts,
    claims::{self, has_finalizer, is_deleting, provider_id, refers_to, uid},
    clocks,
    cluster::Lock,
    conditions::{Conditioned, INITIALIZED, LAUNCHED, REGISTERED, Status},
    context::Context,
    controller::{Controller, Next},
    disrupted,
    events::{Event, Subject},
    marks::TERMINATION_FINALIZER,
    queue::Backoff,
    reboot,
    registration_health::{Failure, Outcome, RegistrationHealth},
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// How often `ResourceSlices` are read while a claim waits for devices, because no watch follows
/// them. The value was chosen and not measured separately.
const DEVICES_AGAIN: Duration = Duration::from_secs(5);

/// The controller that takes claims through their lifecycle.
#[derive(Debug)]
pub struct Lifecycle {
    context: Context,
    health: RegistrationHealth,
    /// Instances that were created, by claim UID, until the claim shows them. Writing the claim may
    /// have failed, and it must not get a second instance.
    made: Mutex<BTreeMap<String, Instance>>,
    launches: Attempts,
}

impl Lifecycle {
    /// A controller that reports to `health` which instances joined.
    pub fn new(context: Context, health: RegistrationHealth) -> Self {
        Self { context, health, made: Mutex::default(), launches: Attempts::default() }
    }
}

impl Controller for Lifecycle {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.lifecycle";
    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };
    // Cloud calls take long, and one instance must not wait for another's. The value is
    // Karpenter's smallest.
    const AT_ONCE: usize = 1000;

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        let mut add_unfinished = |is_meant: &dyn Fn(&NodeClaim) -> bool| {
            let claims = world.node_claims.values();
            let unfinished = claims.filter(|claim| !claim.holds(INITIALIZED) && is_meant(claim));
            unfinished.for_each(|claim| add(claim.key()));
        };
        match change {
            Change::NodeClaim(diff) => match &diff.new {
                Some(claim) => add(claim.key()),
                None => self.forget(uid(&diff.latest().metadata)),
            },
            Change::Node(diff) => {
                let ids = diff.old.iter().chain(&diff.new).filter_map(|node| {
                    node.spec.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty())
                });
                ids.flat_map(|id| world.claims_of(id)).for_each(|claim| add(claim.key()));
            }
            // Annotations of pools and classes set timeouts.
            Change::NodePool(diff) if changed(diff, |pool| pool.metadata.annotations.clone()) => {
                let name = diff.latest().metadata.name.as_deref();
                add_unfinished(&|claim| claims::pool(claim) == name);
            }
            Change::NodeClass(diff) if changed(diff, |class| class.version) => {
                let class = diff.latest();
                add_unfinished(&|claim| refers_to(claim.spec.node_class_ref.as_ref(), class));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let claim = self.context.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = claim else { return Ok(Next::Done) };
        let Some(provider) = self.context.provider_of(&claim) else { return Ok(Next::Done) };
        if is_deleting(&*claim) {
            return self.finalize(claim, provider).await;
        }
        match self.with_finalizer(claim).await? {
            Some(claim) => self.advance(claim, provider).await,
            None => Ok(Next::Done),
        }
    }
}

fn changed<T, R: PartialEq>(diff: &Diff<T>, part: impl Fn(&T) -> R) -> bool {
    diff.old.as_deref().map(&part) != diff.new.as_deref().map(&part)
}

/// The result of a launch.
enum Launch {
    /// The claim was launched before.
    Settled,
    /// The last try failed; the next one is due after this long.
    Waits(Duration),
    /// The instance exists.
    Made(Box<Instance>),
    /// There is no instance yet.
    Failed(CloudError),
}

impl Lifecycle {
    /// Puts the finalizer on the claim, so that it cannot vanish before its instance. None if the
    /// claim is gone.
    async fn with_finalizer(
        &self,
        claim: Arc<NodeClaim>,
    ) -> Result<Option<Arc<NodeClaim>>, Trouble> {
        if has_finalizer(&*claim, TERMINATION_FINALIZER) {
            return Ok(Some(claim));
        }
        let mut kept = NodeClaim::clone(&claim);
        let finalizers = kept.metadata.finalizers.get_or_insert_default();
        finalizers.push(TERMINATION_FINALIZER.to_owned());
        match self.context.cluster.patch(&*claim, &kept, Lock::Version).await {
            Ok(_) => Ok(self.current(&claim)),
            Err(trouble) if trouble.is_not_found() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Takes as many steps as possible.
    async fn advance(
        &self,
        claim: Arc<NodeClaim>,
        provider: &Arc<dyn CloudProvider>,
    ) -> Result<Next, Trouble> {
        let launch = self.launch(&claim, provider).await;
        // The cloud call may have taken minutes, so the next decision uses the current claim.
        let Some(claim) = self.current(&claim) else { return Ok(Next::Done) };
        if let Launch::Failed(error) = &launch
            && let Some(reason) = launch::gives_up(error)
        {
            tracing::error!(NodeClaim = %claim.key(), "cannot launch nodeclaim, giving it up: {error}");
            self.tell(launch::event(&claim, error));
            return self.give_up(&claim, reason).await;
        }
        let mut next = NodeClaim::clone(&claim);
        let mut pass = Pass::default();
        match launch {
            Launch::Settled => next.conditions_mut(self.context.now()).confirm(LAUNCHED),
            Launch::Waits(left) => pass.next = Next::After(left),
            Launch::Made(instance) => launch::made(&mut next, &instance, self.context.now()),
            Launch::Failed(error) => {
                launch::failed(&mut next, &error, self.context.now());
                pass.trouble(error.into());
            }
        }
        if is_deleting(&next) {
            // The instance is recorded before its removal starts.
            self.save(&claim, &next).await?;
            return pass.end();
        }
        let registered = self.register(&mut next, provider).await;
        pass.take(registered);
        let liveness = match self.reboot(&mut next).await? {
            // The node is initialized again after the reboot.
            Some(left) => Liveness::Waits(left),
            None => {
                let initialized = self.initialize(&mut next).await;
                pass.take(initialized);
                self.liveness(&next, provider)
            }
        };
        self.save(&claim, &next).await?;
        match liveness {
            Liveness::Settled => {}
            Liveness::Waits(left) => pass.next = pass.next.sooner(Next::After(left)),
            // While the clock is wrong, no timeout counts as exceeded.
            Liveness::Overdue(_) if self.context.clocks.difference().is_some() => {
                pass.next = pass.next.sooner(Next::After(clocks::LOOK_EVERY));
            }
            Liveness::Overdue(step) => return self.overdue(&next, step).await,
        }
        pass.end()
    }

    /// The claim in the cache; none if it is gone or another claim has its name.
    fn current(&self, claim: &NodeClaim) -> Option<Arc<NodeClaim>> {
        let current = self.context.cache.read(|world| world.node_claims.get(&claim.key()).cloned());
        current.filter(|current| current.metadata.uid == claim.metadata.uid)
    }

    /// Launches the claim's instance, unless it has one.
    async fn launch(&self, claim: &NodeClaim, provider: &Arc<dyn CloudProvider>) -> Launch {
        let identity = uid(&claim.metadata);
        if claim.status(LAUNCHED) != Status::Unknown {
            self.forget(identity);
            return Launch::Settled;
        }
        if let Some(instance) = self.made().get(identity) {
            return Launch::Made(Box::new(instance.clone()));
        }
        let mut order = match launch::request(claim, self.context.class_of(claim).as_ref()) {
            Request::Order(order) => order,
            Request::Refused(error) => return Launch::Failed(error),
        };
        if let Some(left) = self.launches.wait(identity) {
            return Launch::Waits(left);
        }
        order.corrected = self.corrected_types(claim);
        match self.make(claim, &mut order, provider).await {
            Ok(mut instance) => {
                launch::correct(&mut instance, &order);
                launch::log(claim, &instance);
                launch::mark(&mut instance, &provider.hashes(&order.class));
                self.made().insert(identity.to_owned(), instance.clone());
                Launch::Made(Box::new(instance))
            }
            Err(error) => {
                let clock = &self.context.clock;
                self.launches.failed(identity, Self::BACKOFF, |wait| clock.instant_after(wait));
                Launch::Failed(error)
            }
        }
    }

    /// The types of the claim's pool that overlays correct. The instance was planned with them, so
    /// it is launched and counted with them too.
    fn corrected_types(&self, claim: &NodeClaim) -> Vec<Arc<InstanceType>> {
        let Some(pool) = claims::pool(claim) else { return Vec::new() };
        let catalog = self.context.corrected_types().unwrap_or_default();
        let is_corrected =
            |each: &&Arc<InstanceType>| each.price_overlaid || each.capacity_overlaid;
        catalog.types(pool).iter().filter(is_corrected).cloned().collect()
    }

    /// Requests an instance from the cloud, with the Secrets, token and addresses that it needs.
    async fn make(
        &self,
        claim: &NodeClaim,
        order: &mut Order,
        provider: &Arc<dyn CloudProvider>,
    ) -> Result<Instance, CloudError> {
        let timeouts = timeouts_of(&self.context, claim, provider);
        let lifetime = Lifetime {
            now: self.context.now(),
            launch_timeout: timeouts.launch,
            registration_timeout: timeouts.registration,
        };
        let on_claim = OnClaim { context: self.context.clone(), claim: order.claim.clone() };
        order.notebook = Notebook::new(Arc::new(on_claim));
        order.inputs = self.context.order_inputs(provider.as_ref(), order, lifetime).await?;
        let create = provider.create(order);
        self.context.ask(Self::NAME, "Create", provider.as_ref(), create).await
    }

    /// Removes what is remembered of a claim.
    fn forget(&self, identity: &str) {
        self.made().remove(identity);
        self.launches.forget(identity);
        self.context.removals.forget(identity);
    }

    /// Registers the claim's node: copies labels, annotations and taints of the claim to it.
    async fn register(
        &self,
        claim: &mut NodeClaim,
        provider: &Arc<dyn CloudProvider>,
    ) -> Result<Next, Trouble> {
        let now = self.context.now();
        if claim.status(REGISTERED) != Status::Unknown {
            claim.conditions_mut(now).confirm(REGISTERED);
            return Ok(Next::Done);
        }
        let node = match registration::joined(&self.nodes_of(claim)) {
            Joined::Node(node) => node,
            other => {
                registration::not_joined(claim, &other, now);
                return Ok(Next::Done);
            }
        };
        registration::take_over_id(claim, &node);
        if registration::lacks_unregistered_taint(&node) {
            tracing::error!(
                NodeClaim = %claim.key(), Node = %node.key(),
                "node registered without the taint karpenter.sh/unregistered:NoExecute: pods may \
                 have come to it too early; have its kubelet register with the taint"
            );
            self.tell([Event::unregistered_taint_missing(&Subject::of(claim))]);
        }
        if let Some((of_node, of_claim)) = registration::zones_differ(&node, claim) {
            self.tell([Event::zone_mismatch(&Subject::of(claim), of_node, of_claim)]);
        }
        let heard = hooks::ask(&provider.registration_hooks(), claim, &node).await;
        if !heard.pending.is_empty() {
            let pending = heard.pending.join(", ");
            claim.conditions_mut(now).set(
                REGISTERED,
                Status::Unknown,
                "RegistrationHookPending",
                &pending,
            );
            let synced = registration::synced(&node, claim);
            self.context.cluster.patch(&*node, &synced, Lock::Version).await?;
            return match (heard.trouble, heard.again) {
                (Some(trouble), _) => Err(trouble.into()),
                (None, again) => Ok(again.map_or(Next::Again, Next::After)),
            };
        }
        if !heard.labels.is_empty() {
            claim.metadata.labels.get_or_insert_default().extend(heard.labels);
        }
        let opened = registration::opened(registration::synced(&node, claim));
        self.context.cluster.patch(&*node, &opened, Lock::Version).await?;
        claim.status.get_or_insert_default().node_name.clone_from(&node.metadata.name);
        claim.conditions_mut(now).set_true(REGISTERED);
        self.tell_pool(claim, Outcome::Joined);
        let (pool, zone) = (claims::label(claim, NODE_POOL), claims::label(claim, ZONE));
        self.context.metrics.nodes_created(pool, zone).inc();
        tracing::info!(NodeClaim = %claim.key(), Node = %node.key(), "registered nodeclaim");
        Ok(Next::Done)
    }

    /// How long the node is left alone because another controller reboots it. A reboot that exceeds
    /// its timeout is ended.
    async fn reboot(&self, claim: &mut NodeClaim) -> Result<Option<Duration>, Trouble> {
        let Some(end) = reboot::end(claim) else { return Ok(None) };
        let now = self.context.now();
        match Duration::try_from(end.duration_since(now)) {
            Ok(left) if !left.is_zero() => return Ok(Some(left)),
            _ => {}
        }
        for node in self.nodes_of(claim) {
            self.context.cluster.patch(&*node, &reboot::opened(&node), Lock::Version).await?;
        }
        reboot::give_up(claim, now);
        tracing::warn!(NodeClaim = %claim.key(), "{}", reboot::GIVEN_UP);
        self.tell([Event::reboot_failed(&Subject::of(claim), reboot::GIVEN_UP)]);
        Ok(None)
    }

    /// Initializes the node once nothing is missing.
    async fn initialize(&self, claim: &mut NodeClaim) -> Result<Next, Trouble> {
        let now = self.context.now();
        if claim.status(INITIALIZED) != Status::Unknown {
            claim.conditions_mut(now).confirm(INITIALIZED);
            return Ok(Next::Done);
        }
        if !claim.holds(REGISTERED) {
            return Ok(Next::Done);
        }
        let devices = self.devices_for(claim).await?;
        let lack = match registration::joined(&self.nodes_of(claim)) {
            Joined::Node(node) => match initialization::lacks(claim, &node, devices.as_ref()) {
                None => {
                    let initialized = initialization::initialized(&node);
                    self.context.cluster.patch(&*node, &initialized, Lock::None).await?;
                    claim.conditions_mut(now).set_true(INITIALIZED);
                    tracing::info!(
                        NodeClaim = %claim.key(), Node = %node.key(), "initialized nodeclaim"
                    );
                    return Ok(Next::Done);
                }
                Some(lack) => lack,
            },
            Joined::NotYet(message) | Joined::Several(message) => {
                Lack::new("NodeNotFound", message)
            }
        };
        claim.conditions_mut(now).set(INITIALIZED, Status::Unknown, lack.reason, &lack.message);
        Ok(devices.map_or(Next::Done, |_| Next::After(DEVICES_AGAIN)))
    }

    /// The published devices, if the claim waits for some. A failed read is an error, and never
    /// counts as an empty list.
    async fn devices_for(&self, claim: &NodeClaim) -> Result<Option<Devices>, Trouble> {
        if self.context.settings.planner.plan.ignore_dra || devices::awaited(claim).next().is_none()
        {
            return Ok(None);
        }
        let cluster = &self.context.cluster;
        let slices: Api<ResourceSlice> = Api::all(cluster.client().clone());
        let listed: ObjectList<ResourceSlice> = cluster
            .call(|| "list ResourceSlices".to_owned(), slices.list(&ListParams::default()))
            .await?;
        Ok(Some(Devices(listed.items)))
    }

    /// Whether the claim is within its timeout.
    fn liveness(&self, claim: &NodeClaim, provider: &Arc<dyn CloudProvider>) -> Liveness {
        let timeouts = timeouts_of(&self.context, claim, provider);
        for malformed in &timeouts.malformed {
            tracing::warn!("{}", malformed.message);
            let about = match malformed.on {
                Annotated::NodePool => self.context.pool_of(claim).map(|pool| Subject::of(&*pool)),
                Annotated::NodeClass => {
                    self.context.class_of(claim).map(|class| Subject::of_class(&class))
                }
            };
            self.tell(about.map(|about| Event::invalid_timeout(&about, &malformed.message)));
        }
        liveness::liveness(claim, &timeouts, self.context.now())
    }

    /// Deletes a claim that exceeded a timeout, and reports the reason to its pool.
    async fn overdue(&self, claim: &NodeClaim, step: Step) -> Result<Next, Trouble> {
        // Its node or its pool may be unreadable, and the pool may set a longer timeout.
        self.context.sure_of::<Node>()?;
        self.context.sure_of::<NodePool>()?;
        self.tell_pool(claim, Outcome::Failed(failure(claim)));
        tracing::error!(NodeClaim = %claim.key(), reason = step.reason(), "nodeclaim took too long");
        self.give_up(claim, step.reason()).await
    }

    /// Deletes a claim; its pending pods are planned again.
    async fn give_up(&self, claim: &NodeClaim, reason: &'static str) -> Result<Next, Trouble> {
        self.context.cluster.delete(claim).await?;
        disrupted::count_claim(&self.context, claim, reason);
        Ok(Next::Done)
    }

    /// Reports the outcome of a claim to the controller of its pool's condition. The claim is
    /// written next, which triggers that controller.
    fn tell_pool(&self, claim: &NodeClaim, outcome: Outcome) {
        if let Some(pool) = self.context.pool_of(claim) {
            self.health.tell(&pool, claim, outcome);
        }
    }

    /// Writes the changes of a claim.
    async fn save(&self, old: &NodeClaim, new: &NodeClaim) -> Result<(), Trouble> {
        self.context.cluster.patch(old, new, Lock::None).await?;
        self.context.cluster.patch_status(old, new, Lock::None).await?;
        Ok(())
    }

    fn tell(&self, event: impl IntoIterator<Item = Event>) {
        event.into_iter().for_each(|event| self.context.events.tell(event));
    }

    fn nodes_of(&self, claim: &NodeClaim) -> Vec<Arc<Node>> {
        let Some(id) = provider_id(claim) else { return Vec::new() };
        self.context.cache.read(|world| world.nodes_of(id).cloned().collect())
    }

    fn made(&self) -> MutexGuard<'_, BTreeMap<String, Instance>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a claim's node must be initialized. For a registered node the initialization timeout counts
/// from its registration. Before, the timeouts of all steps count from the claim's `creation`.
/// `initialization` is the timeout where none is set.
pub(crate) fn ready_by(
    context: &Context,
    claim: &NodeClaim,
    creation: Timestamp,
    initialization: Duration,
) -> Timestamp {
    let timeouts = context.provider_of(claim).map(|provider| timeouts_of(context, claim, provider));
    let last = timeouts.as_ref().and_then(|timeouts| timeouts.initialization);
    let last = last.unwrap_or(initialization);
    let registered = claim.since(REGISTERED).filter(|_| claim.holds(REGISTERED));
    let (since, within) = match (registered, timeouts) {
        (Some(registered), _) => (registered, last),
        (None, Some(timeouts)) => (creation, timeouts.launch + timeouts.registration + last),
        (None, None) => (creation, last),
    };
    let within = SignedDuration::try_from(within).unwrap_or(SignedDuration::MAX);
    // Times in a claim may overflow; the sum is capped.
    since.saturating_add(within).unwrap_or(Timestamp::MAX)
}

fn timeouts_of(
    context: &Context,
    claim: &NodeClaim,
    provider: &Arc<dyn CloudProvider>,
) -> Timeouts {
    timeouts::timeouts(
        context.pool_of(claim).as_deref(),
        context.class_of(claim).as_deref(),
        &context.settings.timeouts,
        provider.launch_timeout(),
    )
}

/// Why an instance did not join, as its pool's condition shows it.
fn failure(claim: &NodeClaim) -> Failure {
    let launched = find(claim.conditions(), LAUNCHED).filter(|condition| !condition.is_true());
    match launched {
        Some(launched) => {
            Failure { reason: launched.reason.clone(), message: launched.message.clone() }
        }
        None => Failure {
            reason: "RegistrationFailed".to_owned(),
            message: "Failed to register node".to_owned(),
        },
    }
}

/// The result of a reconcile, combined from all steps.
#[derive(Debug)]
struct Pass {
    next: Next,
    trouble: Option<Trouble>,
}

impl Default for Pass {
    fn default() -> Self {
        Self { next: Next::Done, trouble: None }
    }
}

impl Pass {
    fn take(&mut self, outcome: Result<Next, Trouble>) {
        match outcome {
            Ok(next) => self.next = self.next.sooner(next),
            Err(trouble) => self.trouble(trouble),
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.trouble.get_or_insert(trouble);
    }

    fn end(self) -> Result<Next, Trouble> {
        self.trouble.map_or(Ok(self.next), Err)
    }
}
