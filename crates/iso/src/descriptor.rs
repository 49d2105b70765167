//! Descriptors of volumes, and the tables of their folders.

use crate::{
    PATH_TABLES, SECTOR,
    field::{Alphabet, NO_TIME, Time, both_u16, both_u32},
    folder,
};

/// A path table has one entry, that of the root.
const PATH_TABLE_BYTES: u32 = 10;
/// Says that names are Joliet's, of level 3.
const JOLIET_ESCAPE: &[u8] = b"%/E";

/// What a descriptor says.
#[derive(Clone, Copy)]
pub(crate) struct Volume<'v> {
    pub(crate) label: &'v str,
    /// Where the root folder is.
    pub(crate) root: u32,
    pub(crate) root_sectors: u32,
    /// The size of all.
    pub(crate) sectors: u32,
    pub(crate) time: &'v Time,
}

impl Volume<'_> {
    pub(crate) fn root_bytes(&self) -> u32 {
        self.root_sectors * SECTOR as u32
    }
}

pub(crate) fn primary(volume: &Volume<'_>) -> Vec<u8> {
    descriptor(volume, 1, Alphabet::Ascii, b"", PATH_TABLES)
}

pub(crate) fn joliet(volume: &Volume<'_>) -> Vec<u8> {
    descriptor(volume, 2, Alphabet::Ucs2, JOLIET_ESCAPE, PATH_TABLES + 2)
}

pub(crate) fn end() -> Vec<u8> {
    let mut bytes = header(255);
    bytes.resize(SECTOR, 0);
    bytes
}

fn header(kind: u8) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(b"CD001");
    bytes.push(1);
    bytes
}

fn descriptor(
    volume: &Volume<'_>,
    kind: u8,
    alphabet: Alphabet,
    escape: &[u8],
    path_table: u32,
) -> Vec<u8> {
    let mut bytes = header(kind);
    bytes.push(0);
    bytes.extend(alphabet.field("", 32));
    bytes.extend(alphabet.field(volume.label, 32));
    bytes.extend([0; 8]);
    bytes.extend(both_u32(volume.sectors));
    bytes.extend(escape);
    bytes.resize(120, 0);
    // One disc, the first of its set.
    bytes.extend(both_u16(1));
    bytes.extend(both_u16(1));
    bytes.extend(both_u16(SECTOR as u16));
    bytes.extend(both_u32(PATH_TABLE_BYTES));
    bytes.extend(path_table.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend((path_table + 1).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(folder::root_record(volume));
    // The set's name, who published, prepared and made it, and three files about it.
    for length in [128, 128, 128, 128, 37, 37, 37] {
        bytes.extend(alphabet.field("", length));
    }
    bytes.extend(volume.time.long());
    bytes.extend(volume.time.long());
    bytes.extend(NO_TIME);
    bytes.extend(NO_TIME);
    bytes.push(1);
    bytes.resize(SECTOR, 0);
    bytes
}

pub(crate) fn path_table(root: u32, big_endian: bool) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    if big_endian {
        bytes.extend(root.to_be_bytes());
        bytes.extend(1_u16.to_be_bytes());
    } else {
        bytes.extend(root.to_le_bytes());
        bytes.extend(1_u16.to_le_bytes());
    }
    bytes.extend([0, 0]);
    bytes
}
