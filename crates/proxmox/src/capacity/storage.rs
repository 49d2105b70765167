//! Room in storages.

use std::collections::BTreeMap;

use super::rows::StorageRow;

/// Content that a storage has to take before a disk can be in it.
const IMAGES: &str = "images";

/// A storage: of one host, or of all hosts that share it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StorageKey {
    /// Its name.
    pub storage: String,
    /// The host; none for a storage that hosts share.
    pub host: Option<String>,
}

/// The storages of a region.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Storages {
    by_host: BTreeMap<(String, String), StorageRow>,
}

/// Why a disk has no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSpace {
    /// The host does not have the storage.
    #[error("storage {0:?} is not on the host; correct the name, or add it there")]
    Missing(String),
    /// It cannot be used now.
    #[error("storage {0:?} is not available on the host")]
    Unavailable(String),
    /// It takes no disks.
    #[error("storage {0:?} does not take disks; add the content type images to it")]
    NoImages(String),
    /// It is too full.
    #[error("storage {storage:?} has {free} of {needed} bytes free")]
    Full {
        /// Its name.
        storage: String,
        /// What is needed.
        needed: u64,
        /// What is left.
        free: u64,
    },
}

impl Storages {
    /// The storages of a resource list.
    pub fn new(rows: &[StorageRow]) -> Self {
        let key = |row: &StorageRow| (row.storage.clone(), row.host.clone());
        Self { by_host: rows.iter().map(|row| (key(row), row.clone())).collect() }
    }

    /// The storage that a host means by a name, when disks can be in it.
    pub fn of_host(&self, storage: &str, host: &str) -> Result<StorageKey, NoSpace> {
        let row = self.by_host.get(&(storage.to_owned(), host.to_owned()));
        let row = row.ok_or_else(|| NoSpace::Missing(storage.to_owned()))?;
        if !row.is_available {
            return Err(NoSpace::Unavailable(storage.to_owned()));
        }
        if !row.content.contains(IMAGES) {
            return Err(NoSpace::NoImages(storage.to_owned()));
        }
        let host = (!row.is_shared).then(|| host.to_owned());
        Ok(StorageKey { storage: storage.to_owned(), host })
    }

    /// Bytes that are free. Hosts that share a storage may have looked at different times, so the
    /// least of what they saw counts.
    pub fn free(&self, key: &StorageKey) -> u64 {
        let rows = self.by_host.values().filter(|row| {
            row.storage == key.storage && key.host.as_ref().is_none_or(|host| *host == row.host)
        });
        rows.map(|row| row.total.saturating_sub(row.used)).min().unwrap_or_default()
    }
}
