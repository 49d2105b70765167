//! What becomes of classes: what is said of them, what instances were made from, and their end.

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

/// Which part of a class is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Everything but its status.
    Object,
    /// Its status.
    Status,
}

/// A class of a provider that is on, or what such classes are made of, and the provider.
fn find_served<'c>(
    context: &'c Context,
    key: &Key,
) -> Option<(Arc<NodeClass>, &'c Arc<dyn CloudProvider>)> {
    let class = context.cache.read(|world| world.node_classes.get(key).cloned())?;
    let (provider, _) = context.providers.judging(&class.group, &class.kind)?;
    Some((class, provider))
}

/// Classes that refer to an object as what they are made of.
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

/// Whether a class is made of an object.
fn refers_to_object(context: &Context, class: &NodeClass, object: &ObjectName) -> bool {
    let provider = context.providers.serving(&class.group, &class.kind);
    provider.is_some_and(|provider| provider.needs(class).objects.contains(object))
}

/// Merges a patch into a class; what the API server answers is known at once. That the class is gone
/// already is as good.
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
