//! Making an instance.
//!
//! A creation first looks for the claim's instance and continues from its state: missing, off or
//! running. So it can be killed at any point and repeated.

mod alone;
mod cloning;
mod finishing;
mod preparing;
mod refusals;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use joiner_cloud::{
    CloudError,
    attempts::{Refused, Ways, first_that_works},
    bootstrap::class_text::{Fetched, Recipient},
    choice::Choice,
    instance::Instance,
    mark::Mark,
    order::Order,
    unavailable::{Scarce, zone_of},
};
use joiner_core::label;
use joiner_vim::{Method, MoRef};

use super::{
    Inner,
    look::Found,
    placing::Placing,
    state::ClassMemory,
    troubles::{tags_unanswered, unanswered},
};
use crate::{
    NODE_CLASS_KIND,
    choose::by_room,
    clone_spec::{Copying, Making, clone_spec},
    inventory::{DATASTORES, Datastore, Paths},
    names, networks,
    node_class::NodeClass,
    places::{Place, Resolution},
    tags::objections::Rights,
    user_data,
};

/// How often a taken name is checked again: it may be our own unfinished clone.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// What is made for an order, and of what.
pub(super) struct Work<'o> {
    pub(super) order: &'o Order,
    class: &'o NodeClass,
    pub(super) memory: &'o ClassMemory,
    pub(super) resolution: &'o Resolution,
    name: String,
}

impl Inner {
    pub(super) async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        self.cluster_uid()?;
        let class = self.read_class(&order.class)?;
        if let Some(problem) = class.problems(&self.settings.instances).first() {
            return Err(CloudError::NodeClassNotReady(format!(
                "{NODE_CLASS_KIND} {:?} is not ready: {problem}",
                class.name()
            )));
        }
        match Box::pin(self.create_once(order, &class)).await {
            Err(Refused::Stale(why)) => {
                tracing::info!(
                    NodeClass = class.name(),
                    "looking anew for what the class names: {why}"
                );
                self.invalidate(class.name()).await;
                match Box::pin(self.create_once(order, &class)).await {
                    Err(Refused::Stale(why)) => Err(CloudError::NodeClassNotReady(format!(
                        "{NODE_CLASS_KIND} {:?} names something that has gone: {why}",
                        class.name()
                    ))),
                    other => other.map_err(Refused::into_error),
                }
            }
            other => other.map_err(Refused::into_error),
        }
    }

    async fn create_once(&self, order: &Order, class: &NodeClass) -> Result<Instance, Refused> {
        let resolution = self.resolution(&order.class, class).await?;
        let class = class.clone().with_template_disk(resolution.image.disk_gib());
        let memory = self.class_memory(&order.class, &class)?;
        let name = names::instance(&self.settings.cluster, &order.claim.name);
        let work = Work { order, class: &class, memory: &memory, resolution: &resolution, name };
        match self.find_own(&work).await? {
            Found::Own(vm) => return self.finish(&work, *vm).await,
            Found::Foreign(vm) => return Err(self.name_taken(&work, &vm).into()),
            Found::Nothing => {}
        }
        self.check_tags(&work).await?;
        Box::pin(self.make_somehow(&work)).await
    }

    /// Makes no instance that could not carry the tags its class asks for.
    async fn check_tags(&self, work: &Work<'_>) -> Result<(), CloudError> {
        if work.class.spec.tags.as_ref().is_none_or(BTreeMap::is_empty) {
            return Ok(());
        }
        let objections = self.tag_objections(work.class, Rights::UNKNOWN).await;
        let objections = objections.map_err(tags_unanswered("looking for the class's tags"))?;
        match objections.of_class.first() {
            None => Ok(()),
            Some(first) => Err(CloudError::NodeClassNotReady(format!(
                "{NODE_CLASS_KIND} {:?} is not ready: {}",
                work.class.name(),
                first.message
            ))),
        }
    }

    async fn find_own(&self, work: &Work<'_>) -> Result<Found, CloudError> {
        let places = &work.resolution.places;
        let mut folders: Vec<String> = places.iter().map(|own| own.folder.path.clone()).collect();
        folders.sort();
        folders.dedup();
        let found = self.find(&work.order.claim, &folders).await;
        found.map_err(unanswered("looking for the claim's instance"))
    }

    /// Tries every choice for the instance, the cheapest first, until one succeeds.
    async fn make_somehow(&self, work: &Work<'_>) -> Result<Instance, Refused> {
        let types = self.offered(work.class.name(), &work.memory.types);
        let (choices, placing) = self.place(work, &types);
        let class = format!("{NODE_CLASS_KIND} {:?}", work.class.name());
        let ways = InDatastores { inner: self, work, placing: &placing };
        let made = first_that_works(&ways, work.order, &class, &choices, &self.notes).await?;
        placing.arrived();
        Ok(made)
    }

    /// The datastores of a place that may have space, the one with most of it first.
    async fn datastores(&self, place: &Place) -> Result<Vec<Datastore>, CloudError> {
        let now = self.now();
        let mut left = place.datastores.usable.clone();
        left.retain(|own| !self.state().unavailable.is(&own.space(), now));
        if left.len() > 1 {
            let references: Vec<MoRef> =
                left.iter().map(|own| own.named.reference.clone()).collect();
            let read = self.vim.read(&references, DATASTORES).await;
            let read = read.map_err(unanswered("looking for space in datastores"))?;
            for object in &read {
                let fresh = Datastore::read(object, &Paths::default());
                let own = left.iter_mut().find(|own| own.named.reference == object.reference);
                if let Some(own) = own {
                    (own.usable, own.free) = (fresh.usable, fresh.free);
                    self.metrics.free(&own.named.name, own.free);
                }
            }
            left.retain(|own| own.usable);
            by_room(&mut left);
        }
        Ok(left)
    }

    /// Makes the instance in one way.
    async fn make(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        place: &Place,
        datastore: &Datastore,
    ) -> Result<Instance, Refused> {
        let image = &work.resolution.image;
        let mark = self.mark(work, choice, place)?;
        let hardware = work.memory.hardware.get(&choice.instance_type.name).copied();
        let hardware = hardware.ok_or_else(|| {
            CloudError::Unknown(format!("type {:?} has no hardware", choice.instance_type.name))
        })?;
        let copying = Copying::choose(work.class, image, hardware.disk_gib)
            .map_err(|error| CloudError::NodeClassNotReady(error.message))?;
        let recipient = Recipient {
            node_name: &work.name,
            instance_type: choice.instance_type,
            token: work.order.inputs.token.clone(),
            order: Some(work.order),
        };
        let fetched = Fetched::of(&work.order.inputs.class).ok_or_else(|| CloudError::Create {
            reason: "BootstrapNotReady",
            message: format!(
                "it is not known what instances of {NODE_CLASS_KIND} {:?} join with; see its \
                 condition BootstrapReady",
                work.class.name()
            ),
        })?;
        let text = user_data::class_text(work.class).text(&fetched, &recipient);
        let text = text.map_err(|error| CloudError::NodeClassNotReady(error.to_string()))?;
        if let Some(problem) = networks::untold(&work.class.spec, text.format) {
            return Err(CloudError::NodeClassNotReady(format!(
                "{NODE_CLASS_KIND} {:?} is not ready: {problem}",
                work.class.name()
            ))
            .into());
        }
        let guestinfo = user_data::guestinfo(&text, &work.name, &mark.claim.uid);
        let spec = clone_spec(&Making {
            class: work.class,
            template: image,
            copying: &copying,
            folder: &place.folder.reference,
            pool: &place.compute.pool,
            datastore: &datastore.named.reference,
            storage_policy: work.resolution.storage_policy.as_deref(),
            networks: &place.networks,
            hardware,
            mark: &mark,
            guestinfo: &guestinfo,
        });
        let clone = Method::Clone {
            folder: place.folder.reference.clone(),
            name: work.name.clone(),
            spec: Box::new(spec),
        };
        let alone = self.alone(work).await?;
        // On the heap, so that the calls around it stay small.
        let vm = Box::pin(self.cloned(work, &copying, clone)).await?;
        drop(alone);
        self.finish(work, vm).await
    }

    fn mark(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        place: &Place,
    ) -> Result<Mark, CloudError> {
        let mut labels = choice.labels();
        if let Some(region) = &place.region {
            labels.entry(label::REGION.to_owned()).or_insert_with(|| region.clone());
        }
        let own = |key: &str| labels.get(key).cloned().unwrap_or_default();
        Ok(Mark {
            cluster: self.settings.cluster.clone(),
            cluster_uid: self.cluster_uid()?.to_owned(),
            claim: work.order.claim.clone(),
            pool: work.order.node_pool.clone().unwrap_or_default(),
            class: work.class.name().to_owned(),
            class_hash: work.class.hash().to_owned(),
            instance_type: choice.instance_type.name.clone(),
            zone: own(label::ZONE),
            region: own(label::REGION),
            image: work.resolution.image.instance_uuid.clone(),
            made_here: true,
            join_data_emptied: false,
            labels,
            ..Mark::default()
        })
    }
}

/// The ways to make an instance: a type in a zone, in each of the zone's datastores.
struct InDatastores<'w> {
    inner: &'w Inner,
    work: &'w Work<'w>,
    placing: &'w Placing<'w>,
}

impl InDatastores<'_> {
    fn place(&self, choice: &Choice<'_>) -> Option<&Place> {
        self.work.resolution.place(zone_of(choice.offering))
    }
}

#[async_trait]
impl Ways for InDatastores<'_> {
    type Storage = Datastore;

    fn trying(&self, choice: &Choice<'_>) {
        self.placing.try_in(self.work, choice);
    }

    async fn storages(&self, choice: &Choice<'_>) -> Result<Option<Vec<Datastore>>, CloudError> {
        let Some(place) = self.place(choice) else { return Ok(None) };
        Ok(Some(self.inner.datastores(place).await?))
    }

    async fn make(&self, choice: &Choice<'_>, datastore: &Datastore) -> Result<Instance, Refused> {
        let Some(place) = self.place(choice) else {
            return Err(Refused::Stale(format!("zone {:?} has gone", choice.zone())));
        };
        Box::pin(self.inner.make(self.work, choice, place, datastore)).await
    }

    fn remember(&self, scarce: Scarce) {
        self.inner.state().unavailable.remember(scarce, self.inner.now());
    }

    fn space(&self, datastore: &Datastore) -> Scarce {
        datastore.space()
    }

    fn remedy_for_room(&self, choice: &Choice<'_>) -> String {
        let path = self.place(choice).map_or("", |place| place.compute.named.path.as_str());
        format!("make room in {path}, or give the class more places with spec.zones")
    }

    fn remedy_for_space(&self, datastore: &Datastore) -> String {
        format!(
            "make room in {}, or have spec.datastoreSelector lead to more datastores",
            datastore.named.path
        )
    }

    fn no_choice(&self) -> String {
        "no size of the class serves the claim and can be had now; sizes that had no room are \
         offered again after 3 minutes, others have to be added to spec.instanceTypes"
            .to_owned()
    }
}
