//! Files that the configuration names.

use std::{collections::BTreeMap, path::Path};

/// What reads the files that a configuration names.
pub trait Files {
    /// The text of a file, or why it cannot be read.
    fn read(&self, path: &Path) -> Result<String, String>;
}

/// Texts by path, for those who have read the files already.
impl Files for BTreeMap<&Path, String> {
    fn read(&self, path: &Path) -> Result<String, String> {
        self.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}
