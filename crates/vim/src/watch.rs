//! An inventory as it changes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Element, Fault, MoRef, Object, VimError};

/// Properties of all objects of a kind below a container, as they change.
#[derive(Debug)]
pub struct Inventory {}

/// What is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// All there is. It replaces everything that was told before: the first time, and whenever
    /// the server had to be asked anew.
    All(Vec<Object>),
    /// What changed since, in order.
    Changes(Vec<Change>),
}

/// A change of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An object is new, or visible again.
    Entered(Object),
    /// Properties of an object are different.
    Modified {
        /// Which object.
        reference: MoRef,
        /// Properties and what they are now; none is not set any more.
        values: BTreeMap<Arc<str>, Option<Element>>,
        /// Properties that cannot be read any more, and why.
        missing: BTreeMap<Arc<str>, Fault>,
    },
    /// An object is gone, or not visible any more.
    Left(MoRef),
}

impl Inventory {
    /// Waits until there is something new. After an error the next call asks anew, and tells
    /// everything again.
    pub async fn next(&mut self) -> Result<News, VimError> {
        todo!()
    }
}
