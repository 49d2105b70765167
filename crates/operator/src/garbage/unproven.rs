//! Instances with this cluster's name, without its UID, and without a claim. They may belong to
//! another cluster of the same name, so they stay.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use joiner_cloud::{CloudProvider, instance::Instance};

use super::GarbageCollection;
use crate::events::{Event, Subject};

/// The instances of the last report, by cloud.
#[derive(Debug, Default)]
pub(super) struct Unproven(Mutex<BTreeMap<&'static str, Vec<String>>>);

impl Unproven {
    /// Whether these instances differ from the last report.
    fn is_news(&self, cloud: &'static str, ids: &[String]) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.insert(cloud, ids.to_vec());
        before.unwrap_or_default() != ids
    }
}

impl GarbageCollection {
    /// Reports instances that stay, if they differ from the last report.
    pub(super) fn leave_unproven(&self, provider: &dyn CloudProvider, instances: &[Instance]) {
        let mut ids: Vec<String> = instances.iter().map(|own| own.provider_id.clone()).collect();
        ids.sort_unstable();
        if !self.unproven.is_news(provider.name(), &ids) || ids.is_empty() {
            return;
        }
        tracing::warn!(
            provider = provider.name(),
            instances = ids.len(),
            "provider-id" = ids[0],
            "instances do not say which cluster of this name they are of and have no nodeclaim, so \
             they are left alone: remove them by hand, if no other cluster needs them"
        );
        for class in self.context.classes_of(provider.name()) {
            let event = Event::cluster_unproven(&Subject::of_class(&class), &ids);
            self.context.events.tell(event);
        }
    }
}
