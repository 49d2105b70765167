//! Names of files: as they are, and as plain ISO 9660 has them.

use std::collections::BTreeSet;

/// Joliet has room for so many characters.
const NAME_MAX: usize = 64;
/// Joliet's field for labels has room for so many characters.
const LABEL_MAX: usize = 16;
/// Plain ISO 9660 has room for so many characters: 31, with the point and without the version.
const ISO_NAME_MAX: usize = 30;

pub(crate) fn is_label(label: &str) -> bool {
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

pub(crate) fn is_file_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Names in plain ISO 9660, each given once.
#[derive(Default)]
pub(crate) struct IsoNames(BTreeSet<String>);

impl IsoNames {
    /// `user-data` is `USER_DATA.;1`.
    pub(crate) fn of(&mut self, name: &str) -> String {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let mut extension = plain(extension);
        extension.truncate(3);
        let mut stem = plain(stem);
        stem.truncate(ISO_NAME_MAX - extension.len());
        let mut iso = format!("{stem}.{extension};1");
        let mut number = 0;
        while !self.0.insert(iso.clone()) {
            number += 1;
            let digits = number.to_string();
            stem.truncate(ISO_NAME_MAX - extension.len() - digits.len());
            iso = format!("{stem}{digits}.{extension};1");
        }
        iso
    }
}

/// Capital letters, digits and underscores.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}
