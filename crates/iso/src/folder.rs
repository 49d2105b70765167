//! The root folder: records of files, with Rock Ridge's fields or Joliet's names.

use crate::{
    File, SECTOR,
    descriptor::Volume,
    field::{Alphabet, Time, both_u16, both_u32},
};

/// A file with its place.
pub(crate) struct Entry<'f> {
    pub(crate) file: &'f File,
    pub(crate) iso_name: String,
    pub(crate) sector: u32,
}

/// The bit of a record that says that it is of a folder.
const IS_FOLDER: u8 = 2;
/// A folder that all may look into, in the bits of POSIX.
const FOLDER_MODE: u32 = 0o040_555;
/// Files are for root only: they hold what a node joins its cluster with.
const FILE_MODE: u32 = 0o100_400;

/// The fields of Rock Ridge that are in use, by the standard's names.
mod rock_ridge {
    /// Says in the first record that there are fields, and that none is to be passed over.
    pub(super) const SP: [u8; 7] = [b'S', b'P', 7, 1, 0xbe, 0xef, 0];
    /// Which extension the fields are of: the texts that the standard sets.
    pub(super) const IDENTIFIER: &str = "RRIP_1991A";
    pub(super) const DESCRIPTION: &str = "THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR \
                                          POSIX FILE SYSTEM SEMANTICS";
    pub(super) const SOURCE: &str = "PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE.  SEE \
                                     PUBLISHER IDENTIFIER IN PRIMARY VOLUME DESCRIPTOR FOR \
                                     CONTACT INFORMATION.";
}

/// A record of a folder.
fn record(sector: u32, bytes: u32, time: &Time, flags: u8, name: &[u8], fields: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 0];
    record.extend(both_u32(sector));
    record.extend(both_u32(bytes));
    record.extend(time.short());
    record.extend([flags, 0, 0]);
    record.extend(both_u16(1));
    record.push(name.len() as u8);
    record.extend(name);
    // What follows begins at an even place.
    if record.len() % 2 == 1 {
        record.push(0);
    }
    record.extend(fields);
    if record.len() % 2 == 1 {
        record.push(0);
    }
    record[0] = record.len() as u8;
    record
}

/// The record of the root that stands in a descriptor.
pub(crate) fn root_record(volume: &Volume<'_>) -> Vec<u8> {
    record(volume.root, volume.root_bytes(), volume.time, IS_FOLDER, &[0], &[])
}

/// The record of the folder itself (0), or of the folder around it (1), which is the root too.
fn own_record(volume: &Volume<'_>, name: u8, fields: &[u8]) -> Vec<u8> {
    record(volume.root, volume.root_bytes(), volume.time, IS_FOLDER, &[name], fields)
}

fn attributes(mode: u32, links: u32, time: &Time) -> Vec<u8> {
    let mut fields = vec![b'P', b'X', 36, 1];
    for number in [mode, links, 0, 0] {
        fields.extend(both_u32(number));
    }
    // Changed, read, and changed in its attributes.
    fields.extend([b'T', b'F', 26, 1, 0b1110]);
    for _ in 0..3 {
        fields.extend(time.short());
    }
    fields
}

fn name_field(name: &str) -> Vec<u8> {
    let mut field = vec![b'N', b'M', 5 + name.len() as u8, 1, 0];
    field.extend(name.bytes());
    field
}

/// Says in the first record of all which extension this is. It does not fit there.
pub(crate) fn extension_record() -> Vec<u8> {
    use rock_ridge::{DESCRIPTION, IDENTIFIER, SOURCE};
    let lengths = [IDENTIFIER, DESCRIPTION, SOURCE].map(|text| text.len() as u8);
    let total: u8 = 8 + lengths.iter().sum::<u8>();
    let mut field = vec![b'E', b'R', total, 1];
    field.extend(lengths);
    field.push(1);
    for text in [IDENTIFIER, DESCRIPTION, SOURCE] {
        field.extend(text.bytes());
    }
    field
}

/// Where the record about the extension is.
fn continuation(sector: u32) -> Vec<u8> {
    let mut field = vec![b'C', b'E', 28, 1];
    field.extend(both_u32(sector));
    field.extend(both_u32(0));
    field.extend(both_u32(extension_record().len() as u32));
    field
}

/// Records one after the other; none crosses the border of a sector.
fn packed(records: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for record in records {
        let left = SECTOR - bytes.len() % SECTOR;
        if record.len() > left {
            bytes.resize(bytes.len() + left, 0);
        }
        bytes.extend(record);
    }
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    bytes
}

pub(crate) fn iso(entries: &[Entry<'_>], volume: &Volume<'_>, extension: u32) -> Vec<u8> {
    let folder = attributes(FOLDER_MODE, 2, volume.time);
    let first = [&rock_ridge::SP[..], &folder, &continuation(extension)].concat();
    let mut records = vec![own_record(volume, 0, &first), own_record(volume, 1, &folder)];
    for entry in entries {
        let mut fields = attributes(FILE_MODE, 1, volume.time);
        fields.extend(name_field(&entry.file.name));
        records.push(file_record(entry, volume, entry.iso_name.as_bytes(), &fields));
    }
    packed(records)
}

pub(crate) fn joliet(entries: &[Entry<'_>], volume: &Volume<'_>) -> Vec<u8> {
    let mut named: Vec<(Vec<u8>, &Entry<'_>)> =
        entries.iter().map(|entry| (Alphabet::Ucs2.encoded(&entry.file.name), entry)).collect();
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut records = vec![own_record(volume, 0, &[]), own_record(volume, 1, &[])];
    records.extend(named.iter().map(|(name, entry)| file_record(entry, volume, name, &[])));
    packed(records)
}

fn file_record(entry: &Entry<'_>, volume: &Volume<'_>, name: &[u8], fields: &[u8]) -> Vec<u8> {
    let bytes = entry.file.content.len() as u32;
    record(entry.sector, bytes, volume.time, 0, name, fields)
}

/// How large a folder will be: the length of records depends on names only.
fn folder_sectors(write: impl Fn(&Volume<'_>) -> Vec<u8>) -> u32 {
    let Ok(time) = Time::new(jiff::Timestamp::UNIX_EPOCH) else { return 0 };
    let nowhere = Volume { label: "", root: 0, root_sectors: 0, sectors: 0, time: &time };
    (write(&nowhere).len() / SECTOR) as u32
}

pub(crate) fn iso_sectors(entries: &[Entry<'_>]) -> u32 {
    folder_sectors(|volume| iso(entries, volume, 0))
}

pub(crate) fn joliet_sectors(entries: &[Entry<'_>]) -> u32 {
    folder_sectors(|volume| joliet(entries, volume))
}
