//! Resolves capacity buffers and writes the result into their status.

use std::{sync::Arc, time::Duration};

use joiner_api::capacity_buffer::{CapacityBuffer, CapacityBufferSpec};
use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::Resource;

use super::{referred, unreadable};
use crate::{
    claims::{name, uid},
    cluster::Lock,
    conditions::{Conditioned, READY_FOR_PROVISIONING, Status},
    context::Context,
    controller::{Controller, Next},
    index::buffers::{ACTIVE_CAPACITY, Unresolved, resolve},
    provisioning::Triggers,
    queue::Backoff,
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// How often an unchanged buffer is examined. Each examination causes a plan, so room that was used
/// is created again.
const AGAIN: Duration = Duration::from_secs(30);

/// Resolves each buffer, and asks for a plan with its room.
#[derive(Debug)]
pub struct Buffers {
    context: Context,
    plans: Arc<Triggers>,
}

/// The resolved size of a buffer.
#[derive(Debug)]
struct Demand {
    replicas: i32,
    template_generation: Option<i64>,
}

impl Buffers {
    /// Says what buffers come to, and asks for plans there.
    pub fn new(context: Context, plans: Arc<Triggers>) -> Self {
        Self { context, plans }
    }
}

impl Controller for Buffers {
    type Key = Key;

    const NAME: &'static str = "capacitybuffer";
    const BACKOFF: Backoff = Backoff::REASONABLE;

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::CapacityBuffer(diff) => {
                let is_news = is_news(diff, |buffer| buffer.spec.clone());
                diff.new.iter().filter(|_| is_news).for_each(|buffer| add(buffer.key()));
            }
            Change::PodTemplate(diff) => {
                let is_meant = |spec: &CapacityBufferSpec, name: &str| {
                    spec.pod_template_ref.as_ref().is_some_and(|found| found.name == name)
                };
                add_referring(world, &diff.latest().metadata, is_meant, add);
            }
            Change::Deployment(diff) if is_news(diff, |workload| workload.spec.clone()) => {
                add_scaling(world, &**diff.latest(), add);
            }
            Change::StatefulSet(diff) if is_news(diff, |workload| workload.spec.clone()) => {
                add_scaling(world, &**diff.latest(), add);
            }
            Change::ReplicaSet(diff) if is_news(diff, |workload| workload.spec.clone()) => {
                add_scaling(world, &**diff.latest(), add);
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let found = self.context.cache.read(|world| {
            let buffer = world.capacity_buffers.get(key)?;
            let objects = referred(world, buffer);
            let demand = resolve(buffer, &objects).map(|resolved| Demand {
                replicas: resolved.replicas,
                template_generation: resolved.template_generation,
            });
            // An unreadable object exists.
            let invalid = unreadable(world, buffer).map(|why| Unresolved::Invalid(why.to_owned()));
            let demand = demand.map_err(|why| invalid.unwrap_or(why));
            Some((Arc::clone(buffer), demand))
        });
        let Some((buffer, demand)) = found else { return Ok(Next::Done) };
        let mut said = CapacityBuffer::clone(&buffer);
        say(&mut said, &demand, self.context.now());
        self.context.cluster.patch_status(&*buffer, &said, Lock::Version).await?;
        if demand.is_ok() {
            self.plans.ask(uid(&buffer.metadata));
        }
        Ok(Next::After(AGAIN))
    }
}

/// Writes the resolved size into a buffer's status. The previous size stays while the new one is
/// unknown.
fn say(buffer: &mut CapacityBuffer, demand: &Result<Demand, Unresolved>, now: jiff::Timestamp) {
    let strategy = buffer.spec.provisioning_strategy.clone().filter(|text| !text.is_empty());
    let template = buffer.spec.pod_template_ref.clone();
    let status = buffer.status.get_or_insert_default();
    status.provisioning_strategy = Some(strategy.unwrap_or_else(|| ACTIVE_CAPACITY.to_owned()));
    match demand {
        Ok(Demand { replicas, template_generation }) => {
            status.replicas = Some(*replicas);
            status.pod_template_ref = template;
            status.pod_template_generation = *template_generation;
            buffer.conditions_mut(now).set(
                READY_FOR_PROVISIONING,
                Status::True,
                "Resolved",
                "Pod template resolved successfully",
            );
        }
        Err(why) => buffer.conditions_mut(now).set(
            READY_FOR_PROVISIONING,
            Status::False,
            why.reason(),
            &why.to_string(),
        ),
    }
}

/// Whether an object came, went, or says something else than before.
fn is_news<T, S: PartialEq>(diff: &Diff<T>, says: impl Fn(&T) -> S) -> bool {
    diff.old.as_deref().map(&says) != diff.new.as_deref().map(&says)
}

/// The buffers that are for a workload.
fn add_scaling<W>(world: &World, workload: &W, add: &mut dyn FnMut(Key))
where
    W: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let kind = W::kind(&());
    let is_meant = |spec: &CapacityBufferSpec, name: &str| {
        spec.scalable_ref.as_ref().is_some_and(|found| found.kind == kind && found.name == name)
    };
    add_referring(world, workload.meta(), is_meant, add);
}

/// The buffers in an object's namespace that mean it.
fn add_referring(
    world: &World,
    object: &ObjectMeta,
    is_meant: impl Fn(&CapacityBufferSpec, &str) -> bool,
    add: &mut dyn FnMut(Key),
) {
    let buffers = world.capacity_buffers.values();
    let here = buffers.filter(|buffer| buffer.metadata.namespace == object.namespace);
    here.filter(|buffer| is_meant(&buffer.spec, name(object))).for_each(|buffer| add(buffer.key()));
}
