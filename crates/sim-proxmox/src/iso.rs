//! Reads ISO 9660 images as a guest mounts them: by Rock Ridge names, else by Joliet's.

use std::collections::BTreeMap;

use crate::guest::Image;

const SECTOR: usize = 2048;

/// Where the descriptors of a volume begin, and how many are looked at.
const DESCRIPTORS: std::ops::Range<usize> = 16..32;

/// The files of the root directory; none if it is no such image.
pub(crate) fn read(bytes: &[u8]) -> Option<Image> {
    let mut primary = None;
    let mut joliet = None;
    for sector in DESCRIPTORS {
        let descriptor = bytes.get(sector * SECTOR..(sector + 1) * SECTOR)?;
        if descriptor.get(1..6)? != b"CD001" {
            return None;
        }
        match descriptor[0] {
            1 => primary = Some(descriptor),
            2 if descriptor[88..90] == *b"%/" => joliet = Some(descriptor),
            255 => break,
            _ => {}
        }
    }
    let primary = primary?;
    let label = String::from_utf8_lossy(&primary[40..72]).trim_end().to_owned();
    let rock_ridge = files(bytes, primary, rock_ridge_name)?;
    let files = match (rock_ridge.is_empty(), joliet) {
        (true, Some(joliet)) => files(bytes, joliet, joliet_name)?,
        _ => rock_ridge,
    };
    Some(Image { label, files })
}

/// The files of a root directory whose records have names of one kind.
fn files(
    bytes: &[u8],
    descriptor: &[u8],
    name: impl Fn(&[u8]) -> Option<String>,
) -> Option<BTreeMap<String, Vec<u8>>> {
    const IS_DIRECTORY: u8 = 2;
    let root = extent(bytes, &descriptor[156..190])?;
    let mut files = BTreeMap::new();
    let mut at = 0;
    while at < root.len() {
        let length = usize::from(root[at]);
        if length == 0 {
            // The rest of a sector is empty: records do not cross into the next one.
            at = (at / SECTOR + 1) * SECTOR;
            continue;
        }
        let record = root.get(at..at + length)?;
        at += length;
        if record.get(25)? & IS_DIRECTORY != 0 {
            continue;
        }
        if let Some(name) = name(record) {
            files.insert(name, extent(bytes, record)?.to_vec());
        }
    }
    Some(files)
}

/// What a directory record points to.
fn extent<'b>(bytes: &'b [u8], record: &[u8]) -> Option<&'b [u8]> {
    let number = |at: usize| {
        let four: [u8; 4] = record.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    let (start, length) = (number(2)?.checked_mul(SECTOR)?, number(10)?);
    bytes.get(start..start.checked_add(length)?)
}

fn identifier(record: &[u8]) -> Option<&[u8]> {
    record.get(33..33 + usize::from(*record.get(32)?))
}

/// The name in the system use area of a record, from its `NM` entries.
fn rock_ridge_name(record: &[u8]) -> Option<String> {
    let length = identifier(record)?.len();
    // The identifier is padded, so that the area begins at an even offset.
    let mut at = 33 + length + usize::from(length.is_multiple_of(2));
    let mut name = Vec::new();
    while let Some([first, second, size, ..]) = record.get(at..) {
        let size = usize::from(*size);
        if size < 4 {
            break;
        }
        let entry = record.get(at..at + size)?;
        if [*first, *second] == *b"NM" {
            name.extend_from_slice(entry.get(5..)?);
        }
        at += size;
    }
    (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned())
}

fn joliet_name(record: &[u8]) -> Option<String> {
    let units = identifier(record)?.chunks_exact(2);
    let units: Vec<u16> = units.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let name = String::from_utf16(&units).ok()?;
    Some(name.split(';').next().unwrap_or_default().to_owned())
}
