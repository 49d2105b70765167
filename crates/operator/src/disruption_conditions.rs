//! The disruption conditions of claims: `Drifted` (the instance no longer matches its pool or
//! class) and `Consolidatable` (the node was quiet for long enough).
//!
//! [`drift`] and [`quiet`] decide from objects alone. Only the cloud knows the rest; `answers`
//! caches what it reports.

mod answers;
pub mod drift;
pub mod quiet;

use std::{sync::Arc, time::Duration};

use joiner_api::{condition::find, node_claim::NodeClaim, node_pool::NodePool};
use joiner_cloud::{CloudProvider, class::NodeClass};

use self::{
    answers::Answers,
    drift::{TYPE_CHECK_AGE, Verdict},
    quiet::Quiet,
};
use crate::{
    claims::{self, is_deleting, provider_id, refers_to, uid},
    cluster::Lock,
    conditions::{CONSOLIDATABLE, Conditioned, DRIFTED, Status},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    hydration,
    pod_events::{self, LastPodEvents},
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// How often a claim is examined without a change in the cluster, because the cloud may have
/// changed. The value is Karpenter's.
const LOOK_EVERY: Duration = Duration::from_mins(5);

/// Writes the `Drifted` and `Consolidatable` conditions of each claim.
#[derive(Debug)]
pub struct DisruptionConditions {
    context: Context,
    last: LastPodEvents,
    answers: Answers,
}

/// A claim of Joiner, with its pool and class.
struct Facts {
    claim: Arc<NodeClaim>,
    provider: Arc<dyn CloudProvider>,
    /// The name of its pool.
    pool_name: String,
    pool: Option<Arc<NodePool>>,
    /// The class that its pool names.
    class: Option<Arc<NodeClass>>,
}

impl Facts {
    /// The verdict from the claim and its class alone.
    fn of_class(&self) -> Option<Verdict> {
        let own = self.claim.spec.node_class_ref.as_ref();
        let class = self.class.as_ref().filter(|class| refers_to(own, class))?;
        drift::of_class(&self.claim, class, &self.provider.hashes(class))
    }
}

impl Controller for DisruptionConditions {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.disruption";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodeClaim(diff) => match &diff.new {
                Some(claim) => add(claim.key()),
                None => self.answers.forget(uid(&diff.latest().metadata)),
            },
            Change::NodePool(diff) if says_something_else(diff) => {
                let name = claims::name(&diff.latest().metadata);
                let claims = world.node_claims.values();
                claims
                    .filter(|claim| claims::pool(claim) == Some(name))
                    .for_each(|claim| add(claim.key()));
            }
            Change::NodeClass(diff) => {
                let class = diff.latest();
                let claims = world.node_claims.values();
                claims
                    .filter(|claim| refers_to(claim.spec.node_class_ref.as_ref(), class))
                    .for_each(|claim| add(claim.key()));
            }
            Change::Pod(diff) => {
                if let Some((node, _)) = pod_events::event(diff, self.context.now()) {
                    let claim = world.nodes.get(&node).and_then(|node| world.claim_of(node));
                    if let Some(claim) = claim {
                        add(claim.key());
                    }
                }
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(facts) = self.facts(key) else { return Ok(Next::Done) };
        let Some(pool) = &facts.pool else {
            let about = Subject::of(&*facts.claim);
            self.context.events.tell(Event::node_pool_not_found(&about, &facts.pool_name));
            return Ok(Next::After(LOOK_EVERY));
        };
        let of_objects = drift::of_objects(&facts.claim, pool)
            .or_else(|| facts.of_class())
            .or_else(|| self.of_version(&facts));
        let verdict = match of_objects {
            Some(verdict) => Ok(verdict),
            None => self.ask(&facts, pool).await,
        };
        // The claim may have changed while the cloud was asked.
        let identity = uid(&facts.claim.metadata);
        let same = self.facts(key).filter(|now| uid(&now.claim.metadata) == identity);
        let Some(Facts { claim, pool: Some(pool), .. }) = same else {
            // The claim may have been deleted before the answer came.
            self.answers.forget(identity);
            return Ok(Next::Again);
        };
        let now = self.context.now();
        let quiet = quiet::of(&claim, &pool, self.last_event(&claim), now);
        let known = verdict.as_ref().unwrap_or(&Verdict::Unknown);
        if let Some(next) = said(&claim, known, quiet, now) {
            match self.context.cluster.patch_status(&*claim, &next, Lock::Version).await {
                Err(trouble) if !trouble.is_not_found() => return Err(trouble),
                _ => {}
            }
        }
        verdict?;
        Ok(match quiet {
            Quiet::Until(end) => {
                let left = Duration::try_from(end.duration_since(now)).unwrap_or_default();
                Next::After(left.min(LOOK_EVERY))
            }
            Quiet::No | Quiet::Yes => Next::After(LOOK_EVERY),
        })
    }
}

impl DisruptionConditions {
    /// A controller that also uses the pod events in `last`, besides those on claims.
    pub fn new(context: Context, last: LastPodEvents) -> Self {
        Self { context, last, answers: Answers::default() }
    }

    /// The facts of a claim that is Joiner's, stays, and belongs to a pool.
    fn facts(&self, key: &Key) -> Option<Facts> {
        self.context.cache.read(|world| {
            let claim = world.node_claims.get(key).filter(|claim| !is_deleting(&***claim))?;
            let provider = self.context.provider_of(claim)?;
            let labels = claim.metadata.labels.as_ref();
            if !hydration::corrections(&**provider, labels).is_empty() {
                return None;
            }
            let pool_name = claims::pool(claim)?;
            let pool = world.node_pools.named(pool_name);
            let class = pool.and_then(|pool| {
                let class = pool.spec.template.spec.node_class_ref.as_ref()?;
                world.class(&class.group, &class.kind, &class.name)
            });
            Some(Facts {
                claim: Arc::clone(claim),
                provider: Arc::clone(provider),
                pool_name: pool_name.to_owned(),
                pool: pool.cloned(),
                class: class.cloned(),
            })
        })
    }

    /// The verdict from the versions of the node and of the cluster, where that check is enabled.
    fn of_version(&self, facts: &Facts) -> Option<Verdict> {
        if !self.context.settings.kubernetes_version_drift {
            return None;
        }
        let id = provider_id(&facts.claim)?;
        let class = facts.class.as_ref()?;
        self.context.cache.read(|world| {
            let mut nodes = world.nodes_of(id);
            let node = nodes.next().filter(|_| nodes.next().is_none())?;
            drift::of_version(node, class)
        })
    }

    /// The time of the last pod event on the claim's node.
    fn last_event(&self, claim: &NodeClaim) -> Option<jiff::Timestamp> {
        let status = claim.status.as_ref()?;
        let shown = status.last_pod_event_time.as_ref().map(|time| time.0);
        shown.max(claims::node_name(claim).and_then(|name| self.last.on(&Key::cluster(name))))
    }

    /// The verdict that needs the cloud. It is not asked while the class is leaving or gone.
    async fn ask(&self, facts: &Facts, pool: &NodePool) -> Result<Verdict, Trouble> {
        let Some(class) = facts.class.as_ref().filter(|class| class.deleting.is_none()) else {
            return Ok(Verdict::Unknown);
        };
        if self.type_is_gone(facts, pool, class)? {
            return Ok(Verdict::Drifted(drift::INSTANCE_TYPE_NOT_FOUND.to_owned()));
        }
        let Some(id) = provider_id(&facts.claim) else { return Ok(Verdict::AsWanted) };
        let (identity, running) = (uid(&facts.claim.metadata), self.context.clock.running());
        if let Some(verdict) = self.answers.drift(identity, class, running) {
            return Ok(verdict);
        }
        let (provider, named) = (facts.provider.as_ref(), claims::id(&facts.claim));
        let get = self.context.ask(Self::NAME, "Get", provider, provider.get(&named, id));
        // An instance that is gone has not drifted; garbage collection handles its claim.
        let Some(instance) = get.await? else { return Ok(Verdict::AsWanted) };
        let asked = provider.drift(&instance, class);
        let answer = self.context.ask(Self::NAME, "IsDrifted", provider, asked).await?;
        let verdict = Verdict::from(answer);
        self.answers.drift_is(identity, class, verdict.clone(), running + LOOK_EVERY);
        Ok(verdict)
    }

    /// Whether the cloud no longer offers the instance's type. Young instances are skipped, because
    /// lists of types may be late.
    fn type_is_gone(
        &self,
        facts: &Facts,
        pool: &NodePool,
        class: &NodeClass,
    ) -> Result<bool, Trouble> {
        let created = facts.claim.metadata.creation_timestamp.as_ref();
        let age = created.map(|created| self.context.now().duration_since(created.0));
        let (identity, running) = (uid(&facts.claim.metadata), self.context.clock.running());
        let is_young = age.is_none_or(|age| age < TYPE_CHECK_AGE);
        if is_young || self.answers.type_is_there(identity, running) {
            return Ok(false);
        }
        let provider = &facts.provider;
        let types = provider.instance_types(claims::name(&pool.metadata), class)?;
        let is_gone = drift::type_is_gone(
            &facts.claim,
            &types,
            &provider.well_known(),
            provider.reservation_id_label(),
        );
        if !is_gone {
            self.answers.type_was_seen(identity, running);
        }
        Ok(is_gone)
    }
}

/// Whether a pool changed in more than its status.
fn says_something_else(diff: &Diff<NodePool>) -> bool {
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => {
            old.spec != new.spec || old.metadata.annotations != new.metadata.annotations
        }
        _ => true,
    }
}

/// The claim with its new conditions; none if nothing changes.
fn said(
    claim: &NodeClaim,
    verdict: &Verdict,
    quiet: Quiet,
    now: jiff::Timestamp,
) -> Option<NodeClaim> {
    let mut next = claim.clone();
    let mut conditions = next.conditions_mut(now);
    match quiet {
        Quiet::Yes => conditions.set_true(CONSOLIDATABLE),
        Quiet::No | Quiet::Until(_) => conditions.clear(CONSOLIDATABLE),
    }
    match verdict {
        Verdict::AsWanted => conditions.clear(DRIFTED),
        Verdict::Drifted(reason) => conditions.set(DRIFTED, Status::True, reason, reason),
        // A verdict from objects is removed; a verdict from the cloud stays.
        Verdict::Unknown => {
            let known = find(claim.conditions(), DRIFTED);
            if known.is_some_and(|known| drift::comes_from_objects(&known.reason)) {
                conditions.clear(DRIFTED);
            }
        }
    }
    // Other controllers write the other conditions of a claim without these two.
    let is_news = [CONSOLIDATABLE, DRIFTED]
        .iter()
        .any(|type_| find(next.conditions(), type_) != find(claim.conditions(), type_));
    is_news.then_some(next)
}
