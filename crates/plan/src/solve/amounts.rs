//! Resources as rows of integers.
//!
//! Every resource that an instance of a pass has becomes a column. A column counts in the coarsest of units, thousandths, millionths and
//! billionths that is exact for every amount of the pass, so that comparing is comparing `i64`s and nothing is rounded.
//!
//! Resources that no instance has share one column, in which only the sign counts: whoever asks for any of them fits
//! nowhere, and pods may name as many as they like.

use joiner_core::{quantity::Quantity, resources::Resources};
use rustc_hash::FxHashMap;

/// Amounts beyond this are cut to it: sums of a few of them do not overflow, and nothing real comes near.
const AMOUNT_MAX: i128 = i64::MAX as i128 / 4;

/// The resources of a pass and their units.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    names: Vec<String>,
    lookup: FxHashMap<String, usize>,
    /// Billionths in one unit of each column.
    unit: Vec<i128>,
    /// The column of resources that no instance has, if anything asks for one.
    nowhere: Option<usize>,
}

/// The name of the column of resources that no instance has. No resource has this name.
const NOWHERE: &str = "";

impl Columns {
    /// Makes room for the resources of `resources`, and a unit that is exact for them.
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

    /// The same for resources that are only asked for. Comes after everything that instances have.
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

    /// The resource that a column stands for, of those that `resources` name.
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

    /// A row of amounts; resources that are not there are zero.
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

    /// An amount of a column as a quantity, printed like `like`.
    pub(crate) fn quantity(&self, column: usize, amount: i64, like: Quantity) -> Quantity {
        Quantity::from_nanos(i128::from(amount) * self.unit[column], like.format())
    }
}

/// Whether `a + b` is at most `room`, column by column.
#[inline]
pub(crate) fn sum_fits(a: &[i64], b: &[i64], room: &[i64]) -> bool {
    a.iter().zip(b).zip(room).all(|((a, b), room)| a.saturating_add(*b) <= *room)
}

/// Adds `b` to `a`.
pub(crate) fn add(a: &mut [i64], b: &[i64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_add(*b);
    }
}

/// Takes `b` from `a`.
pub(crate) fn subtract(a: &mut [i64], b: &[i64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_sub(*b);
    }
}
