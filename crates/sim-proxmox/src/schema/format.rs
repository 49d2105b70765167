//! What texts of a format look like.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[cfg(test)]
const KNOWN: [&str; 19] = [
    "node",
    "storage",
    "dns",
    "tags",
    "digest",
    "size",
    "resize",
    "url",
    "disk",
    "iface",
    "mac",
    "ipv4",
    "ipv6",
    "cidr4",
    "cidr6",
    "cidr",
    "uuid",
    "addresses",
    "ipset",
];

#[cfg(test)]
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format)
}

/// What is wrong with a text of a format.
pub(super) fn problem(format: &str, value: &str) -> Option<String> {
    const PATTERN: &str = "value does not match the regex pattern";
    let good = match format {
        "node" => label(value),
        "storage" => {
            value.len() >= 2
                && value.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && value.ends_with(|letter: char| letter.is_ascii_alphanumeric())
                && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        }
        "dns" => value.len() <= 255 && value.split('.').all(label),
        "tags" => tags(value).all(|tag| {
            let mut bytes = tag.bytes();
            bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte))
        }),
        "digest" => value.len() <= 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "size" => size(value).is_some(),
        "resize" => size(value.strip_prefix('+').unwrap_or(value)).is_some(),
        "url" => value.starts_with("http://") || value.starts_with("https://"),
        "disk" => is_disk(value),
        "iface" => value.strip_prefix("net").is_some_and(|index| {
            !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())
        }),
        "mac" => is_mac(value),
        "ipv4" => value.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => value.parse::<Ipv6Addr>().is_ok(),
        "cidr4" => value == "dhcp" || network::<Ipv4Addr>(value, 32),
        "cidr6" => ["dhcp", "auto"].contains(&value) || network::<Ipv6Addr>(value, 128),
        "cidr" => {
            value.parse::<IpAddr>().is_ok()
                || network::<Ipv4Addr>(value, 32)
                || network::<Ipv6Addr>(value, 128)
        }
        "uuid" => is_uuid(value),
        "addresses" => value.split([' ', ',', ';']).all(|it| it.parse::<IpAddr>().is_ok()),
        "ipset" => value.len() >= 2 && label(&value.replace('_', "-")),
        _ => true,
    };
    let text = match format {
        "resize" | "url" | "size" => PATTERN.to_owned(),
        "node" => "invalid format - value does not look like a valid node name".to_owned(),
        "storage" => format!("invalid format - storage ID '{value}' contains illegal characters"),
        "dns" => "invalid format - value does not look like a valid DNS name".to_owned(),
        "tags" => "invalid format - invalid characters in tag".to_owned(),
        "disk" => format!("value '{value}' does not have a value in the enumeration of disks"),
        other => format!("invalid format - value does not look like a valid {other}"),
    };
    (!good).then_some(text)
}

/// The tags of a list.
pub(crate) fn tags(value: &str) -> impl Iterator<Item = &str> {
    value.split([';', ',', ' ']).filter(|tag| !tag.is_empty())
}

/// How many bytes a size is, such as `8G` or `2048M`; a plain number is bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 'K') => (text.get(..at)?, 1_u64 << 10),
        (at, 'M') => (text.get(..at)?, 1 << 20),
        (at, 'G') => (text.get(..at)?, 1 << 30),
        (at, 'T') => (text.get(..at)?, 1 << 40),
        _ => (text, 1),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    Some((value * unit as f64) as u64)
}

/// Whether a key of a configuration is a disk.
pub(crate) fn is_disk(key: &str) -> bool {
    let kinds = [("ide", 4), ("scsi", 31), ("virtio", 16), ("sata", 6)];
    ["efidisk0", "tpmstate0"].contains(&key)
        || kinds.iter().any(|(kind, count)| {
            let index = key.strip_prefix(kind).and_then(|index| index.parse::<u32>().ok());
            index.is_some_and(|index| index < *count)
        })
}

fn label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_mac(text: &str) -> bool {
    let octets: Vec<&str> = text.split(':').collect();
    let octet = |it: &&str| it.len() == 2 && it.bytes().all(|byte| byte.is_ascii_hexdigit());
    octets.len() == 6
        && octets.iter().all(octet)
        && u8::from_str_radix(octets[0], 16).is_ok_and(|first| first & 1 == 0)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn network<A: std::str::FromStr>(text: &str, bits: u8) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    address.parse::<A>().is_ok() && length.parse::<u8>().is_ok_and(|length| length <= bits)
}
