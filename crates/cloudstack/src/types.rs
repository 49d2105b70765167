//! The types of classes where no CloudStack is asked.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use joiner_cloud::{
    class::{self, ClassKind},
    spec::{NotReady, Reason},
    types::{ClassTypes, NoTypes, TypeSource},
};
use joiner_core::label::WellKnown;

use crate::{
    NODE_CLASS, NODE_CLASS_KIND, NodeClass, labels,
    offerings::{Settings, instance_types},
    resolve::from_status,
};

/// What instances of classes can be like, by the service offerings that their status lists.
#[derive(Debug, Default)]
pub struct StatusOfferings {
    settings: Settings,
    /// Pools of one class share its types.
    known: RefCell<BTreeMap<String, ClassTypes>>,
}

impl StatusOfferings {
    /// Types with these prices, and with this share of memory hidden.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    fn types_of(&self, class: &class::NodeClass) -> Result<ClassTypes, NoTypes> {
        let read = NodeClass::read(&class.object())
            .map_err(|error| NoTypes::Unreadable(error.to_string()))?;
        let mut problems = read.problems();
        problems.retain(|problem| DECIDE_SIZES.contains(&problem.reason));
        if !problems.is_empty() {
            let class = read.name().to_owned();
            let not_ready = NotReady { kind: NODE_CLASS_KIND, class, problems };
            return Err(NoTypes::NotReady(not_ready.to_string()));
        }
        let made = instance_types(&read, &from_status(&read), &self.settings);
        let types = made.types.into_iter().map(Arc::new).collect();
        Ok(ClassTypes { types, notes: made.notes, ..ClassTypes::default() })
    }
}

/// Reasons of problems that leave the sizes of instances unknown. Others, such as a tag that
/// CloudStack does not take, are about how instances are made, which no plan looks at.
const DECIDE_SIZES: [Reason; 2] = [Reason::INVALID_INSTANCE_TYPE, Reason::INVALID_KUBELET];

impl TypeSource for StatusOfferings {
    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        labels::well_known()
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
