//! The provider of the laboratory's instances.

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use joiner_cloud::{
    CloudError, CloudProvider, Deletion, InstanceTypes, RepairPolicy,
    choice::{self, Choice},
    class::{ClassCondition, ClassKind, ClassStatus, NodeClass},
    cluster::Cluster,
    inputs::ClassInputs,
    instance::Instance,
    listing::Listing,
    order::{ClaimId, Order},
};
use joiner_core::label::{self, WellKnown};

use super::{
    class::{LAB_NODE_CLASS, LabClass},
    data_centre::{DataCentre, Guest, Refusal},
    offered::Offered,
};
use crate::{Connection, cluster::instances::InstanceSpec};

/// What the provider's names of instances begin with.
const PREFIX: &str = "lab://";
/// How long the cloud may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);
/// How many instances are listed at once.
const PAGE_SIZE: usize = 100;

const REPAIR_POLICIES: &[RepairPolicy] = &[
    RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(10) },
    RepairPolicy { condition: "Ready", status: "Unknown", toleration: Duration::from_mins(10) },
];

/// Makes instances in the laboratory's data centre for one cluster.
#[derive(Debug)]
pub struct LabCloud {
    connection: Connection,
    centre: DataCentre,
    cluster: String,
    cluster_uid: OnceLock<String>,
    offered: Mutex<Offered>,
}

impl LabCloud {
    /// Makes instances with this cluster's mark through a client's connection.
    pub fn new(connection: &Connection, centre: &DataCentre, cluster: &str) -> Self {
        Self {
            connection: connection.clone(),
            centre: centre.clone(),
            cluster: cluster.to_owned(),
            cluster_uid: OnceLock::new(),
            offered: Mutex::default(),
        }
    }

    /// The cluster, as marks name it: clusters of one name are told apart once their identity is
    /// known.
    fn owner(&self) -> String {
        match self.cluster_uid.get() {
            Some(uid) => format!("{}/{uid}", self.cluster),
            None => self.cluster.clone(),
        }
    }

    /// Has the cloud do something, and takes note of what came of it.
    async fn call<T>(
        &self,
        verb: &'static str,
        take_effect: impl FnOnce(&DataCentre, Timestamp) -> (T, String) + Send,
    ) -> Result<T, CloudError> {
        let clock = self.connection.clock();
        let call = self.connection.call_cloud(verb, || take_effect(&self.centre, clock.now()));
        match tokio::time::timeout_at(clock.instant_after(DEADLINE), call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(CloudError::Unknown(format!("{verb} instances: {why}"))),
            Err(_) => {
                let seconds = DEADLINE.as_secs();
                let message = format!("{verb} instances: no answer within {seconds} s");
                Err(CloudError::Unknown(message))
            }
        }
    }

    async fn find(&self, name: &str) -> Result<Option<Instance>, CloudError> {
        let found = self
            .call("get", |centre, now| {
                let found = centre.find(name, now);
                let told = found.as_ref().map_or("is not there", |_| "is there");
                (found, format!("get instance {name}: {told}"))
            })
            .await?;
        Ok(found.filter(|guest| guest.is_of(&self.owner(), name)).map(|guest| guest.instance))
    }

    async fn of_claim(&self, claim: &ClaimId) -> Result<Option<Instance>, CloudError> {
        self.call("list", |centre, now| {
            let found = centre.of_claim(&self.owner(), claim, now);
            let told = found.as_ref().map_or("none", |instance| &instance.provider_id).to_owned();
            (found, format!("list instances of NodeClaim {}: {told}", claim.name))
        })
        .await
    }

    fn offered(&self) -> MutexGuard<'_, Offered> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every type, with what is known of where there is no room.
    fn types(&self) -> InstanceTypes {
        self.offered().types(self.centre.zones(), self.connection.clock().now())
    }

    /// Makes an instance of a type in a zone.
    async fn make(
        &self,
        order: &Order,
        class: &LabClass,
        choice: &Choice<'_>,
        zone: &str,
    ) -> Result<Result<Instance, Refusal>, CloudError> {
        let name = &order.claim.name;
        let labels = choice.labels();
        let spec = instance_spec(order, class, choice);
        self.call("create", |centre, now| {
            let instance = Instance {
                provider_id: spec.provider_id.clone(),
                claim: Some(order.claim.clone()),
                image_id: Some(class.image.clone()),
                labels,
                capacity: spec.capacity.clone(),
                allocatable: spec.allocatable.clone(),
                created: Some(now),
                ..Instance::default()
            };
            let (cluster, removal_delay) = (self.owner(), class.removal_delay);
            let made = centre.make(Guest { cluster, instance, removal_delay }, spec, zone, now);
            let told = match &made {
                Ok((_, host)) => format!("{} on {host}", choice.instance_type.name),
                Err(Refusal::NameTaken) => "the name is taken".to_owned(),
                Err(Refusal::NoRoom) => {
                    format!("no room for {} in {zone}", choice.instance_type.name)
                }
            };
            (made.map(|(instance, _)| instance), format!("create instance {name}: {told}"))
        })
        .await
    }
}

/// What boots: a node that registers with everything the order says.
fn instance_spec(order: &Order, class: &LabClass, choice: &Choice<'_>) -> InstanceSpec {
    let mut labels = order.labels.clone();
    labels.extend(order.requirements.single_values());
    labels.extend(choice.labels());
    InstanceSpec {
        provider_id: format!("{PREFIX}{}", order.claim.name),
        labels,
        taints: order.all_taints(),
        capacity: choice.instance_type.offered_capacity(choice.offering),
        allocatable: choice.instance_type.allocatable(choice.offering),
        boot_delay: class.boot_delay,
        join_delay: class.join_delay,
        ready_delay: class.ready_delay,
        ..InstanceSpec::new(&order.claim.name)
    }
}

#[async_trait]
impl CloudProvider for LabCloud {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn begin(&self, cluster: &Cluster) {
        self.cluster_uid.get_or_init(|| cluster.uid.clone());
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        &[LAB_NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        WellKnown::default()
    }

    fn launch_timeout(&self) -> Duration {
        Duration::from_mins(5)
    }

    async fn resolve_class(
        &self,
        class: &NodeClass,
        _inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let problem = LabClass::read(class).err();
        let condition = ClassCondition {
            type_: "Valid",
            holds: Some(problem.is_none()),
            blocks: true,
            reason: problem.as_ref().map(|_| "InvalidDelay".to_owned()).unwrap_or_default(),
            message: problem.unwrap_or_default(),
        };
        Ok(ClassStatus { conditions: vec![condition], ..ClassStatus::default() })
    }

    fn instance_types(&self, _pool: &str, _class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        Ok(self.types())
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        if let Some((false, _, message)) = order.class.ready() {
            return Err(CloudError::NodeClassNotReady(message.to_owned()));
        }
        let class = LabClass::read(&order.class).map_err(CloudError::NodeClassNotReady)?;
        if let Some(instance) = self.of_claim(&order.claim).await? {
            return Ok(instance);
        }
        let types = self.types();
        let mut choices: Vec<_> = choice::every(order, &types, &WellKnown::default()).collect();
        choices.sort_by(|a, b| a.price.total_cmp(&b.price));
        for choice in choices {
            let labels = choice.labels();
            let zone = labels.get(label::ZONE).map_or("", String::as_str);
            match self.make(order, &class, &choice, zone).await? {
                Ok(instance) => return Ok(instance),
                Err(Refusal::NoRoom) => {
                    let now = self.connection.clock().now();
                    self.offered().is_full(&choice.instance_type.name, zone, now);
                }
                Err(Refusal::NameTaken) => {
                    return Err(CloudError::Create {
                        reason: "NameTaken",
                        message: format!(
                            "instance {:?} exists and was not made for NodeClaim {}: remove it",
                            order.claim.name, order.claim.name
                        ),
                    });
                }
            }
        }
        Err(CloudError::InsufficientCapacity(format!(
            "no host has room for an instance that serves NodeClaim {}: {} and {}",
            order.claim.name, order.requirements, order.requests
        )))
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let found = match provider_id {
            Some(id) => {
                let Some(name) = id.strip_prefix(PREFIX) else { return Ok(Deletion::Gone) };
                // Another instance of this name is not meant.
                let is_meant = |instance: &Instance| {
                    instance.claim.as_ref().is_none_or(|own| own.uid == claim.uid)
                };
                self.find(name).await?.filter(is_meant)
            }
            None => self.of_claim(claim).await?,
        };
        let Some(instance) = found else { return Ok(Deletion::Gone) };
        let name = instance.provider_id.trim_start_matches(PREFIX);
        self.call("delete", |centre, now| {
            centre.remove(name, now);
            (Deletion::Requested, format!("delete instance {name}"))
        })
        .await
    }

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let Some(name) = provider_id.strip_prefix(PREFIX) else { return Ok(None) };
        let found = self.find(name).await?;
        Ok(found.filter(|instance| instance.may_be_of(claim)))
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        let mut instances = Vec::new();
        let mut after = String::new();
        loop {
            let (page, last) = self
                .call("list", |centre, now| {
                    let page = centre.page(&self.owner(), &after, PAGE_SIZE, now);
                    let told = format!("list instances: {}", page.0.len());
                    (page, told)
                })
                .await?;
            instances.extend(page);
            match last {
                Some(last) => after = last,
                None => return Ok(instances.into()),
            }
        }
    }

    async fn drift(
        &self,
        instance: &Instance,
        class: &NodeClass,
    ) -> Result<Option<String>, CloudError> {
        let wanted = LabClass::read(class).map_err(CloudError::NodeClassNotReady)?.image;
        let differs = instance.image_id.as_ref().is_some_and(|image| *image != wanted);
        Ok(differs.then(|| "ImageDrift".to_owned()))
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        REPAIR_POLICIES
    }
}
