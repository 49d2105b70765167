//! Numbers, texts and times as ISO 9660 writes them.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// A number in both orders of bytes.
pub(crate) fn both_u16(number: u16) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

/// A number in both orders of bytes.
pub(crate) fn both_u32(number: u32) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

/// How a text is written into a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    Ascii,
    /// Two bytes for each character, the higher one first.
    Ucs2,
}

impl Alphabet {
    pub(crate) fn encoded(self, text: &str) -> Vec<u8> {
        match self {
            Self::Ascii => text.as_bytes().to_vec(),
            Self::Ucs2 => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// A text with spaces up to the length of its field.
    pub(crate) fn field(self, text: &str, length: usize) -> Vec<u8> {
        let mut field = self.encoded(text);
        let space = self.encoded(" ");
        while field.len() + space.len() <= length {
            field.extend(&space);
        }
        field.resize(length, 0);
        field
    }
}

/// The time of an image, in UTC and whole seconds.
pub(crate) struct Time(DateTime);

impl Time {
    /// A time that has a place in the format; otherwise its year.
    pub(crate) fn new(time: Timestamp) -> Result<Self, i16> {
        let time = TimeZone::UTC.to_datetime(time);
        // The format counts from 1900 in a byte, and nobody reads times before 1970.
        if (1970..=2155).contains(&time.year()) { Ok(Self(time)) } else { Err(time.year()) }
    }

    /// As in records of folders.
    pub(crate) fn short(&self) -> [u8; 7] {
        let time = self.0;
        let parts = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
        let [month, day, hour, minute, second] = parts.map(|part| part as u8);
        [(time.year() - 1900) as u8, month, day, hour, minute, second, 0]
    }

    /// As in descriptors: digits, and the distance from UTC.
    pub(crate) fn long(&self) -> [u8; 17] {
        let time = self.0;
        let text = format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}00\0",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second()
        );
        let mut field = NO_TIME;
        field.copy_from_slice(text.as_bytes());
        field
    }
}

/// A time in a descriptor that is not set.
pub(crate) const NO_TIME: [u8; 17] = *b"0000000000000000\0";
