//! How classes become instance types.

use std::sync::Arc;

use joiner_core::{evenness::ZoneRoom, label::WellKnown};

use crate::{
    CloudProvider, InstanceTypes,
    class::{ClassKind, NodeClass},
};

/// How the classes of a cloud become instance types: by a provider while a controller runs, or from
/// the classes alone where a command plans without the cloud.
pub trait TypeSource {
    /// The kinds of `NodeClass` that it knows.
    fn class_kinds(&self) -> &'static [ClassKind];

    /// The labels that the cloud fills in besides Karpenter's own, and what it does not let users
    /// set.
    fn well_known(&self) -> WellKnown;

    /// The label that tells reservations apart, where the cloud has reservations.
    fn reservation_id_label(&self) -> Option<String> {
        None
    }

    /// Every type that instances of a pool and its class can have.
    fn class_types(&self, pool: &str, class: &NodeClass) -> Result<ClassTypes, NoTypes>;
}

/// The types of a class, with their room and labels.
#[derive(Debug, Clone, Default)]
pub struct ClassTypes {
    /// The types.
    pub types: InstanceTypes,
    /// The free room of the class's zones, as far as it is known.
    pub room: ZoneRoom,
    /// Labels that the class itself gives to its types. Pods may ask for them.
    pub labels: Vec<String>,
    /// Notes for the author of the class about unexpected results.
    pub notes: Vec<String>,
}

/// Why a class has no types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTypes {
    /// The API server would refuse the class.
    Unreadable(String),
    /// No instance can be made of it now.
    NotReady(String),
}

impl TypeSource for Arc<dyn CloudProvider> {
    fn class_kinds(&self) -> &'static [ClassKind] {
        CloudProvider::class_kinds(&**self)
    }

    fn well_known(&self) -> WellKnown {
        CloudProvider::well_known(&**self)
    }

    fn reservation_id_label(&self) -> Option<String> {
        CloudProvider::reservation_id_label(&**self).map(str::to_owned)
    }

    fn class_types(&self, pool: &str, class: &NodeClass) -> Result<ClassTypes, NoTypes> {
        let types = self.instance_types(pool, class);
        let types = types.map_err(|error| NoTypes::NotReady(error.to_string()))?;
        let (room, labels) = (self.room(class), self.labels_of(&types));
        Ok(ClassTypes { types, room, labels, notes: Vec::new() })
    }
}
