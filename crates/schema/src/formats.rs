//! The formats of strings and numbers that the API server checks.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use regex::Regex;

use crate::{regexes, schema::Type, time, url};

/// A format that is checked. Formats that are unknown, or do not fit the type, are ignored by the
/// API server, and none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    Text(TextFormat),
}

/// A format of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

impl Format {
    /// The format with this name on values of this type; `None` is any type.
    pub(crate) fn find(name: &str, kind: Option<Type>) -> Option<Self> {
        match (kind, name) {
            (Some(Type::Integer), "int32") => Some(Self::Int32),
            (Some(Type::Integer), "int64") => Some(Self::Int64),
            (Some(Type::Number), "float") => Some(Self::Float),
            (Some(Type::Number), "double") => Some(Self::Double),
            (None | Some(Type::String), name) => TextFormat::find(name).map(Self::Text),
            _ => None,
        }
    }
}

impl TextFormat {
    /// The format with this name, dashes aside.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::LongName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "k8sshortname" => Self::ShortName,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// Whether a string has the format.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|c| c.is_ascii_hexdigit()),
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => time::parse_date(text).is_some(),
            Self::DateTime => is_date_time(text),
            Self::Duration => time::parse_duration(text).is_some(),
            Self::Email => is_email(text),
            Self::HexColor => {
                let digits = text.strip_prefix('#').unwrap_or(text);
                matches!(digits.len(), 3 | 6) && digits.bytes().all(|c| c.is_ascii_hexdigit())
            }
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && sloppy_ip(text).is_some(),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(is_short_name),
            Self::Mac => is_mac(text),
            Self::Password => true,
            Self::RgbColor => RGB.is_match(text),
            Self::ShortName => text.len() <= 63 && is_short_name(text),
            Self::Ssn => text.len() == 11 && SSN.is_match(text),
            Self::Uri => url::parse_request_uri(text).is_ok(),
            Self::Uuid => is_uuid(text, None, false),
            Self::Uuid3 => is_uuid(text, Some(b'3'), false),
            Self::Uuid4 => is_uuid(text, Some(b'4'), true),
            Self::Uuid5 => is_uuid(text, Some(b'5'), true),
        }
    }
}

fn regex(pattern: &str) -> Regex {
    regexes::compile(pattern).expect("the patterns of formats are valid")
}

static RGB: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    regex(&format!(r"^rgb\({part},{part},{part}\)$"))
});
static SSN: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"));
static CARD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$",
    )
});
static HOST_LABEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^[-a-zA-Z0-9\p{S}\p{L}]+$"));
static TOP_LEVEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^[a-zA-Z\p{L}]+$"));
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
});

fn is_short_name(text: &str) -> bool {
    let edge = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|&c| edge(c) || c == b'-')
        && bytes.first().is_some_and(|&c| edge(c))
        && bytes.last().is_some_and(|&c| edge(c))
}

/// Standard base64 with padding; the empty string is none.
fn is_base64(text: &str) -> bool {
    let stripped = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - stripped.len() <= 2
        && stripped.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'+' || c == b'/')
}

/// An address in which parts of IPv4 may have leading zeros, as old Go versions read them.
fn sloppy_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse().ok()?;
    }
    parts.next().is_none().then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let limit = match sloppy_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|c| c.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= limit)
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(clock)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = CLOCK.captures(clock) else { return false };
    time::parse_date(date).is_some() && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// A single label with at most one dash, in second place; or labels of any sort before a top-level
/// domain of letters. Lengths are in characters, and in bytes as well.
fn is_hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    match text.rsplit_once('.') {
        None => {
            let Some(first) = text.chars().next() else { return false };
            let rest = &text[first.len_utf8()..];
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            HOST_LABEL.is_match(text) && first != '-' && !rest.contains('-')
        }
        Some((labels, top)) => {
            let label = |label: &str| {
                HOST_LABEL.is_match(label) && !label.starts_with('-') && !label.ends_with('-')
            };
            top.chars().count() >= 2 && TOP_LEVEL.is_match(top) && labels.split('.').all(label)
        }
    }
}

/// `local@domain`, or that in angle brackets behind a name.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>').and_then(|rest| rest.split_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| {
                c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
            })
    };
    let dotted = |text: &str| text.split('.').all(atom);
    let quoted = local.len() > 1 && local.starts_with('"') && local.ends_with('"');
    (dotted(local) || quoted)
        && (dotted(domain) || domain.starts_with('[') && domain.ends_with(']'))
}

fn is_mac(text: &str) -> bool {
    let parts = |separator: char, size: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts
                .iter()
                .all(|part| part.len() == size && part.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    parts(':', 2, &[6, 8, 20]) || parts('-', 2, &[6, 8, 20]) || parts('.', 4, &[3, 4, 10])
}

fn is_uuid(text: &str, version: Option<u8>, variant: bool) -> bool {
    // Every dash may be left out.
    let mut digits = Vec::with_capacity(32);
    let mut rest = text;
    for (i, size) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(part) = rest.get(..size) else { return false };
        if !part.bytes().all(|c| c.is_ascii_hexdigit()) {
            return false;
        }
        digits.extend_from_slice(part.as_bytes());
        rest = &rest[size..];
    }
    rest.is_empty()
        && version.is_none_or(|version| digits[12] == version)
        && (!variant || matches!(digits[16].to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'))
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, c)| {
            let digit = u32::from(c - b'0');
            match (i % 2, digit * 2) {
                (0, _) => digit,
                (_, doubled) if doubled >= 10 => doubled - 9,
                (_, doubled) => doubled,
            }
        })
        .sum();
    CARD.is_match(&digits) && sum.is_multiple_of(10)
}

fn without_separators(text: &str) -> Vec<u8> {
    text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'-').collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_separators(text);
    let [first @ .., last] = digits.as_slice() else { return false };
    if first.len() != 9 || !first.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let last = match last {
        b'X' => 10,
        c if c.is_ascii_digit() => u32::from(c - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..).zip(first).map(|(place, c)| place * u32::from(c - b'0')).sum();
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_separators(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weigh = |(i, c): (usize, &u8)| u32::from(c - b'0') * if i % 2 == 0 { 1 } else { 3 };
    digits.iter().enumerate().map(weigh).sum::<u32>().is_multiple_of(10)
}
