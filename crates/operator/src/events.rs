//! Kubernetes events: what users see in `kubectl describe`.
//!
//! [`Event`] has one constructor for each event, with Karpenter's reason, type and text, so that
//! existing searches still match. [`dedupe`] decides which events are written, as a pure function
//! of time. A [`Recorder`] accepts events without blocking, and a [`Writer`] writes them to the API
//! server in the background.

pub mod dedupe;
mod recorder;
mod said;
#[cfg(test)]
mod tests;
mod writer;

use std::{borrow::Cow, time::Duration};

use joiner_cloud::class::NodeClass;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;

pub use self::{recorder::Recorder, writer::Writer};

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// Nothing is wrong.
    Normal,
    /// A user may need to act.
    Warning,
}

impl EventType {
    /// The name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, where it has one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// The UID.
    pub uid: String,
}

impl Subject {
    /// An object of a typed kind.
    pub fn of<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
        }
    }

    /// A class of a cloud.
    pub fn of_class(class: &NodeClass) -> Self {
        Self {
            api_version: format!("{}/{}", class.group, class.api_version),
            kind: class.kind.clone(),
            namespace: None,
            name: class.name.clone(),
            uid: class.uid.clone(),
        }
    }

    fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.api_version.clone()),
            kind: Some(self.kind.clone()),
            namespace: self.namespace.clone(),
            name: Some(self.name.clone()),
            uid: Some(self.uid.clone()),
            ..ObjectReference::default()
        }
    }
}

/// An event about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The object.
    pub about: Subject,
    /// The type.
    pub kind: EventType,
    /// The reason: a constant word.
    pub reason: Cow<'static, str>,
    /// The message.
    pub message: String,
    /// The part of the content that distinguishes it from other events of the same reason.
    key: String,
    /// How long an equal event is suppressed.
    quiet: Duration,
    /// Whether a common rate limit applies to all events of its kind.
    limited: bool,
}

impl Event {
    /// Sets how long an equal event is suppressed, instead of the default.
    pub fn quiet_for(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }
}
