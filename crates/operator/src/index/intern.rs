//! One copy of what pods have in common.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use joiner_core::{
    label::Labels,
    pod::{PodSpec, PodVolumes},
};

/// Hands out shared copies: pods of one workload differ in little more than their names.
#[derive(Debug, Default)]
pub(super) struct Interner {
    specs: HashSet<Arc<PodSpec>>,
    labels: HashSet<Arc<Labels>>,
    volumes: HashSet<Arc<PodVolumes>>,
    names: HashSet<Arc<str>>,
}

impl Interner {
    pub(super) fn spec(&mut self, spec: PodSpec) -> Arc<PodSpec> {
        shared(&mut self.specs, spec)
    }

    pub(super) fn labels(&mut self, labels: Option<&Labels>) -> Arc<Labels> {
        match labels.and_then(|labels| self.labels.get(labels)) {
            Some(known) => Arc::clone(known),
            None => shared(&mut self.labels, labels.cloned().unwrap_or_default()),
        }
    }

    pub(super) fn volumes(&mut self, volumes: PodVolumes) -> Arc<PodVolumes> {
        shared(&mut self.volumes, volumes)
    }

    pub(super) fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

fn shared<T: Hash + Eq>(known: &mut HashSet<Arc<T>>, value: T) -> Arc<T> {
    if let Some(known) = known.get(&value) {
        return Arc::clone(known);
    }
    let value = Arc::new(value);
    known.insert(Arc::clone(&value));
    value
}
