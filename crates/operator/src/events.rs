//! Events: what users see in `kubectl describe`.
//!
//! [`Event`] has a constructor for each event there is, with Karpenter's reason, type and text, so
//! that whoever searches for those still finds them. [`dedupe`] says which are written at all, as a
//! pure function of time; a [`Recorder`] takes events from anywhere without making anybody wait,
//! and a [`Writer`] writes them to the API server in the background.

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

pub use self::{recorder::Recorder, said::Score, writer::Writer};

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// It is.
    Normal,
    /// Somebody may want to look.
    Warning,
}

impl EventType {
    /// Kubernetes' word.
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
    /// Identity.
    pub uid: String,
}

impl Subject {
    /// An object of a kind that is known when the program is built.
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

    /// A provider's settings.
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

/// Something to tell about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The object.
    pub about: Subject,
    /// Whether all is well.
    pub kind: EventType,
    /// Why it is told, in a word that never changes.
    pub reason: Cow<'static, str>,
    /// What is told.
    pub message: String,
    /// What makes it the same event as another one of its reason.
    key: String,
    /// For how long the same is not told again.
    quiet: Duration,
    /// Whether only so many of them are told, whatever they are about.
    limited: bool,
}

impl Event {
    /// For how long the same is not told again, instead of what is usual for the event.
    pub fn quiet_for(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }
}
