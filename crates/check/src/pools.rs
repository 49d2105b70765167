//! Pools, their types, and the daemons on every instance of a type.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use joiner_core::{
    instance_type::{self, InstanceType, Offering},
    label,
    pod::{AttachedVolume, HostPort},
    pool::{NodePool, Readiness},
    requirement::{Requirement, Requirements},
    snapshot::{Daemon, Snapshot},
};

use crate::{
    amounts::{self, Columns, Room, Row},
    compat,
};

/// A pool and its types.
#[derive(Debug)]
pub(crate) struct PoolFacts<'a> {
    pub(crate) pool: &'a NodePool,
    /// The requirements of every claim of the pool, before it has pods.
    pub(crate) template: Requirements,
    pub(crate) types: Vec<TypeFacts<'a>>,
    by_name: HashMap<&'a str, usize>,
}

/// An instance type of a pool.
#[derive(Debug)]
pub(crate) struct TypeFacts<'a> {
    pub(crate) of: &'a InstanceType,
    pub(crate) daemons: Rc<DaemonLoad<'a>>,
    /// The capacity for pods, for each offering.
    pub(crate) rooms: Vec<Rc<Room>>,
}

/// The use of an instance by its daemons.
#[derive(Debug)]
pub(crate) struct DaemonLoad<'a> {
    /// Requests of the daemons that run there under every interpretation of the rules.
    ///
    /// Karpenter drops alternatives of a daemon's node affinity while it compares types, but never the last one.
    pub(crate) certain: Row,
    /// Requests of all daemons that may run there.
    pub(crate) possible: Row,
    /// Ports of the certain ones.
    pub(crate) ports: BTreeSet<&'a HostPort>,
    /// Volumes of the certain ones.
    pub(crate) volumes: BTreeSet<&'a AttachedVolume>,
}

/// Whether instances can be created for the pool's pods.
pub(crate) fn is_usable(pool: &NodePool) -> bool {
    !pool.is_static && pool.readiness == Readiness::Ready
}

impl<'a> PoolFacts<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        pool: &'a NodePool,
        columns: &Columns<'_>,
        ignore_dra: bool,
    ) -> Self {
        let template = template(pool);
        let mut daemons = Daemons::of_pool(snapshot, pool, &template, ignore_dra);
        let types: Vec<TypeFacts<'a>> = snapshot
            .catalog
            .types(&pool.name)
            .iter()
            .map(|of| TypeFacts {
                of,
                daemons: daemons.on(&of.requirements, columns),
                rooms: rooms(of, columns),
            })
            .collect();
        let by_name =
            types.iter().enumerate().map(|(number, each)| (&*each.of.name, number)).collect();
        Self { pool, template, types, by_name }
    }

    /// The number of the type with this name.
    pub(crate) fn type_named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

/// The pools of a plan's claims and of instances.
pub(crate) fn by_name<'a>(
    snapshot: &'a Snapshot,
    names: &BTreeSet<&str>,
    columns: &Columns<'_>,
    ignore_dra: bool,
) -> BTreeMap<&'a str, PoolFacts<'a>> {
    let named = snapshot.pools.iter().filter(|pool| names.contains(pool.name.as_str()));
    named.map(|pool| (&*pool.name, PoolFacts::new(snapshot, pool, columns, ignore_dra))).collect()
}

/// The requirements of a claim of `pool` before it has pods. The node is assumed to be registered and initialized,
/// for daemons that require it.
fn template(pool: &NodePool) -> Requirements {
    let mut template = Requirements::from_specs(&pool.requirements);
    template.add_all(&Requirements::from_labels(&template_labels(pool)));
    for key in [label::REGISTERED, label::INITIALIZED] {
        template.add(key, Requirement::one_of(["true"]));
    }
    template
}

/// The labels of every claim of `pool`.
pub(crate) fn template_labels(pool: &NodePool) -> label::Labels {
    let class = &pool.node_class;
    let mut labels = pool.labels.clone();
    labels.insert(label::NODE_POOL.to_owned(), pool.name.clone());
    labels.insert(label::node_class(&class.group, &class.kind), class.name.clone());
    labels
}

/// The capacity for pods of an instance of this type, for each of its offerings. Equal offerings share it.
fn rooms(of: &InstanceType, columns: &Columns<'_>) -> Vec<Rc<Room>> {
    let mut distinct: Vec<Rc<Room>> = Vec::new();
    of.offerings
        .iter()
        .map(|offering| {
            let plain = offering.capacity.is_empty() && offering.overhead.is_empty();
            if let (true, Some(first)) = (plain, distinct.first()) {
                return first.clone();
            }
            let room = Rc::new(Room::of(&of.allocatable(offering), columns));
            if plain {
                distinct.push(room.clone());
            }
            room
        })
        .collect()
}

/// The capacity that Karpenter computes for an offering with its own capacity or overhead: it adds them to those of
/// the type, instead of replacing these.
pub(crate) fn room_if_added(
    of: &InstanceType,
    offering: &Offering,
    columns: &Columns<'_>,
) -> Option<Room> {
    if offering.capacity.is_empty() && offering.overhead.is_empty() {
        return None;
    }
    let capacity = of.capacity.plus(&offering.capacity);
    let overhead = of.overhead.total().plus(&offering.overhead);
    Some(Room::of(&instance_type::allocatable(&capacity, &overhead), columns))
}

/// The daemons that tolerate a pool's taints.
struct Daemons<'a> {
    /// Each with its alternatives, and whether the pool can satisfy them.
    all: Vec<(&'a Daemon, Vec<(Requirements, bool)>)>,
    /// Types with the same daemons share one load.
    loads: HashMap<Vec<Presence>, Rc<DaemonLoad<'a>>>,
}

/// Whether a daemon runs on instances of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Presence {
    Absent,
    Possible,
    Certain,
}

impl<'a> Daemons<'a> {
    fn of_pool(
        snapshot: &'a Snapshot,
        pool: &NodePool,
        template: &Requirements,
        ignore_dra: bool,
    ) -> Self {
        let well_known = Some(&snapshot.catalog.well_known);
        let all = snapshot
            .daemons
            .iter()
            .filter(|daemon| !(ignore_dra && daemon.spec.uses_dra))
            .filter(|daemon| {
                compat::first_forbidding(&pool.taints, &daemon.spec.tolerations).is_none()
            })
            .map(|daemon| {
                let alternatives = daemon.spec.requirement_alternatives().into_iter();
                let met = |wanted: Requirements| {
                    let met = template.is_compatible(&wanted, well_known);
                    (wanted, met)
                };
                (daemon, alternatives.map(met).collect())
            })
            .collect();
        Self { all, loads: HashMap::new() }
    }

    /// The load of daemons on an instance of a type with these requirements.
    fn on(&mut self, of_type: &Requirements, columns: &Columns<'_>) -> Rc<DaemonLoad<'a>> {
        let presence: Vec<Presence> = self
            .all
            .iter()
            .map(|(_, alternatives)| {
                let meets = |(wanted, by_pool): &(Requirements, bool)| {
                    *by_pool && of_type.intersects(wanted).is_ok()
                };
                if alternatives.last().is_some_and(meets) {
                    Presence::Certain
                } else if alternatives.iter().any(meets) {
                    Presence::Possible
                } else {
                    Presence::Absent
                }
            })
            .collect();
        if let Some(load) = self.loads.get(&presence) {
            return load.clone();
        }
        let load = Rc::new(self.load(&presence, columns));
        self.loads.insert(presence, load.clone());
        load
    }

    fn load(&self, presence: &[Presence], columns: &Columns<'_>) -> DaemonLoad<'a> {
        let mut load = DaemonLoad {
            certain: columns.zeros(),
            possible: columns.zeros(),
            ports: BTreeSet::new(),
            volumes: BTreeSet::new(),
        };
        for ((daemon, _), presence) in self.all.iter().zip(presence) {
            let requests = columns.row(&daemon.spec.requests);
            if *presence != Presence::Absent {
                amounts::add(&mut load.possible, &requests);
            }
            if *presence == Presence::Certain {
                amounts::add(&mut load.certain, &requests);
                load.ports.extend(&daemon.spec.host_ports);
                load.volumes.extend(&daemon.volumes.attached);
            }
        }
        load
    }
}
