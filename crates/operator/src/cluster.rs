//! Writes to the cluster.
//!
//! Every write has a deadline. The API server's answer enters the cache at once, so a controller
//! never decides on a state from before its own write.

mod refusals;

use std::{fmt::Debug, time::Duration};

use joiner_clock::Clock;
use k8s_openapi::{
    ClusterResourceScope, NamespaceResourceScope,
    api::{
        core::v1::{Node, Pod},
        policy::v1::Eviction,
    },
    apimachinery::pkg::apis::meta::v1::{self as meta, DeleteOptions, ObjectMeta},
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

pub use self::refusals::Refusals;
use crate::{
    answers,
    trouble::Trouble,
    world::{Cache, Kept, Key},
};

/// How long the API server may take to answer. The value was chosen and not measured separately.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The scope of a kind: namespaced, or cluster-wide.
pub trait Scoped {
    /// The API of a kind in this scope.
    fn api<K: Resource<DynamicType = (), Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
    ) -> Api<K>;
}

impl Scoped for ClusterResourceScope {
    fn api<K: Resource<DynamicType = (), Scope = Self>>(
        client: Client,
        _namespace: Option<&str>,
    ) -> Api<K> {
        Api::all(client)
    }
}

impl Scoped for NamespaceResourceScope {
    fn api<K: Resource<DynamicType = (), Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
    ) -> Api<K> {
        Api::namespaced(client, namespace.unwrap_or_default())
    }
}

/// A kind that Joiner writes.
pub trait Written:
    Kept + Resource<DynamicType = (), Scope: Scoped> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<T> Written for T where
    T: Kept
        + Resource<DynamicType = (), Scope: Scoped>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

/// Whether a write requires an unchanged resource version. A merge patch replaces whole lists, so a
/// change of a list needs this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// The version must be unchanged; otherwise the write is a conflict.
    Version,
    /// The write always applies.
    None,
}

/// The client for writes. Clones share the same client.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    clock: Clock,
    cache: Cache,
    refusals: Refusals,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// A client that stores answers in `cache`.
    pub fn new(client: Client, clock: Clock, cache: Cache) -> Self {
        Self { client, clock, cache, refusals: Refusals::default() }
    }

    /// The calls that RBAC forbids.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The client, for calls whose answers are not cached.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A cluster-scoped object, read from the API server; none if it does not exist.
    pub async fn get<T: Written>(&self, name: &str) -> Result<Option<T>, Trouble> {
        let what = || format!("get {} {name}", T::KIND);
        self.call(what, self.api::<T>(None).get_opt(name)).await
    }

    /// Creates an object.
    pub async fn create<T: Written>(&self, object: &T) -> Result<T, Trouble> {
        let what = || format!("create {} {}", T::KIND, object.key());
        let created =
            self.call(what, self.api_of(object).create(&PostParams::default(), object)).await?;
        self.cache.wrote(created.clone());
        Ok(created)
    }

    /// Patches `old` to `new`, except the status. Returns none if they are equal.
    pub async fn patch<T: Written>(
        &self,
        old: &T,
        new: &T,
        lock: Lock,
    ) -> Result<Option<T>, Trouble> {
        let Some(mut patch) = difference(&value(old), &value(new)) else { return Ok(None) };
        patch.remove("status");
        self.send(old, patch, lock, "patch", |api, params, patch| {
            Box::pin(async move { api.patch(&name(old), &params, &patch).await })
        })
        .await
    }

    /// Patches the status of `old` to that of `new`. Returns none if they are equal.
    pub async fn patch_status<T: Written>(
        &self,
        old: &T,
        new: &T,
        lock: Lock,
    ) -> Result<Option<T>, Trouble> {
        let Some(mut patch) = difference(&value(old), &value(new)) else { return Ok(None) };
        patch.retain(|field, _| field == "status");
        self.send(old, patch, lock, "patch status of", |api, params, patch| {
            Box::pin(async move { api.patch_status(&name(old), &params, &patch).await })
        })
        .await
    }

    async fn send<'a, T: Written>(
        &'a self,
        old: &'a T,
        mut patch: Map<String, Value>,
        lock: Lock,
        verb: &str,
        send: impl FnOnce(
            Api<T>,
            PatchParams,
            Patch<Value>,
        ) -> futures_util::future::BoxFuture<'a, kube::Result<T>>,
    ) -> Result<Option<T>, Trouble> {
        if patch.is_empty() {
            return Ok(None);
        }
        if lock == Lock::Version {
            let version = old.meta().resource_version.clone();
            let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
            metadata["resourceVersion"] = version.into();
        }
        let what = || format!("{verb} {} {}", T::KIND, old.key());
        let call = send(self.api_of(old), PatchParams::default(), Patch::Merge(patch.into()));
        let patched = self.call(what, call).await?;
        if is_gone(&patched) {
            self.cache.ended::<T>(&patched);
        } else {
            self.cache.wrote(patched.clone());
        }
        Ok(Some(patched))
    }

    /// Removes a finalizer from a node with this UID, even if others change its finalizers at the
    /// same time. A node that is gone is not an error.
    pub async fn remove_finalizer(&self, node: &Node, finalizer: &str) -> Result<(), Trouble> {
        let what = || format!("remove finalizer {finalizer} from Node {}", node.key());
        let patch = Patch::Strategic(json!({"metadata": {
            "uid": node.metadata.uid,
            "$deleteFromPrimitiveList/finalizers": [finalizer],
        }}));
        let nodes = self.api_of(node);
        match self.call(what, nodes.patch(&name(node), &PatchParams::default(), &patch)).await {
            Ok(left) if left.metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty()) => {
                self.cache.wrote(left);
                Ok(())
            }
            Ok(_) => {
                self.cache.gone::<Node>(&node.key());
                Ok(())
            }
            Err(trouble) if trouble.is_not_found() => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Deletes an object with this UID, and not a later one of its name. An object that is gone is
    /// not an error.
    pub async fn delete<T: Written>(&self, object: &T) -> Result<(), Trouble> {
        let what = || format!("delete {} {}", T::KIND, object.key());
        let params = DeleteParams {
            preconditions: only(object.meta().uid.clone()),
            ..DeleteParams::default()
        };
        let deleted = self.call(what, self.api_of(object).delete(&name(object), &params)).await;
        match deleted {
            Ok(answer) => {
                // Deleted objects with finalizers remain.
                answer.left().into_iter().for_each(|left| self.cache.wrote(left));
                Ok(())
            }
            Err(trouble) if trouble.is_not_found() => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Evicts a pod with this UID, and not a later one of its name.
    pub async fn evict(&self, pod: &Key, uid: &str) -> Result<(), Trouble> {
        let what = || format!("evict Pod {pod}");
        // `Api::evict` of kube 5.0 misspells the field of its options, and the API server ignores
        // them.
        let options = DeleteOptions {
            preconditions: Some(meta::Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteOptions::default()
        };
        let metadata = ObjectMeta { name: Some(pod.name().to_owned()), ..ObjectMeta::default() };
        let eviction = Eviction { metadata, delete_options: Some(options) };
        let (pods, params) = (self.pods(pod), PostParams::default());
        let call = pods.create_subresource("eviction", pod.name(), &params, &eviction);
        self.call(what, call).await.map(|_: Value| ())
    }

    /// Deletes a pod with this UID despite its protection, with this grace period in seconds.
    pub async fn delete_pod(
        &self,
        pod: &Key,
        uid: &str,
        grace_seconds: u32,
    ) -> Result<(), Trouble> {
        let what = || format!("delete Pod {pod}");
        let params = DeleteParams {
            grace_period_seconds: Some(grace_seconds),
            preconditions: only(Some(uid.to_owned())),
            ..DeleteParams::default()
        };
        self.call(what, self.pods(pod).delete(pod.name(), &params)).await.map(|_| ())
    }

    /// Makes a call with the deadline, which counts from the moment it is sent. Forbidden calls are
    /// remembered.
    pub async fn call<R>(
        &self,
        what: impl Fn() -> String,
        call: impl Future<Output = kube::Result<R>>,
    ) -> Result<R, Trouble> {
        let outcome = self.call_if_allowed(&what, call).await;
        match &outcome {
            Ok(_) => self.refusals.worked(what),
            Err(trouble) => self.refusals.failed(trouble),
        }
        outcome
    }

    /// The same for a call that is optional.
    pub async fn call_if_allowed<R>(
        &self,
        what: impl Fn() -> String,
        call: impl Future<Output = kube::Result<R>>,
    ) -> Result<R, Trouble> {
        // Boxed, because every caller's future would otherwise contain this large future.
        match self.clock.within(DEADLINE, Box::pin(call)).await {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                let what = what();
                answers::log_undecoded(&what, &error);
                Err(Trouble::Api { what, error: Box::new(error) })
            }
            None => Err(Trouble::Deadline(what())),
        }
    }

    /// The API of an object's kind, in the object's scope.
    fn api_of<T: Written>(&self, object: &T) -> Api<T> {
        self.api(object.meta().namespace.as_deref())
    }

    fn api<T: Written>(&self, namespace: Option<&str>) -> Api<T> {
        <T::Scope as Scoped>::api(self.client.clone(), namespace)
    }

    fn pods(&self, pod: &Key) -> Api<Pod> {
        Api::namespaced(self.client.clone(), pod.namespace().unwrap_or_default())
    }
}

/// Whether a write's answer shows the object for the last time. A deleted object goes with its last
/// finalizer.
fn is_gone<T: Written>(answer: &T) -> bool {
    let metadata = answer.meta();
    let waits = metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
    metadata.deletion_timestamp.is_some() && !waits
}

fn only(uid: Option<String>) -> Option<Preconditions> {
    uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None })
}

fn name<T: Resource>(object: &T) -> String {
    object.meta().name.clone().unwrap_or_default()
}

fn value<T: Serialize>(object: &T) -> Value {
    serde_json::to_value(object).expect("objects of the API can be written")
}

/// The merge patch from `old` to `new`; none if they are equal.
fn difference(old: &Value, new: &Value) -> Option<Map<String, Value>> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return None };
    let mut patch = Map::new();
    for (field, value) in new {
        match old.get(field) {
            Some(known) if known == value => {}
            Some(known) => {
                let inner = difference(known, value).map_or_else(|| value.clone(), Value::Object);
                patch.insert(field.clone(), inner);
            }
            None => {
                patch.insert(field.clone(), value.clone());
            }
        }
    }
    for field in old.keys().filter(|field| !new.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_what_is_new_what_has_changed_and_what_is_gone() {
        let old = json!({"a": 1, "b": {"c": 1, "d": [1, 2]}, "e": 1});
        let new = json!({"a": 1, "b": {"c": 2, "d": [2]}, "f": {"g": null}});
        let patch = json!({"b": {"c": 2, "d": [2]}, "e": null, "f": {"g": null}});
        assert_eq!(difference(&old, &new).map(Value::from), Some(patch));
        assert_eq!(difference(&new, &new), None);
    }
}
