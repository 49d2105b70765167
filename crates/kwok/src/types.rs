//! The types of pools, built in or from a file.

use joiner_cloud::{
    InstanceTypes,
    class::{ClassKind, NodeClass},
    types::{ClassTypes, NoTypes, TypeSource},
};
use joiner_core::{instance_type::Catalog, label::WellKnown};

use crate::{NODE_CLASS, catalog, catalog_file::CatalogFile};

/// The types of KWOK's instances. They are independent of classes.
#[derive(Debug)]
pub struct KwokTypes {
    /// The types of pools that no entry of the file names.
    of_every_pool: Catalog,
    /// The list in a file, instead of Karpenter's.
    file: Option<CatalogFile>,
}

/// Stands for every pool that no entry names. No pool has an empty name.
const EVERY_POOL: &str = "";

impl KwokTypes {
    /// The types that Karpenter's KWOK provider is built with.
    pub fn built_in() -> Self {
        Self { of_every_pool: catalog([EVERY_POOL]), file: None }
    }

    /// The types in a file.
    pub fn of_file(file: CatalogFile) -> Self {
        Self { of_every_pool: file.catalog([EVERY_POOL]), file: Some(file) }
    }

    /// The types of a pool. Pools that have the same types share them.
    pub fn of_pool(&self, pool: &str) -> InstanceTypes {
        let own = self.file.as_ref().filter(|file| file.named_pools().contains(pool));
        match own {
            Some(file) => file.catalog([pool]).by_pool.remove(pool).unwrap_or_default(),
            None => self.of_every_pool.by_pool.get(EVERY_POOL).cloned().unwrap_or_default(),
        }
    }
}

impl TypeSource for KwokTypes {
    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        self.of_every_pool.well_known.clone()
    }

    fn reservation_id_label(&self) -> Option<String> {
        self.of_every_pool.reservation_id_label.clone()
    }

    fn class_types(&self, pool: &str, _class: &NodeClass) -> Result<ClassTypes, NoTypes> {
        Ok(ClassTypes { types: self.of_pool(pool), ..ClassTypes::default() })
    }
}
