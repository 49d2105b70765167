//! Provider ids of several clouds, compared by their canonical form.

use std::{borrow::Cow, sync::Arc};

use crate::CloudProvider;

/// How provider ids are compared. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct ProviderIds(Arc<[Arc<dyn CloudProvider>]>);

impl ProviderIds {
    /// Ids of these clouds.
    pub(crate) fn of(providers: &[Arc<dyn CloudProvider>]) -> Self {
        Self(providers.into())
    }

    /// The canonical form of an id. Ids of unknown form are canonical already.
    pub fn canonical<'i>(&self, provider_id: &'i str) -> Cow<'i, str> {
        for provider in &*self.0 {
            if let Cow::Owned(canonical) = provider.canonical(provider_id) {
                return Cow::Owned(canonical);
            }
        }
        Cow::Borrowed(provider_id)
    }

    /// Whether two ids are of one instance.
    pub fn are_same(&self, one: &str, other: &str) -> bool {
        one == other || self.canonical(one) == self.canonical(other)
    }
}
