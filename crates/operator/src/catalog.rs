//! Which instance types each pool can have. The controller and the commands that plan beside it build
//! a catalog here, from different sources of types.

use std::{collections::BTreeMap, sync::Arc};

use joiner_api::{node_class_reference::NodeClassReference, node_pool::NodePool};
use joiner_cloud::{
    class::{ClassKind, NodeClass},
    types::{NoTypes, TypeSource},
};
use joiner_core::{instance_type::Catalog, label::WellKnown};

/// The types of pools, and what keeps others from having any.
#[derive(Debug, Default)]
pub struct PoolTypes {
    /// The types.
    pub catalog: Catalog,
    /// Pools that a source serves and that have no types, by name.
    pub closed: BTreeMap<String, Closed>,
    /// What authors of classes may not expect, class by class.
    pub notes: Vec<String>,
}

/// A pool that has no types, although its kind of class is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Its class.
    pub class: NodeClassReference,
    /// Why.
    pub why: Why,
}

/// Why a pool has no types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// There is no such class.
    NoClass,
    /// The class has no types.
    NoTypes(NoTypes),
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.why {
            Why::NoClass => write!(f, "{} {:?} is not there", self.class.kind, self.class.name),
            Why::NoTypes(NoTypes::Unreadable(why) | NoTypes::NotReady(why)) => f.write_str(why),
        }
    }
}

/// The types of pools, by the sources that serve their classes. A pool whose class no source knows is
/// left out. `class` finds a class by kind and name.
pub fn pool_types<C: AsRef<NodeClass>>(
    sources: &[&dyn TypeSource],
    pools: &[Arc<NodePool>],
    class: impl Fn(&ClassKind, &str) -> Option<C>,
) -> PoolTypes {
    let mut all = PoolTypes::default();
    let mut notes = BTreeMap::new();
    let mut parts = Vec::new();
    for source in sources {
        let mut part = Catalog {
            well_known: source.well_known(),
            reservation_id_label: source.reservation_id_label(),
            ..Catalog::default()
        };
        for pool in pools {
            let Some(reference) = class_of(pool) else { continue };
            let Some(kind) = source.class_kinds().iter().find(|kind| is_of(reference, kind)) else {
                continue;
            };
            let name = pool.metadata.name.clone().unwrap_or_default();
            let types = match class(kind, &reference.name) {
                None => Err(Why::NoClass),
                Some(class) => source.class_types(&name, class.as_ref()).map_err(Why::NoTypes),
            };
            match types {
                Ok(own) => {
                    part.well_known = part.well_known.and(&WellKnown::with(own.labels));
                    part.by_pool.insert(name.clone(), own.types);
                    part.room.insert(name, own.room);
                    notes.insert((kind, reference.name.as_str()), own.notes);
                }
                Err(why) => {
                    all.closed.insert(name, Closed { class: reference.clone(), why });
                }
            }
        }
        parts.push(part);
    }
    all.catalog = Catalog::merged(&parts);
    all.notes = notes.into_values().flatten().collect();
    all
}

/// The class that a pool names.
pub fn class_of(pool: &NodePool) -> Option<&NodeClassReference> {
    pool.spec.template.spec.node_class_ref.as_ref()
}

/// Whether a reference is to a class of this kind.
pub fn is_of(reference: &NodeClassReference, kind: &ClassKind) -> bool {
    kind.group == reference.group && kind.kind == reference.kind
}

#[cfg(test)]
mod tests {
    use joiner_cloud::{
        InstanceTypes,
        testing::{TEST_NODE_CLASS, instance_types},
        types::ClassTypes,
    };

    use super::*;

    const DISK: &str = "example.com/disk";

    /// A cloud whose classes bring a label of their own.
    struct Labelled;

    impl TypeSource for Labelled {
        fn class_kinds(&self) -> &'static [ClassKind] {
            &[TEST_NODE_CLASS]
        }

        fn well_known(&self) -> WellKnown {
            WellKnown::default()
        }

        fn class_types(&self, _pool: &str, class: &NodeClass) -> Result<ClassTypes, NoTypes> {
            if class.name == "broken" {
                return Err(NoTypes::NotReady("it says no size".to_owned()));
            }
            let (types, labels): (InstanceTypes, _) = (instance_types(), vec![DISK.to_owned()]);
            let notes = vec![format!("a note about {}", class.name)];
            Ok(ClassTypes { types, labels, notes, ..ClassTypes::default() })
        }
    }

    fn pool(name: &str, class: &str) -> Arc<NodePool> {
        let mut pool = NodePool::default();
        pool.metadata.name = Some(name.to_owned());
        pool.spec.template.spec.node_class_ref = Some(NodeClassReference {
            group: TEST_NODE_CLASS.group.to_owned(),
            kind: TEST_NODE_CLASS.kind.to_owned(),
            name: class.to_owned(),
        });
        Arc::new(pool)
    }

    fn class(_kind: &ClassKind, name: &str) -> Option<Arc<NodeClass>> {
        let class = NodeClass { name: name.to_owned(), ..NodeClass::default() };
        (name != "absent").then(|| Arc::new(class))
    }

    fn types_of(pools: &[Arc<NodePool>]) -> PoolTypes {
        pool_types(&[&Labelled], pools, class)
    }

    #[test]
    fn labels_that_classes_give_to_their_types_can_be_asked_for() {
        let found = types_of(&[pool("a", "general")]);
        assert!(found.catalog.well_known.contains(DISK));
        assert!(!found.catalog.types("a").is_empty());
    }

    #[test]
    fn a_pool_without_types_is_closed_and_says_why() {
        let found = types_of(&[pool("a", "absent"), pool("b", "broken"), pool("c", "general")]);
        let closed: Vec<String> =
            found.closed.iter().map(|(pool, closed)| format!("{pool}: {closed}")).collect();
        let absent = format!("a: {} \"absent\" is not there", TEST_NODE_CLASS.kind);
        assert_eq!(closed, [absent.as_str(), "b: it says no size"]);
        assert!(!found.catalog.types("c").is_empty());
    }

    #[test]
    fn a_note_about_a_class_of_several_pools_is_told_once() {
        let found = types_of(&[pool("a", "general"), pool("b", "general"), pool("c", "batch")]);
        assert_eq!(found.notes, ["a note about batch", "a note about general"]);
    }

    #[test]
    fn a_pool_of_a_class_that_no_source_knows_is_left_out() {
        let mut foreign = NodePool::clone(&pool("a", "general"));
        if let Some(class) = &mut foreign.spec.template.spec.node_class_ref {
            class.group = "cloud.example.com".to_owned();
        }
        let found = types_of(&[Arc::new(foreign)]);
        assert!(found.closed.is_empty() && found.catalog.by_pool.is_empty());
    }
}
