//! A small reader of images, written from the standards and not from the writer.

use std::collections::BTreeMap;

const SECTOR: usize = 2048;

/// What an image says in one of its two ways.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) label: String,
    pub(crate) files: BTreeMap<String, File>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) content: Vec<u8>,
    /// Year since 1900, month, day, hour, minute, second, quarters of hours from UTC.
    pub(crate) time: [u8; 7],
    /// The bits of POSIX, where there is Rock Ridge.
    pub(crate) mode: Option<u32>,
    /// The name without Rock Ridge.
    pub(crate) plain_name: String,
}

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// A number that is there in both orders of bytes, which have to agree.
fn both32(bytes: &[u8]) -> u32 {
    let big = u32::from_be_bytes(bytes[4..8].try_into().unwrap());
    assert_eq!(le32(bytes), big, "both orders of bytes say the same");
    big
}

fn ucs2(bytes: &[u8]) -> String {
    let units: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

fn sector(image: &[u8], number: u32) -> &[u8] {
    &image[number as usize * SECTOR..]
}

/// The descriptor of a kind.
fn descriptor(image: &[u8], kind: u8) -> &[u8] {
    for number in 16.. {
        let found = sector(image, number);
        assert_eq!(&found[1..6], b"CD001", "sector {number} is a descriptor");
        if found[0] == kind {
            return found;
        }
        assert_ne!(found[0], 255, "there is a descriptor of kind {kind}");
    }
    unreachable!("descriptors have an end")
}

/// What plain ISO 9660 with Rock Ridge says.
pub(crate) fn rock_ridge(image: &[u8]) -> Volume {
    let descriptor = descriptor(image, 1);
    check_size(image, descriptor);
    check_path_tables(image, descriptor);
    let label = String::from_utf8(descriptor[40..72].to_vec()).unwrap();
    let records = records(image, &descriptor[156..190]);
    check_extension(image, &records[0]);
    let files = records[2..].iter().map(|record| {
        let plain_name = String::from_utf8(record.name.to_vec()).unwrap();
        let name = field(record.fields, b"NM").map(|field| &field[5..]).unwrap();
        let mode = field(record.fields, b"PX").map(|field| both32(&field[4..]));
        let time: [u8; 7] = field(record.fields, b"TF").unwrap()[5..12].try_into().unwrap();
        assert_eq!(time, record.time, "Rock Ridge and the record have one time");
        let content = record.content.to_vec();
        (String::from_utf8(name.to_vec()).unwrap(), File { content, time, mode, plain_name })
    });
    Volume { label: label.trim_end().to_owned(), files: files.collect() }
}

/// What Joliet says.
pub(crate) fn joliet(image: &[u8]) -> Volume {
    let descriptor = descriptor(image, 2);
    check_size(image, descriptor);
    check_path_tables(image, descriptor);
    assert_eq!(&descriptor[88..91], b"%/E", "it is Joliet of level 3");
    let label = ucs2(&descriptor[40..72]);
    let records = records(image, &descriptor[156..190]);
    let files = records[2..].iter().map(|record| {
        let name = ucs2(record.name);
        let (content, time) = (record.content.to_vec(), record.time);
        (name.clone(), File { content, time, mode: None, plain_name: name })
    });
    Volume { label: label.trim_end().to_owned(), files: files.collect() }
}

fn check_size(image: &[u8], descriptor: &[u8]) {
    assert_eq!(both32(&descriptor[80..]) as usize * SECTOR, image.len());
}

fn check_path_tables(image: &[u8], descriptor: &[u8]) {
    let root = le32(&descriptor[156 + 2..]);
    let length = both32(&descriptor[132..]) as usize;
    let little = &sector(image, le32(&descriptor[140..]))[..length];
    let big_at = u32::from_be_bytes(descriptor[148..152].try_into().unwrap());
    let big = &sector(image, big_at)[..length];
    assert_eq!(little[..2], [1, 0]);
    assert_eq!(le32(&little[2..]), root);
    assert_eq!(u32::from_be_bytes(big[2..6].try_into().unwrap()), root);
}

/// The first record says that there are fields, and leads to the name of the extension.
fn check_extension(image: &[u8], first: &Record<'_>) {
    assert_eq!(field(first.fields, b"SP").unwrap()[4..6], [0xbe, 0xef]);
    let continued = field(first.fields, b"CE").unwrap();
    let (at, offset) = (both32(&continued[4..]), both32(&continued[12..]) as usize);
    let length = both32(&continued[20..]) as usize;
    let fields = &sector(image, at)[offset..offset + length];
    let extension = field(fields, b"ER").unwrap();
    assert_eq!(&extension[8..18], b"RRIP_1991A");
}

struct Record<'i> {
    name: &'i [u8],
    content: &'i [u8],
    time: [u8; 7],
    fields: &'i [u8],
}

/// All records of a folder, the two of folders before those of files.
fn records<'i>(image: &'i [u8], root: &[u8]) -> Vec<Record<'i>> {
    let length = both32(&root[10..]) as usize;
    let folder = &sector(image, both32(&root[2..]))[..length];
    let mut found = Vec::new();
    for part in folder.chunks(SECTOR) {
        let mut rest = part;
        while rest.first().is_some_and(|length| *length > 0) {
            let (record, after) = rest.split_at(rest[0].into());
            rest = after;
            let name_end = 33 + usize::from(record[32]);
            let size = both32(&record[10..]) as usize;
            found.push(Record {
                name: &record[33..name_end],
                content: &sector(image, both32(&record[2..]))[..size],
                time: record[18..25].try_into().unwrap(),
                fields: &record[name_end.next_multiple_of(2).min(record.len())..],
            });
        }
    }
    assert_eq!((found[0].name, found[1].name), (&[0][..], &[1][..]));
    let names: Vec<&[u8]> = found.iter().map(|record| record.name).collect();
    assert!(names[2..].is_sorted(), "records of files are sorted");
    found
}

/// A field of Rock Ridge.
fn field<'f>(fields: &'f [u8], name: &[u8]) -> Option<&'f [u8]> {
    let mut rest = fields;
    while rest.len() >= 4 {
        let (field, after) = rest.split_at(rest[2].into());
        if field.starts_with(name) {
            return Some(field);
        }
        rest = after;
    }
    None
}
