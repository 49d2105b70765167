//! Resources as rows of numbers, with one column for each requested resource.
//!
//! A plan needs many more sums and comparisons than it has pods, so names are looked up once.

use std::collections::BTreeSet;

use joiner_core::{
    quantity::{Format, Quantity},
    resources::{EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, Resources},
};

/// One amount for each column, in billionths.
pub(crate) type Row = Box<[i128]>;

/// The resources with a column.
#[derive(Debug)]
pub(crate) struct Columns<'a>(Vec<&'a str>);

impl<'a> Columns<'a> {
    /// A column for every resource of `all`.
    pub(crate) fn of(all: impl IntoIterator<Item = &'a Resources>) -> Self {
        let names: BTreeSet<&str> =
            all.into_iter().flat_map(|resources| resources.iter().map(|(name, _)| name)).collect();
        Self(names.into_iter().collect())
    }

    /// The amount of `resources` for each column.
    pub(crate) fn row(&self, resources: &Resources) -> Row {
        self.0.iter().map(|name| resources.get(name).nanos()).collect()
    }

    /// A row of zeros.
    pub(crate) fn zeros(&self) -> Row {
        self.0.iter().map(|_| 0).collect()
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.0
    }

    /// The reason why `wanted` does not fit into `room`, as text.
    pub(crate) fn shortage(&self, wanted: &[i128], room: &Room) -> Option<String> {
        if let Some(name) = &room.negative {
            return Some(format!("it has less than nothing left of {name}"));
        }
        let column = (0..self.0.len()).find(|&i| wanted[i] > room.amounts[i])?;
        let name = self.0[column];
        let needed = self.quantity(column, wanted[column]);
        let there = self.quantity(column, room.amounts[column]);
        Some(format!("{needed} of {name} are needed and there are {there}"))
    }

    /// An amount of a column, in its usual unit.
    pub(crate) fn quantity(&self, column: usize, nanos: i128) -> Quantity {
        let bytes = matches!(self.0[column], MEMORY | EPHEMERAL_STORAGE)
            || self.0[column].starts_with(HUGE_PAGES_PREFIX);
        Quantity::from_nanos(nanos, if bytes { Format::BinarySi } else { Format::DecimalSi })
    }
}

/// Adds `more` to `sum`.
pub(crate) fn add(sum: &mut [i128], more: &[i128]) {
    for (total, other) in sum.iter_mut().zip(more) {
        *total += other;
    }
}

/// The capacity for pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) amounts: Row,
    /// A resource with a negative amount. If there is one, nothing fits.
    negative: Option<String>,
}

impl Room {
    pub(crate) fn of(resources: &Resources, columns: &Columns<'_>) -> Self {
        let mut below = resources.iter().filter(|(_, quantity)| *quantity < Quantity::ZERO);
        let negative = below.next().map(|(name, _)| name.to_owned());
        Self { amounts: columns.row(resources), negative }
    }

    /// Whether `wanted` and `more` fit together.
    pub(crate) fn holds(&self, wanted: &[i128], more: &[i128]) -> bool {
        self.negative.is_none()
            && self
                .amounts
                .iter()
                .zip(wanted.iter().zip(more))
                .all(|(room, (wanted, more))| wanted + more <= *room)
    }
}
