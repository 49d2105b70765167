//! Making an instance.
//!
//! Whatever happened before, a creation begins by looking for the claim's instance and goes on from
//! what it finds: nothing, an instance that is off, one that runs. So it can be killed anywhere and
//! begun again.

mod deploying;
mod finishing;

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use joiner_cloud::{
    CloudError,
    attempts::{Refused, Ways, first_that_works},
    choice::{self, Choice},
    instance::Instance,
    mark::Mark,
    order::Order,
    unavailable::Scarce,
};

use super::{Inner, Resolved, find::Attempted, resolve::read_class};
use crate::{
    NODE_CLASS_KIND,
    labels::well_known,
    node_class::NodeClass,
    resolve::ZoneResolution,
    vm::{ATTEMPTS_MAX, Life},
};

/// What is made for an order, and of what.
pub(super) struct Work<'o> {
    order: &'o Order,
    class: &'o NodeClass,
    resolved: &'o Resolved,
    /// How many deletions had been asked for when the creation began.
    deletions: u64,
    /// The number of the next attempt, which name and job follow from.
    next: AtomicU32,
    /// How many instances were made in this creation and could not be started.
    failures: AtomicU32,
}

impl Work<'_> {
    /// The mark of the instance, before its id is known.
    fn mark(&self, inner: &Inner) -> Result<Mark, CloudError> {
        Ok(Mark {
            cluster: inner.settings.cluster.clone(),
            cluster_uid: inner.cluster_uid()?.to_owned(),
            claim: self.order.claim.clone(),
            pool: self.order.node_pool.clone().unwrap_or_default(),
            class: self.class.name().to_owned(),
            made_here: true,
            ..Mark::default()
        })
    }

    /// The zone of a choice.
    fn zone(&self, choice: &Choice<'_>) -> Option<&ZoneResolution> {
        let wanted = choice.zone();
        let zones = &self.resolved.zones;
        let is_it =
            |own: &&ZoneResolution| zones.get(&own.zone.id).is_some_and(|own| own == wanted);
        self.resolved.resolution.zones.iter().find(is_it)
    }
}

impl Inner {
    pub(super) async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        self.cluster_uid()?;
        let deletions = self.state().deletions_until_now();
        let class = read_class(&order.class)?;
        match Box::pin(self.create_once(order, &class, deletions)).await {
            Err(Refused::Stale(why)) => {
                let name = class.name();
                tracing::info!(NodeClass = name, "looking anew for what the class names: {why}");
                self.state().resolutions.forget(name);
                match Box::pin(self.create_once(order, &class, deletions)).await {
                    Err(Refused::Stale(why)) => Err(self.refused_as_invalid(order, &why)),
                    other => other.map_err(Refused::into_error),
                }
            }
            other => other.map_err(Refused::into_error),
        }
    }

    /// CloudStack does not accept what the class comes to.
    fn refused_as_invalid(&self, order: &Order, why: &str) -> CloudError {
        let now = self.now();
        self.state().invalid_orders.count(&order.class, why.to_owned(), now);
        let name = &order.class.name;
        CloudError::Create {
            reason: "InvalidConfiguration",
            message: format!(
                "CloudStack does not accept instances of {NODE_CLASS_KIND} {name:?}; correct the \
                 class, or what it names: {why}"
            ),
        }
    }

    async fn create_once(
        &self,
        order: &Order,
        class: &NodeClass,
        deletions: u64,
    ) -> Result<Instance, Refused> {
        let resolved = self.resolved(&order.class, class).await?;
        let work = Work {
            order,
            class,
            resolved: &resolved,
            deletions,
            next: AtomicU32::new(0),
            failures: AtomicU32::new(0),
        };
        for attempt in 0..ATTEMPTS_MAX {
            work.next.store(attempt, Ordering::Relaxed);
            match self.attempted(&order.claim, attempt).await? {
                Attempted::Own(vm) if Life::of(&vm) == Life::Failed => {
                    self.clean_up(&vm, &work.mark(self)?).await;
                }
                Attempted::Own(vm) => return self.finish(&work, &vm).await,
                Attempted::Used => {}
                Attempted::Free => return Box::pin(self.make_somehow(&work)).await,
            }
        }
        Err(names_used_up(&work).into())
    }

    /// Tries every way to make the instance, the cheapest first, until one is had.
    async fn make_somehow(&self, work: &Work<'_>) -> Result<Instance, Refused> {
        let (order, well_known) = (work.order, well_known());
        let types = self.offered(work.class.name(), &work.resolved.types);
        let mut choices: Vec<Choice<'_>> = choice::every(order, &types, &well_known).collect();
        let chosen = self.homes.choose(order, |instances| {
            choice::in_order(&mut choices, |_| None, instances);
            let zone = choices.first()?.zone().to_owned();
            Some(((), zone))
        });
        let going = chosen.map(|((), going)| going);
        let class = format!("{NODE_CLASS_KIND} {:?}", work.class.name());
        let turns_to = |zone: &str| {
            if let Some(going) = &going {
                going.turns_to(zone);
            }
        };
        let ways = InZones { inner: self, work, turns_to: &turns_to };
        let made = first_that_works(&ways, order, &class, &choices, &self.notes).await?;
        if let Some(going) = going {
            going.arrived();
        }
        self.state().invalid_orders.forget(work.class.name());
        Ok(made)
    }
}

fn names_used_up(work: &Work<'_>) -> CloudError {
    CloudError::Create {
        reason: "NameTaken",
        message: format!(
            "{ATTEMPTS_MAX} names for the instance of NodeClaim {:?} are taken; remove instances of \
             these names, or set another prefix with CLOUDSTACK_VM_NAME_PREFIX",
            work.order.claim.name
        ),
    }
}

/// The ways to make an instance: a type in a zone.
struct InZones<'w> {
    inner: &'w Inner,
    work: &'w Work<'w>,
    turns_to: &'w (dyn Fn(&str) + Sync),
}

#[async_trait]
impl Ways for InZones<'_> {
    type Storage = ();

    fn trying(&self, choice: &Choice<'_>) {
        (self.turns_to)(choice.zone());
    }

    async fn storages(&self, choice: &Choice<'_>) -> Result<Option<Vec<()>>, CloudError> {
        Ok(self.work.zone(choice).map(|_| vec![()]))
    }

    async fn make(&self, choice: &Choice<'_>, _storage: &()) -> Result<Instance, Refused> {
        self.inner.make(self.work, choice).await
    }

    fn remember(&self, scarce: Scarce) {
        let now = self.inner.now();
        self.inner.state().unavailable.remember(scarce, now);
    }

    fn space(&self, _storage: &()) -> Scarce {
        Scarce::Space(String::new())
    }

    fn remedy_for_room(&self, choice: &Choice<'_>) -> String {
        format!(
            "make room in zone {:?} or raise the account's limits, or give the class more zones \
             with spec.zones",
            choice.zone()
        )
    }

    fn remedy_for_space(&self, _storage: &()) -> String {
        "make space in the primary storage of the zone".to_owned()
    }

    fn no_choice(&self) -> String {
        "no service offering of the class serves the claim and can be had now; those that had no \
         room are offered again after 3 minutes, others have to be found by \
         spec.serviceOfferingSelectorTerms"
            .to_owned()
    }
}
