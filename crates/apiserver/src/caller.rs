//! Calls from inside the process, without HTTP. The laboratory's kubelets, scheduler and controllers
//! use them. They take the same path through the server as external requests.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Server, Status,
    object::{Key, Object, Resource},
    operation::{DeleteOptions, Operation, PatchKind},
};

/// A caller inside the process, with its own name.
///
/// The name is the field manager of what it writes and the caller in the history.
#[derive(Clone, Debug)]
pub struct Caller {
    server: Server,
    name: Arc<str>,
}

impl Caller {
    pub(crate) fn new(server: Server, name: &str) -> Self {
        Self { server, name: name.into() }
    }

    /// The name it calls under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One object.
    pub fn get(&self, resource: &Resource, key: &Key) -> Result<Arc<Object>, Status> {
        self.server
            .peek(resource, key)
            .ok_or_else(|| Status::not_found(&resource.group, &resource.plural, &key.name))
    }

    /// All objects of a resource in the order of their keys, of one namespace or of all.
    pub fn list(&self, resource: &Resource, namespace: Option<&str>) -> Vec<Arc<Object>> {
        self.server.peek_all(resource, namespace)
    }

    /// Creates an object; namespace and name (or generateName) are those in its metadata.
    pub fn create(&self, resource: &Resource, object: Value) -> Result<Arc<Object>, Status> {
        let key = key_of(&object);
        self.call(Operation::create(resource, &key.namespace, object))
    }

    /// Replaces an object. A resourceVersion in its metadata must be the current one.
    pub fn update(&self, resource: &Resource, object: Value) -> Result<Arc<Object>, Status> {
        let key = key_of(&object);
        self.call(Operation::update(resource, key, None, object))
    }

    /// Replaces an object's status.
    pub fn update_status(&self, resource: &Resource, object: Value) -> Result<Arc<Object>, Status> {
        let key = key_of(&object);
        self.call(Operation::update(resource, key, Some("status"), object))
    }

    /// Merges a JSON merge patch into an object or one of its subresources.
    pub fn merge(
        &self,
        resource: &Resource,
        key: &Key,
        subresource: Option<&'static str>,
        patch: Value,
    ) -> Result<Arc<Object>, Status> {
        self.call(Operation::patch(resource, key.clone(), subresource, PatchKind::Merge, patch))
    }

    /// Deletes an object.
    pub fn delete(
        &self,
        resource: &Resource,
        key: &Key,
        options: DeleteOptions,
    ) -> Result<(), Status> {
        self.server.execute(&self.name, Operation::delete(resource, key.clone(), options))?;
        Ok(())
    }

    /// Evicts a pod; refused with 429 while a budget does not allow it.
    pub fn evict(&self, pod: &Key) -> Result<(), Status> {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": &*pod.namespace, "name": &*pod.name},
        });
        let pods = Resource::new("", "pods");
        self.server.execute(
            &self.name,
            Operation::create_subresource(&pods, pod.clone(), "eviction", eviction),
        )?;
        Ok(())
    }

    /// Binds a pod to a node.
    pub fn bind(&self, pod: &Key, node: &str) -> Result<(), Status> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": &*pod.namespace, "name": &*pod.name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let pods = Resource::new("", "pods");
        self.server.execute(
            &self.name,
            Operation::create_subresource(&pods, pod.clone(), "binding", binding),
        )?;
        Ok(())
    }

    fn call(&self, operation: Operation) -> Result<Arc<Object>, Status> {
        let resource = operation.resource.clone();
        let outcome = self.server.execute(&self.name, operation)?;
        outcome.object.ok_or_else(|| Status::internal(format!("no {resource} in the answer")))
    }
}

fn key_of(object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    Key::new(text("namespace"), text("name"))
}
