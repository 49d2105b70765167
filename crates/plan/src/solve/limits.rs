//! The limits of a pool, and how much of them is left.

use joiner_core::{
    pool::NodePool,
    resources::{NODES, Resources},
    snapshot::Snapshot,
};

use super::{
    amounts::Columns,
    template::{RowSetId, Template, TypeInfo},
};

/// The part of a pool's limits that is left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Remaining {
    /// Pairs of column and amount, without `nodes`.
    pub(super) amounts: Vec<(usize, i64)>,
    /// The number of instances.
    pub(super) nodes: Option<i64>,
    /// Rows within the limits, computed again after the amounts have changed.
    rows: Option<RowSetId>,
    /// The largest amount of each limited resource that an instance of the pool has.
    largest: Vec<i64>,
}

impl Remaining {
    pub(crate) fn new(snapshot: &Snapshot, pool: &NodePool, columns: &Columns) -> Self {
        let mut remaining = pool.limits.clone();
        for node in &snapshot.nodes {
            if !node.leaving && node.pool.as_deref() == Some(pool.name.as_str()) {
                remaining = remaining.minus(&node.counted_capacity());
            }
        }
        let mut left = Self::default();
        for (name, quantity) in remaining.iter() {
            if name == NODES {
                left.nodes = Some(quantity.floor());
            } else if let Some(column) = columns.column(name) {
                left.amounts.push((column, columns.amount(column, quantity)));
            }
        }
        left
    }

    pub(crate) fn unlimited(&self) -> bool {
        self.amounts.is_empty() && self.nodes.is_none()
    }

    /// The rows that one more instance may have; `None` if the pool may have no more instances.
    pub(crate) fn rows(&mut self, template: &mut Template<'_>) -> Option<RowSetId> {
        if self.nodes.is_some_and(|nodes| nodes <= 0) {
            return None;
        }
        if let Some(rows) = self.rows {
            return Some(rows);
        }
        if self.largest.is_empty() {
            let most =
                |column| template.types.iter().map(|info| info.capacity[column]).max().unwrap_or(0);
            self.largest = self.amounts.iter().map(|(column, _)| most(*column)).collect();
        }
        let within =
            self.amounts.iter().zip(&self.largest).all(|((_, left), largest)| largest <= left);
        let rows = if within {
            RowSetId::ALL
        } else {
            template.rows_where(RowSetId::ALL, |info| self.allows(info))
        };
        self.rows = Some(rows);
        Some(rows)
    }

    fn allows(&self, info: &TypeInfo<'_>) -> bool {
        self.amounts.iter().all(|(column, left)| info.capacity[*column] <= *left)
    }

    /// The first limited resource that an instance of this type would exceed, as (column, left).
    pub(crate) fn exceeded_by(&self, info: &TypeInfo<'_>) -> Option<(usize, i64)> {
        self.amounts.iter().copied().find(|(column, left)| info.capacity[*column] > *left)
    }

    /// Subtracts the most that a new claim may use: for each resource, the largest amount among its types.
    ///
    /// COMPAT: upstream does not count the claims of a pass against `nodes` (D6).
    pub(crate) fn take(&mut self, template: &Template<'_>, types: &[usize]) {
        for (column, left) in &mut self.amounts {
            *left -= types
                .iter()
                .map(|position| template.types[*position].capacity[*column])
                .max()
                .unwrap_or(0);
        }
        if let Some(nodes) = &mut self.nodes {
            *nodes -= 1;
        }
        self.rows = None;
    }

    /// Adds the capacity of a removed instance back.
    pub(crate) fn give_back(&mut self, counted_capacity: &Resources, columns: &Columns) {
        for (column, left) in &mut self.amounts {
            let amount = counted_capacity.get(columns.name(*column));
            *left = left.saturating_add(columns.amount(*column, amount));
        }
        if let Some(nodes) = &mut self.nodes {
            *nodes += 1;
        }
        self.rows = None;
    }
}
