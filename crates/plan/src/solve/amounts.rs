//! Resources as rows of integers.
//!
//! Every resource of an instance of the pass becomes a column. Its unit is the largest of one, a thousandth, a
//! millionth and a billionth that is exact for every amount of the pass. So amounts are compared as `i64`, and
//! nothing is rounded.
//!
//! Resources that no instance has share one column, in which only the sign counts. A pod that requests any of them
//! has no place, and it may name as many as it likes.

use joiner_core::{quantity::Quantity, resources::Resources};
use rustc_hash::FxHashMap;

/// Larger amounts are reduced to this one, so that sums of a few amounts do not overflow. Real amounts are far
/// smaller.
const AMOUNT_MAX: i128 = i64::MAX as i128 / 4;

/// The resources of a pass with their units.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    names: Vec<String>,
    lookup: FxHashMap<String, usize>,
    /// The unit of each column, in billionths.
    unit: Vec<i128>,
    /// The column of resources that no instance has, if any is requested.
    nowhere: Option<usize>,
}

/// The name of the column of resources that no instance has. No real resource has this name.
const NOWHERE: &str = "";

impl Columns {
    /// Adds columns for `resources`, with units that are exact for them.
    pub(crate) fn learn(&mut self, resources: &Resources) {
        for (name, quantity) in resources.iter() {
            let column = match self.lookup.get(name) {
                Some(column) => *column,
                None => {
                    self.lookup.insert(name.to_owned(), self.names.len());
                    self.push(name)
                }
            };
            self.refine(column, quantity);
        }
    }

    /// The same for requests. All resources of instances must be learned before.
    pub(crate) fn learn_asked(&mut self, resources: &Resources) {
        for (name, quantity) in resources.iter() {
            match self.column(name) {
                Some(column) => self.refine(column, quantity),
                None if self.nowhere.is_none() => self.nowhere = Some(self.push(NOWHERE)),
                None => {}
            }
        }
    }

    fn push(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.unit.push(1_000_000_000);
        self.names.len() - 1
    }

    fn refine(&mut self, column: usize, quantity: Quantity) {
        while quantity.nanos() % self.unit[column] != 0 {
            self.unit[column] /= 1000;
        }
    }

    /// The resource of a column, among those in `resources`.
    pub(crate) fn name_in<'n>(&'n self, column: usize, resources: &'n Resources) -> &'n str {
        if self.nowhere != Some(column) {
            return self.name(column);
        }
        let mut asked = resources.iter().filter(|(_, quantity)| *quantity > Quantity::ZERO);
        asked.find(|(name, _)| self.column(name).is_none()).map_or(NOWHERE, |(name, _)| name)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.lookup.get(name).copied()
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        &self.names[column]
    }

    /// A row of amounts. Missing resources are zero.
    pub(crate) fn row(&self, resources: &Resources) -> Vec<i64> {
        let mut row = vec![0; self.len()];
        for (name, quantity) in resources.iter() {
            if let Some(column) = self.column(name) {
                row[column] = self.amount(column, quantity);
            } else if let Some(nowhere) = self.nowhere {
                let sign =
                    i64::from(quantity > Quantity::ZERO) - i64::from(quantity < Quantity::ZERO);
                row[nowhere] = if row[nowhere] > 0 { row[nowhere] } else { sign };
            }
        }
        row
    }

    pub(crate) fn amount(&self, column: usize, quantity: Quantity) -> i64 {
        let units = (quantity.nanos() / self.unit[column]).clamp(-AMOUNT_MAX, AMOUNT_MAX);
        i64::try_from(units).unwrap_or(i64::MAX)
    }

    /// An amount of a column as a quantity, printed in the format of `like`.
    pub(crate) fn quantity(&self, column: usize, amount: i64, like: Quantity) -> Quantity {
        Quantity::from_nanos(i128::from(amount) * self.unit[column], like.format())
    }
}

/// Whether `present + added` is at most `room`, column by column.
#[inline]
pub(crate) fn sum_fits(present: &[i64], added: &[i64], room: &[i64]) -> bool {
    let mut columns = present.iter().zip(added).zip(room);
    columns.all(|((present, added), room)| present.saturating_add(*added) <= *room)
}

/// Adds `added` to `sum`.
pub(crate) fn add(sum: &mut [i64], added: &[i64]) {
    for (sum, added) in sum.iter_mut().zip(added) {
        *sum = sum.saturating_add(*added);
    }
}

/// Subtracts `removed` from `rest`.
pub(crate) fn subtract(rest: &mut [i64], removed: &[i64]) {
    for (rest, removed) in rest.iter_mut().zip(removed) {
        *rest = rest.saturating_sub(*removed);
    }
}
