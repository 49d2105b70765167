//! ISO 9660 images in memory, as cloud-init and its like read them: one folder of small files, with
//! Rock Ridge for Linux and Joliet for Windows.
//!
//! ```text
//! sector  0  system area, empty
//!        16  descriptors: primary, Joliet, end
//!        19  path tables: primary and Joliet, for both orders of bytes
//!        23  the root folder in ISO 9660 with Rock Ridge, and what does not fit into its records
//!            the root folder in Joliet
//!            contents of files
//! ```
//!
//! Equal inputs give equal bytes; the time is an input.

mod descriptor;
mod field;
mod folder;
mod name;

use std::{collections::BTreeSet, fmt};

use jiff::Timestamp;

use descriptor::Volume;
use folder::Entry;
use name::IsoNames;

/// The size of everything on such a disc.
const SECTOR: usize = 2048;
/// The label by which cloud-init finds NoCloud data.
pub const NOCLOUD_LABEL: &str = "cidata";
/// Where the path tables are; there are four of them, each in one sector.
const PATH_TABLES: u32 = 19;
/// Where folders begin.
const FOLDERS: u32 = 23;
/// All of an image is in memory. Data of nodes are some kilobytes.
const IMAGE_BYTES_MAX: usize = 256 << 20;

/// Why there is no image of these files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsoError {
    /// The label is empty, too long or has unusual characters.
    #[error(
        "{0:?} cannot be the label of an image; use at most 16 letters, digits, hyphens and \
         underscores"
    )]
    Label(String),
    /// A file's name is empty, too long or has unusual characters.
    #[error(
        "{0:?} cannot be the name of a file; use at most 64 letters, digits, points, hyphens and \
         underscores"
    )]
    Name(String),
    /// Two files have one name.
    #[error("there are two files {0}; leave one of them out")]
    Twice(String),
    /// The files are too large for an image in memory.
    #[error("the files are larger than {} MiB together; make them smaller", IMAGE_BYTES_MAX >> 20)]
    Large,
    /// The year has no place in the format.
    #[error("an image cannot be of the year {0}; years from 1970 to 2155 can be written")]
    Year(i16),
}

/// A file of an image. `Debug` leaves the content out: it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    name: String,
    content: Vec<u8>,
}

impl File {
    /// A file by its name.
    pub fn new(name: &str, content: impl Into<Vec<u8>>) -> Self {
        Self { name: name.to_owned(), content: content.into() }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "File({}, {} bytes)", self.name, self.content.len())
    }
}

/// The image of a NoCloud seed: `meta-data`, `user-data` and further files under the label that
/// cloud-init looks for.
pub fn nocloud(files: &[File], time: Timestamp) -> Result<Vec<u8>, IsoError> {
    image(NOCLOUD_LABEL, files, time)
}

/// An image with a label and files in its root folder. Its time is that of all files, in seconds.
pub fn image(label: &str, files: &[File], time: Timestamp) -> Result<Vec<u8>, IsoError> {
    if !name::is_label(label) {
        return Err(IsoError::Label(label.to_owned()));
    }
    let time = field::Time::new(time).map_err(IsoError::Year)?;
    check(files)?;

    // Files of another order are the same image.
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let mut names = IsoNames::default();
    let mut entries: Vec<Entry<'_>> = files
        .into_iter()
        .map(|file| Entry { file, iso_name: names.of(&file.name), sector: 0 })
        .collect();
    entries.sort_by(|one, other| one.iso_name.cmp(&other.iso_name));

    let iso_sectors = folder::iso_sectors(&entries);
    let extension = FOLDERS + iso_sectors;
    let joliet_root = extension + 1;
    let joliet_sectors = folder::joliet_sectors(&entries);
    let mut next = joliet_root + joliet_sectors;
    for entry in &mut entries {
        entry.sector = next;
        next += sectors(entry.file.content.len());
    }

    let iso =
        Volume { label, root: FOLDERS, root_sectors: iso_sectors, sectors: next, time: &time };
    let joliet = Volume { root: joliet_root, root_sectors: joliet_sectors, ..iso };
    let mut disc = Disc(vec![0; next as usize * SECTOR]);
    disc.write(16, &descriptor::primary(&iso));
    disc.write(17, &descriptor::joliet(&joliet));
    disc.write(18, &descriptor::end());
    let roots = [FOLDERS, FOLDERS, joliet_root, joliet_root];
    for (index, root) in roots.into_iter().enumerate() {
        disc.write(PATH_TABLES + index as u32, &descriptor::path_table(root, index % 2 == 1));
    }
    disc.write(FOLDERS, &folder::iso(&entries, &iso, extension));
    disc.write(extension, &folder::extension_record());
    disc.write(joliet_root, &folder::joliet(&entries, &joliet));
    for entry in &entries {
        disc.write(entry.sector, &entry.file.content);
    }
    Ok(disc.0)
}

fn check(files: &[File]) -> Result<(), IsoError> {
    let mut size = 0_usize;
    let mut names = BTreeSet::new();
    for file in files {
        if !name::is_file_name(&file.name) {
            return Err(IsoError::Name(file.name.clone()));
        }
        if !names.insert(&file.name) {
            return Err(IsoError::Twice(file.name.clone()));
        }
        size = size.saturating_add(file.content.len().next_multiple_of(SECTOR));
    }
    if size > IMAGE_BYTES_MAX { Err(IsoError::Large) } else { Ok(()) }
}

/// How many sectors so many bytes take.
fn sectors(bytes: usize) -> u32 {
    bytes.div_ceil(SECTOR) as u32
}

struct Disc(Vec<u8>);

impl Disc {
    fn write(&mut self, sector: u32, bytes: &[u8]) {
        let start = sector as usize * SECTOR;
        self.0[start..start + bytes.len()].copy_from_slice(bytes);
    }
}
