//! Room that is kept free for pods to come: what is said of `CapacityBuffer`s.
//!
//! [`Buffers`] says of each buffer what it comes to, and asks for a plan; [`write_provisioning`] says
//! after each plan whether the room is there. What a buffer comes to, and the pods that stand for it
//! in a plan, are [`crate::index::buffers`]'s.

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
