//! Identities that are made up, but the same ones on every run: uuids, session keys, addresses.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

/// A source of identities. Each has a purpose and a number, so that one more of a kind changes none
/// of another.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    drawn: u64,
}

impl Identities {
    /// A unique UUID.
    pub(crate) fn uuid(&mut self, purpose: &str) -> String {
        self.drawn += 1;
        uuid(&format!("{purpose} {}", self.drawn))
    }

    /// The address of a NIC, as vCenter generates them.
    pub(crate) fn mac(&mut self) -> String {
        self.drawn += 1;
        let [.., a, b, c] = self.drawn.to_be_bytes();
        format!("00:50:56:{:02x}:{b:02x}:{c:02x}", 0x80 | (a & 0x3f))
    }
}

/// The uuid that belongs to a name.
pub(crate) fn uuid(name: &str) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in digest(&SHA256, name.as_bytes()).as_ref().iter().take(16).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match at {
            6 => 0x40 | (byte & 0x0f),
            8 => 0x80 | (byte & 0x3f),
            _ => *byte,
        };
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What the firmware of a VM says is its serial number, which a guest reads to know who it is:
/// `VMware-42 1c … 9d-5e …`. None if the text is no uuid.
pub fn serial_number(uuid: &str) -> Option<String> {
    let digits: Vec<char> = uuid.chars().filter(|letter| *letter != '-').collect();
    if digits.len() != 32 || !digits.iter().all(char::is_ascii_hexdigit) {
        return None;
    }
    let half = |digits: &[char]| {
        let bytes: Vec<String> =
            digits.chunks(2).map(|pair| pair.iter().collect::<String>().to_lowercase()).collect();
        bytes.join(" ")
    };
    Some(format!("VMware-{}-{}", half(&digits[..16]), half(&digits[16..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_number_has_the_bytes_of_the_uuid_in_order() {
        let serial = serial_number("4201ABCD-0102-4304-8506-0708090a0b0c");
        assert_eq!(
            serial.as_deref(),
            Some("VMware-42 01 ab cd 01 02 43 04-85 06 07 08 09 0a 0b 0c")
        );
        assert_eq!(serial_number("no uuid"), None);
    }

    #[test]
    fn identities_are_the_same_on_every_run_and_all_different() {
        let (mut one, mut other) = (Identities::default(), Identities::default());
        let first = one.uuid("vm");
        assert_eq!(first, other.uuid("vm"));
        assert_ne!(first, one.uuid("vm"));
        assert_eq!((first.len(), &first[14..15]), (36, "4"));
        assert_eq!(one.mac(), "00:50:56:80:00:03");
    }
}
