//! The instance types of one pool, prepared for planning.
//!
//! A claim of the pool starts from a template. Its instance types are rows: one for each type, or one for each size
//! if offerings change the type's size. The rows that a set of requirements allows are computed once per set. Among
//! them, only rows that no other row exceeds in every resource (the *front*) decide whether another pod fits.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use joiner_core::{
    instance_type::{InstanceType, allocatable},
    label,
    pod::PodSpec,
    pool::NodePool,
    requirement::{Requirement, Requirements},
    resources::Resources,
    snapshot::{Daemon, Snapshot},
    taint::{Toleration, first_untolerated},
};
use rustc_hash::FxHashMap;

use super::{
    amounts::{self, Columns},
    bits::Bits,
    labels::{Key, LabelSpace, ReqId},
    ports::Ports,
};

/// A set of rows, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowSetId(u32);

/// The host name of instances that no requirement names. No real host has this name.
pub(crate) const UNNAMED_HOST: &str = "";

/// The start of every claim of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Template<'s> {
    pub(crate) pool: &'s NodePool,
    /// The requirements of every claim of the pool, including its labels.
    pub(crate) requirements: ReqId,
    pub(crate) types: Vec<TypeInfo<'s>>,
    rows: Vec<Row>,
    /// Allocatable minus daemons, row after row.
    room: Vec<i64>,
    /// The same, column after column.
    room_by_column: Vec<i64>,
    /// Rows without negative amounts.
    sound: Bits,
    width: usize,
    row_sets: Vec<Bits>,
    row_set_lookup: FxHashMap<Bits, RowSetId>,
    /// Rows whose type and offerings satisfy a set of requirements.
    meeting: FxHashMap<ReqId, Rc<Bits>>,
    fronts: FxHashMap<(ReqId, RowSetId), Rc<Front>>,
    /// Whether any offering is reserved capacity, so that reservations must be tracked.
    pub(crate) has_reserved: bool,
    /// Whether any type limits the number of attached volumes.
    pub(crate) has_volume_limits: bool,
    /// Whether any daemon uses a host port.
    pub(crate) has_daemon_ports: bool,
}

/// One instance type of a template.
#[derive(Debug, Clone)]
pub(crate) struct TypeInfo<'s> {
    pub(crate) instance_type: &'s InstanceType,
    requirements: ReqId,
    /// The capacity that counts against the pool's limits.
    pub(crate) capacity: Vec<i64>,
    /// The daemons that will run on it, by position in the snapshot.
    pub(crate) daemons: Vec<usize>,
    pub(crate) daemon_overhead: Resources,
    daemon_ports: Ports<'s>,
    daemon_volumes: FxHashMap<&'s str, u32>,
    /// The requirements of each offering, in the type's order.
    pub(crate) offerings: Vec<ReqId>,
}

#[derive(Debug, Clone)]
struct Row {
    type_index: usize,
    /// Available offerings of this size, by position.
    offerings: Vec<usize>,
}

/// Rows that no other row exceeds in every resource.
#[derive(Debug, Default)]
pub(crate) struct Front {
    room: Vec<i64>,
    width: usize,
}

impl Front {
    /// Whether `used + added` fits any row.
    #[inline]
    pub(crate) fn fits(&self, used: &[i64], added: &[i64]) -> bool {
        self.room.chunks_exact(self.width).any(|room| amounts::sum_fits(used, added, room))
    }
}

impl RowSetId {
    /// Every row of the template.
    pub(crate) const ALL: Self = Self(0);
}

/// The initial requirements of a claim of `pool`.
///
/// During planning the node is assumed to be registered and initialized, so that daemons which require it are
/// counted. The claim itself has neither requirement.
pub(crate) fn template_requirements(pool: &NodePool) -> Requirements {
    let mut all = Requirements::from_specs(&pool.requirements);
    all.add_all(&Requirements::from_labels(&pool.labels));
    all.add(label::NODE_POOL, Requirement::one_of([pool.name.as_str()]));
    let class = &pool.node_class;
    all.add(
        &label::node_class(&class.group, &class.kind),
        Requirement::one_of([class.name.as_str()]),
    );
    all.add(label::REGISTERED, Requirement::one_of(["true"]));
    all.add(label::INITIALIZED, Requirement::one_of(["true"]));
    all.set(label::HOSTNAME, Requirement::one_of([UNNAMED_HOST]));
    all
}

impl<'s> Template<'s> {
    /// Prepares all types of the pool. The pool's own requirements are applied later.
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        pool: &'s NodePool,
        ignore_dra: bool,
        columns: &Columns,
        labels: &mut LabelSpace,
    ) -> Self {
        let offered = template_requirements(pool);
        let daemons = pool_daemons(snapshot, pool, &offered, ignore_dra);
        let mut template = Self {
            pool,
            requirements: labels.encode(&offered),
            types: Vec::new(),
            rows: Vec::new(),
            room: Vec::new(),
            room_by_column: Vec::new(),
            sound: Bits::new(),
            width: columns.len(),
            row_sets: Vec::new(),
            row_set_lookup: FxHashMap::default(),
            meeting: FxHashMap::default(),
            fronts: FxHashMap::default(),
            has_reserved: false,
            has_volume_limits: false,
            has_daemon_ports: false,
        };
        for instance_type in snapshot.catalog.types(&pool.name) {
            template.push_type(instance_type, &daemons, columns, labels);
        }
        let rows = template.rows.len();
        template.room_by_column = (0..template.width)
            .flat_map(|column| (0..rows).map(move |row| (row, column)))
            .map(|(row, column)| template.room[row * template.width + column])
            .collect();
        template.sound =
            Bits::all(rows).filtered(|row| template.room_of_row(row).iter().all(|room| *room >= 0));
        template.intern_rows(Bits::all(rows));
        template
    }

    fn push_type(
        &mut self,
        instance_type: &'s Arc<InstanceType>,
        daemons: &[(usize, &'s Daemon, Vec<Requirements>)],
        columns: &Columns,
        labels: &mut LabelSpace,
    ) {
        let type_index = self.types.len();
        let mut info = TypeInfo {
            instance_type,
            requirements: labels.encode(&instance_type.requirements),
            capacity: columns.row(&instance_type.capacity),
            daemons: Vec::new(),
            daemon_overhead: Resources::new(),
            daemon_ports: Ports::default(),
            daemon_volumes: FxHashMap::default(),
            offerings: instance_type
                .offerings
                .iter()
                .map(|offering| labels.encode(&offering.requirements))
                .collect(),
        };
        for (index, daemon, alternatives) in daemons {
            let runs = alternatives
                .iter()
                .any(|wanted| instance_type.requirements.intersects(wanted).is_ok());
            if runs {
                info.daemons.push(*index);
                info.daemon_overhead.add(&daemon.spec.requests);
                info.daemon_ports.take(&daemon.spec.host_ports);
                for volume in &daemon.volumes.attached {
                    *info.daemon_volumes.entry(volume.driver.as_str()).or_default() += 1;
                }
            }
        }
        self.has_daemon_ports |= !info.daemon_ports.is_empty();
        self.has_volume_limits |= !instance_type.volume_limits.is_empty();
        self.has_reserved |= instance_type
            .offerings
            .iter()
            .any(|offering| offering.available && offering.is_reserved());

        let overhead = instance_type.overhead.total();
        for offerings in offering_groups(instance_type) {
            let Some(first) = offerings.first().map(|at| &instance_type.offerings[*at]) else {
                continue;
            };
            let capacity = instance_type.capacity.overlaid(&first.capacity);
            let allocatable =
                columns.row(&allocatable(&capacity, &overhead.overlaid(&first.overhead)));
            // An overcommitted instance can take no pods.
            if allocatable.iter().any(|amount| *amount < 0) {
                continue;
            }
            let mut room = allocatable;
            amounts::subtract(&mut room, &columns.row(&info.daemon_overhead));
            self.room.extend(room);
            self.rows.push(Row { type_index, offerings });
        }
        self.types.push(info);
    }

    fn intern_rows(&mut self, rows: Bits) -> RowSetId {
        if let Some(id) = self.row_set_lookup.get(&rows) {
            return *id;
        }
        let id = RowSetId(self.row_sets.len() as u32);
        self.row_sets.push(rows.clone());
        self.row_set_lookup.insert(rows, id);
        id
    }

    pub(crate) fn row_set(&self, id: RowSetId) -> &Bits {
        &self.row_sets[id.0 as usize]
    }

    pub(crate) fn room_of_row(&self, row: usize) -> &[i64] {
        &self.room[row * self.width..(row + 1) * self.width]
    }

    /// The rows of a set whose types satisfy `keep`.
    pub(crate) fn rows_where(
        &mut self,
        base: RowSetId,
        mut keep: impl FnMut(&TypeInfo<'_>) -> bool,
    ) -> RowSetId {
        let rows = self.row_set(base).filtered(|row| keep(&self.types[self.rows[row].type_index]));
        self.intern_rows(rows)
    }

    /// The rows on which daemons leave the host ports of `spec` free.
    pub(crate) fn rows_with_ports(&mut self, base: RowSetId, spec: &PodSpec) -> RowSetId {
        self.rows_where(base, |info| info.daemon_ports.are_free(spec.host_ports.iter()))
    }

    /// The rows whose type satisfies the requirements and has an available offering that does.
    pub(crate) fn meeting(&mut self, requirements: ReqId, labels: &LabelSpace) -> Rc<Bits> {
        if let Some(known) = self.meeting.get(&requirements) {
            return Rc::clone(known);
        }
        let rows = Bits::all(self.rows.len()).filtered(|row| {
            let row = &self.rows[row];
            let info = &self.types[row.type_index];
            labels.intersects(info.requirements, requirements)
                && row.offerings.iter().any(|offering| {
                    labels.compatible(requirements, info.offerings[*offering], true)
                })
        });
        let rows = Rc::new(rows);
        self.meeting.insert(requirements, Rc::clone(&rows));
        rows
    }

    /// The rows that decide whether a pod still fits a claim with these requirements and rows.
    pub(crate) fn front(
        &mut self,
        requirements: ReqId,
        base: RowSetId,
        labels: &LabelSpace,
    ) -> Rc<Front> {
        if let Some(known) = self.fronts.get(&(requirements, base)) {
            return Rc::clone(known);
        }
        let rows = self.meeting(requirements, labels).and(self.row_set(base));
        let mut order: Vec<usize> = rows.iter().collect();
        order.sort_by_key(|row| std::cmp::Reverse(self.room_of_row(*row).to_vec()));
        let mut front = Front { room: Vec::new(), width: self.width.max(1) };
        for row in order {
            let room = self.room_of_row(row);
            let beaten = front
                .room
                .chunks_exact(front.width)
                .any(|better| better.iter().zip(room).all(|(better, room)| better >= room));
            if !beaten {
                front.room.extend_from_slice(room);
            }
        }
        let front = Rc::new(front);
        self.fronts.insert((requirements, base), Rc::clone(&front));
        front
    }

    /// The rows that are left for a claim with these requirements, rows and requests.
    pub(crate) fn remaining(
        &mut self,
        requirements: ReqId,
        base: RowSetId,
        requests: &[i64],
        labels: &LabelSpace,
    ) -> Bits {
        let mut rows = self.meeting(requirements, labels).and(self.row_set(base)).and(&self.sound);
        let columns = self.room_by_column.chunks_exact(self.rows.len().max(1));
        for (room, amount) in columns.zip(requests).filter(|(_, amount)| **amount > 0) {
            rows.keep_at_least(room, *amount);
        }
        rows
    }

    /// Those of `rows` that can attach this many volumes of each driver, in addition to the volumes of their
    /// daemons.
    pub(crate) fn with_volumes(&self, rows: &Bits, attached: &BTreeMap<&str, usize>) -> Bits {
        rows.filtered(|row| {
            let info = &self.types[self.rows[row].type_index];
            attached.iter().all(|(driver, count)| {
                info.instance_type.volume_limits.get(*driver).is_none_or(|limit| {
                    let of_daemons = info.daemon_volumes.get(driver).copied().unwrap_or(0);
                    count + of_daemons as usize <= *limit as usize
                })
            })
        })
    }

    /// The distinct types of some rows, in the pool's order.
    pub(crate) fn types_of(&self, rows: &Bits) -> Vec<usize> {
        let mut types: Vec<usize> = rows.iter().map(|row| self.rows[row].type_index).collect();
        types.dedup();
        types
    }

    /// Available offerings of a row that satisfy the requirements, as (type, offering).
    pub(crate) fn offerings(
        &self,
        row: usize,
        requirements: ReqId,
        labels: &LabelSpace,
    ) -> impl Iterator<Item = (usize, usize)> {
        let row = &self.rows[row];
        let info = &self.types[row.type_index];
        row.offerings
            .iter()
            .filter(move |offering| {
                labels.compatible(requirements, info.offerings[**offering], true)
            })
            .map(move |offering| (row.type_index, *offering))
    }

    /// For each key whose `minValues` the types do not reach, the number of their values.
    ///
    /// A type counts with all values it lists for a key, even if the claim is narrower.
    pub(crate) fn short_of_min_values(
        &self,
        requirements: ReqId,
        types: &[usize],
        labels: &LabelSpace,
    ) -> Vec<(Key, u32)> {
        let wanted =
            labels.iter(requirements).filter_map(|(key, req)| Some((key, req.min_values()?)));
        wanted
            .filter_map(|(key, min)| {
                let mut values = Bits::new();
                for position in types {
                    if let Some(listed) = labels
                        .get(self.types[*position].requirements, key)
                        .and_then(|req| req.listed())
                    {
                        values = values.or(listed);
                    }
                }
                let achieved = values.len() as u32;
                (achieved < min).then_some((key, achieved))
            })
            .collect()
    }

    /// The values of a key that any type of the pool lists within the template's requirements. One of the type's
    /// offerings, available or not, must have the value too.
    pub(crate) fn domains(&self, key: Key, labels: &LabelSpace) -> Bits {
        let required = labels.get(self.requirements, key);
        let mut domains = Bits::new();
        let mut defined = false;
        for info in &self.types {
            let Some(listed) = labels.get(info.requirements, key).and_then(|req| req.listed())
            else {
                continue;
            };
            defined = true;
            for value in listed.iter() {
                let offered = info
                    .offerings
                    .iter()
                    .any(|offering| labels.allows(key, labels.get(*offering, key), value));
                if offered && labels.allows(key, required, value) {
                    domains.insert(value);
                }
            }
        }
        // A label that only the pool defines.
        if !defined && let Some(listed) = required.and_then(|req| req.listed()) {
            domains = domains.or(listed);
        }
        domains
    }
}

/// Available offerings, grouped by the size they give the instance. The type's own size comes first.
fn offering_groups(instance_type: &InstanceType) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&Resources, &Resources, Vec<usize>)> = Vec::new();
    for (at, offering) in
        instance_type.offerings.iter().enumerate().filter(|(_, offering)| offering.available)
    {
        let same = groups.iter_mut().find(|(capacity, overhead, _)| {
            **capacity == offering.capacity && **overhead == offering.overhead
        });
        match same {
            Some((_, _, group)) => group.push(at),
            None => groups.push((&offering.capacity, &offering.overhead, vec![at])),
        }
    }
    groups.sort_by_key(|(capacity, overhead, _)| !(capacity.is_empty() && overhead.is_empty()));
    groups.into_iter().map(|(_, _, group)| group).collect()
}

/// The daemons whose pods can run on a pool's instances, with their requirements on a type.
fn pool_daemons<'s>(
    snapshot: &'s Snapshot,
    pool: &NodePool,
    offered: &Requirements,
    ignore_dra: bool,
) -> Vec<(usize, &'s Daemon, Vec<Requirements>)> {
    let well_known = &snapshot.catalog.well_known;
    snapshot
        .daemons
        .iter()
        .enumerate()
        .filter(|(_, daemon)| !(ignore_dra && daemon.spec.uses_dra))
        .filter(|(_, daemon)| daemon_tolerates(&daemon.spec, &pool.taints))
        .filter_map(|(index, daemon)| {
            let alternatives: Vec<Requirements> = daemon
                .spec
                .requirement_alternatives()
                .into_iter()
                .filter(|wanted| offered.is_compatible(wanted, Some(well_known)))
                .collect();
            (!alternatives.is_empty()).then_some((index, daemon, alternatives))
        })
        .collect()
}

/// Whether a daemon's pod tolerates these taints. Daemons ignore `PreferNoSchedule`.
pub(crate) fn daemon_tolerates(spec: &PodSpec, taints: &[joiner_core::taint::Taint]) -> bool {
    let mut tolerations = spec.tolerations.clone();
    tolerations.push(Toleration::prefer_no_schedule());
    first_untolerated(taints, &tolerations).is_none()
}
