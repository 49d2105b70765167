//! What is said of classes: whatever their provider finds out about them.

use std::{sync::Arc, time::Duration};

use joiner_api::condition::Condition;
use joiner_cloud::{
    CloudProvider,
    class::{ClassKind, ClassStatus, NodeClass},
};
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    conditions::{ConditionSet, Status},
    context::Context,
    controller::{Controller, Next},
    objects::api_resource,
    queue::Backoff,
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// How often a class is looked at although nothing in the cluster has changed: what it refers to is
/// in the cloud.
const PERIOD: Duration = Duration::from_mins(5);

/// Keeps the status of each class as its provider sees it.
#[derive(Debug)]
pub struct ClassResolution(pub Context);

impl Controller for ClassResolution {
    type Key = Key;

    const NAME: &'static str = "nodeclass.status";
    const BACKOFF: Backoff = Backoff::REASONABLE;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodeClass(diff) = change {
            diff.new.iter().for_each(|class| add(class.key()));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let class = self.0.cache.read(|world| world.node_classes.get(key).cloned());
        let Some(class) = class.filter(|class| class.deleting.is_none()) else {
            return Ok(Next::Done);
        };
        let Some(provider) = self.0.providers.serving(&class.group, &class.kind) else {
            return Ok(Next::Done);
        };
        let found = provider.resolve_class(&class).await?;
        if let Some(patch) = self.patch(&class, found) {
            self.write(provider, &class, patch).await?;
        }
        Ok(Next::After(PERIOD))
    }
}

impl ClassResolution {
    /// What has to be written so that the object says what was found.
    fn patch(&self, class: &NodeClass, found: ClassStatus) -> Option<Value> {
        let written: Vec<Condition> =
            serde_json::from_value(class.status["conditions"].clone()).unwrap_or_default();
        let mut conditions = written.clone();
        let parts: Vec<&'static str> = found.conditions.iter().map(|part| part.type_).collect();
        let mut set = ConditionSet::new(&mut conditions, parts, class.generation, self.0.now());
        for part in &found.conditions {
            let (status, default) = match part.holds {
                Some(true) => (Status::True, part.type_),
                Some(false) => (Status::False, "NotReady"),
                None => (Status::Unknown, "Unknown"),
            };
            let reason = if part.reason.is_empty() { default } else { &part.reason };
            set.set(part.type_, status, reason, &part.message);
        }
        set.sum_up();
        let mut status = found.fields;
        status.retain(|field, value| class.status[field.as_str()] != *value);
        // A class of which there is nothing to say is ready as soon as it says so.
        if conditions != written && !(found.conditions.is_empty() && is_ready(class)) {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        (!status.is_empty()).then(|| json!({ "status": status }))
    }

    async fn write(
        &self,
        provider: &Arc<dyn CloudProvider>,
        class: &NodeClass,
        patch: Value,
    ) -> Result<(), Trouble> {
        let is_it = |kind: &&ClassKind| kind.group == class.group && kind.kind == class.kind;
        let Some(kind) = provider.class_kinds().iter().find(is_it) else { return Ok(()) };
        let resource = api_resource(kind);
        let api: Api<DynamicObject> = Api::all_with(self.0.cluster.client().clone(), &resource);
        let what = || format!("patch status of {} {}", class.kind, class.name);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let call = api.patch_status(&class.name, &params, &patch);
        self.0.cluster.call(what, call).await.map(|_| ())
    }
}

fn is_ready(class: &NodeClass) -> bool {
    class.ready().is_some_and(|(ready, ..)| ready)
}
