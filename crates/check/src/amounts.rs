//! Resources as rows of numbers: one column for each resource that some pod asks for.
//!
//! A plan has many more sums and comparisons than pods, so names are looked up once.

use std::collections::BTreeSet;

use joiner_core::{
    quantity::{Format, Quantity},
    resources::{EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, Resources},
};

/// One amount for each column, in billionths.
pub(crate) type Row = Box<[i128]>;

/// The resources that matter.
#[derive(Debug)]
pub(crate) struct Columns<'a>(Vec<&'a str>);

impl<'a> Columns<'a> {
    /// A column for every resource of `all`.
    pub(crate) fn of(all: impl IntoIterator<Item = &'a Resources>) -> Self {
        let names: BTreeSet<&str> =
            all.into_iter().flat_map(|resources| resources.iter().map(|(name, _)| name)).collect();
        Self(names.into_iter().collect())
    }

    /// What `resources` says of each column.
    pub(crate) fn row(&self, resources: &Resources) -> Row {
        self.0.iter().map(|name| resources.get(name).nanos()).collect()
    }

    /// Nothing of anything.
    pub(crate) fn zeros(&self) -> Row {
        self.0.iter().map(|_| 0).collect()
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.0
    }

    /// In words, why `wanted` does not fit into `room`.
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

    /// An amount of a column, in the units people know it by.
    pub(crate) fn quantity(&self, column: usize, nanos: i128) -> Quantity {
        let bytes = matches!(self.0[column], MEMORY | EPHEMERAL_STORAGE)
            || self.0[column].starts_with(HUGE_PAGES_PREFIX);
        Quantity::from_nanos(nanos, if bytes { Format::BinarySi } else { Format::DecimalSi })
    }
}

/// Adds `more` to `sum`.
pub(crate) fn add(sum: &mut [i128], more: &[i128]) {
    for (own, other) in sum.iter_mut().zip(more) {
        *own += other;
    }
}

/// How much there is for pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) amounts: Row,
    /// A resource of which there is less than nothing. Then nothing fits at all.
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
