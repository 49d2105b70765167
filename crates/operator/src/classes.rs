//! The controllers of classes: status, hashes and finalizers.

mod hash;
mod resolution;
mod termination;

use std::sync::Arc;

use http::Request;
use joiner_cloud::{
    CloudProvider,
    class::{ClassKind, NodeClass, ObjectName, Role},
};
use kube::{Resource, api::DynamicObject};
use serde_json::{Value, json};

pub use self::{hash::ClassHashing, resolution::ClassResolution, termination::ClassTermination};
use crate::{
    cluster::Lock,
    context::Context,
    objects::api_resource,
    trouble::Trouble,
    world::{
        Key, World,
        feed::{ClassText, node_class},
    },
};

/// The part of a class that a patch writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Everything except the status.
    Object,
    /// The status.
    Status,
}

/// A class of an enabled provider, or an object that such classes refer to, with the provider.
fn find_served<'c>(
    context: &'c Context,
    key: &Key,
) -> Option<(Arc<NodeClass>, &'c Arc<dyn CloudProvider>)> {
    let class = context.cache.read(|world| world.node_classes.get(key).cloned())?;
    let (provider, _) = context.providers.judging(&class.group, &class.kind)?;
    Some((class, provider))
}

/// Classes that refer to an object.
fn users_of<'w>(
    context: &'w Context,
    world: &'w World,
    object: &NodeClass,
) -> impl Iterator<Item = &'w Arc<NodeClass>> {
    let named = object.object_name();
    let kind = context.providers.judging(&object.group, &object.kind);
    let is_ingredient = kind.is_some_and(|(_, kind)| kind.role == Role::Ingredient);
    let classes = world.node_classes.values().filter(move |_| is_ingredient);
    classes.filter(move |class| refers_to_object(context, class, &named))
}

/// Whether a class refers to an object.
fn refers_to_object(context: &Context, class: &NodeClass, object: &ObjectName) -> bool {
    let provider = context.providers.serving(&class.group, &class.kind);
    provider.is_some_and(|provider| provider.needs(class).objects.contains(object))
}

/// Patches a class and caches the answer. A class that is gone is not an error.
async fn patch(
    context: &Context,
    provider: &dyn CloudProvider,
    class: &NodeClass,
    part: Part,
    mut patch: Value,
    lock: Lock,
) -> Result<(), Trouble> {
    let is_it = |kind: &&ClassKind| kind.group == class.group && kind.kind == class.kind;
    let Some(kind) = provider.class_kinds().iter().find(is_it) else { return Ok(()) };
    if lock == Lock::Version {
        patch["metadata"]["resourceVersion"] = json!(class.version.to_string());
    }
    let path = DynamicObject::url_path(&api_resource(kind), None);
    let (verb, subresource) = match part {
        Part::Object => ("patch", ""),
        Part::Status => ("patch status of", "/status"),
    };
    let what = || format!("{verb} {} {}", class.kind, class.name);
    let request = Request::patch(format!("{path}/{}{subresource}", class.name))
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .map_err(|error| Trouble::Object(format!("{}: {error}", what())))?;
    let call = context.cluster.client().request::<ClassText>(request);
    match context.cluster.call(what, call).await {
        Ok(text) => {
            let written = node_class(kind, text);
            if written.deleting.is_some() && written.finalizers.is_empty() {
                context.cache.ended(&written);
            } else {
                context.cache.wrote(written);
            }
            Ok(())
        }
        Err(trouble) if trouble.is_not_found() => Ok(()),
        Err(trouble) => Err(trouble),
    }
}
