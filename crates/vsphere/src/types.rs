//! The types of classes where no vCenter is asked.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use joiner_cloud::{
    InstanceTypes,
    class::{self, ClassKind},
    types::{ClassTypes, NoTypes, TypeSource},
};
use joiner_core::{
    instance_type::InstanceType,
    label::{self, WellKnown},
};

use crate::{NODE_CLASS, NODE_CLASS_GROUP, NodeClass, Settings, WELL_KNOWN_LABELS};

/// What instances of classes can be like, by the sizes that the classes list.
#[derive(Debug, Default)]
pub struct ClassSizes {
    settings: Settings,
    /// Pools of one class share its types.
    known: RefCell<BTreeMap<String, ClassTypes>>,
}

impl ClassSizes {
    /// Sizes with these prices, and with this share of memory hidden.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    fn types_of(&self, class: &class::NodeClass) -> Result<ClassTypes, NoTypes> {
        let read = NodeClass::read(&class.object())
            .map_err(|error| NoTypes::Unreadable(error.to_string()))?;
        let instances = read
            .instances(&self.settings)
            .map_err(|not_ready| NoTypes::NotReady(not_ready.to_string()))?;
        let types: InstanceTypes = instances.types.into_iter().map(Arc::new).collect();
        let labels = labels_of(&types);
        Ok(ClassTypes { types, labels, notes: instances.notes, ..ClassTypes::default() })
    }
}

impl TypeSource for ClassSizes {
    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        well_known()
    }

    fn class_types(&self, _pool: &str, class: &class::NodeClass) -> Result<ClassTypes, NoTypes> {
        if let Some(known) = self.known.borrow().get(&class.name) {
            return Ok(known.clone());
        }
        let types = self.types_of(class)?;
        self.known.borrow_mut().insert(class.name.clone(), types.clone());
        Ok(types)
    }
}

/// The labels that the provider fills in, and what users must not set.
pub(crate) fn well_known() -> WellKnown {
    WellKnown::with(WELL_KNOWN_LABELS.map(str::to_owned)).restricting([NODE_CLASS_GROUP.to_owned()])
}

/// The labels that a class gave to its types besides those of Karpenter and of this provider.
pub fn labels_of(types: &[Arc<InstanceType>]) -> Vec<String> {
    let keys = types.iter().flat_map(|own| own.requirements.iter()).map(|(key, _)| key);
    let own = keys.filter(|key| !label::WELL_KNOWN.contains(key));
    let mut labels: Vec<String> =
        own.filter(|key| !WELL_KNOWN_LABELS.contains(key)).map(str::to_owned).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}
