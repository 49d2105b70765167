//! Capacity buffers: room that is kept free for future pods.
//!
//! [`Buffers`] resolves each `CapacityBuffer` and asks for a plan. [`write_provisioning`] reports
//! after each plan whether the room is free. [`crate::index::buffers`] resolves buffers and creates
//! their virtual pods.

mod controller;
mod provisioning;

pub use self::{controller::Buffers, provisioning::write_provisioning};
use crate::{
    objects::Objects,
    world::{Key, World},
};
use joiner_api::capacity_buffer::CapacityBuffer;

/// The objects that a buffer refers to, as far as they are there.
fn referred(world: &World, buffer: &CapacityBuffer) -> Objects {
    let mut objects = Objects::default();
    let key = |name: &str| Key::new(buffer.metadata.namespace.as_deref(), name);
    if let Some(reference) = &buffer.spec.pod_template_ref {
        objects.pod_templates.extend(world.pod_templates.get(&key(&reference.name)).cloned());
    }
    if let Some(reference) = &buffer.spec.scalable_ref {
        let key = key(&reference.name);
        match reference.kind.as_str() {
            "Deployment" => objects.deployments.extend(world.deployments.get(&key).cloned()),
            "StatefulSet" => objects.stateful_sets.extend(world.stateful_sets.get(&key).cloned()),
            "ReplicaSet" => objects.replica_sets.extend(world.replica_sets.get(&key).cloned()),
            // What cannot be referred to is told when the buffer is resolved.
            _ => {}
        }
    }
    objects
}

/// Why not all buffers can be resolved; none if they can. The room of an unreadable buffer would
/// look unused.
pub(crate) fn first_unreadable(world: &World) -> Option<&str> {
    world.capacity_buffers.values().find_map(|buffer| unreadable(world, buffer))
}

/// Why what a buffer refers to cannot be read; none if it can be, or is not there.
fn unreadable<'w>(world: &'w World, buffer: &CapacityBuffer) -> Option<&'w str> {
    let key = |name: &str| Key::new(buffer.metadata.namespace.as_deref(), name);
    if let Some(reference) = &buffer.spec.pod_template_ref {
        return world.pod_templates.why_unreadable(&key(&reference.name));
    }
    let reference = buffer.spec.scalable_ref.as_ref()?;
    let key = key(&reference.name);
    match reference.kind.as_str() {
        "Deployment" => world.deployments.why_unreadable(&key),
        "StatefulSet" => world.stateful_sets.why_unreadable(&key),
        "ReplicaSet" => world.replica_sets.why_unreadable(&key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::{Deployment, ReplicaSet, StatefulSet},
            core::v1::PodTemplate,
        },
        apimachinery::pkg::apis::meta::v1::ObjectMeta,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::world::Kept;

    /// A cluster with a buffer of this spec.
    fn world(spec: Value) -> World {
        let metadata = ObjectMeta {
            name: Some("spare".to_owned()),
            namespace: Some("shop".to_owned()),
            resource_version: Some("1".to_owned()),
            ..ObjectMeta::default()
        };
        let spec = serde_json::from_value(spec).expect("a spec");
        let mut world = World::default();
        world.put(CapacityBuffer { metadata, spec, ..CapacityBuffer::default() }, true);
        world
    }

    type Spoil = fn(&mut World, &str, &str);

    fn cannot_be_read<T: Kept>(world: &mut World, namespace: &str, name: &str) {
        let why = format!("{} {namespace}/{name} cannot be read", T::KIND);
        T::table_mut(world).put_unreadable(Key::new(Some(namespace), name), 2, why);
    }

    #[test]
    fn what_a_buffer_is_for_may_be_there_and_not_be_readable() {
        let scalable = |kind: &str| json!({"scalableRef": {"kind": kind, "name": "web"}});
        let cases: [(Value, Spoil, &str); 4] = [
            (
                json!({"podTemplateRef": {"name": "web"}}),
                cannot_be_read::<PodTemplate>,
                "PodTemplate",
            ),
            (scalable("Deployment"), cannot_be_read::<Deployment>, "Deployment"),
            (scalable("StatefulSet"), cannot_be_read::<StatefulSet>, "StatefulSet"),
            (scalable("ReplicaSet"), cannot_be_read::<ReplicaSet>, "ReplicaSet"),
        ];
        for (spec, spoil, kind) in cases {
            let mut world = world(spec);
            assert_eq!(first_unreadable(&world), None, "{kind} is not there");
            spoil(&mut world, "shop", "web");
            let why = format!("{kind} shop/web cannot be read");
            assert_eq!(first_unreadable(&world), Some(&*why));
        }
    }

    #[test]
    fn what_no_buffer_is_for_stands_in_nobodys_way() {
        let mut world = world(json!({"scalableRef": {"kind": "Deployment", "name": "web"}}));
        cannot_be_read::<Deployment>(&mut world, "shop", "other");
        cannot_be_read::<Deployment>(&mut world, "elsewhere", "web");
        cannot_be_read::<StatefulSet>(&mut world, "shop", "web");
        assert_eq!(first_unreadable(&world), None);
    }
}
