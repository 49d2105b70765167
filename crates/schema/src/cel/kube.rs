//! Kubernetes' own functions: quantities, addresses, URLs, formats, versions.

use std::{
    cmp::Ordering,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    rc::Rc,
};

use joiner_core::quantity::Quantity;

use super::{
    semver::Version,
    value::{Failure, Fields, Outcome, Val},
};
use crate::{
    formats::TextFormat,
    names::{self, NameRule},
    text, url,
};

/// Calls one of Kubernetes' functions, if there is one for these arguments.
pub(super) fn call<'a>(function: &str, method: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if let Some(name) = function.strip_prefix("format.") {
        return format_function(name, args);
    }
    match args {
        [Val::Text(text)] if !method => from_text(function, text),
        [Val::Text(text), Val::Bool(lenient)] if !method => match function {
            "semver" => Some(semver(text, *lenient)),
            "isSemver" => Some(Ok(Val::Bool(Version::parse(text, *lenient).is_some()))),
            _ => None,
        },
        [Val::Quantity(quantity), rest @ ..] => quantity_function(function, *quantity, rest),
        [Val::Url(url)] => url_function(function, url),
        [Val::Ip(address)] => ip_function(function, *address),
        [Val::Cidr(address, bits), rest @ ..] => cidr_function(function, *address, *bits, rest),
        [Val::Semver(version), rest @ ..] => semver_function(function, version, rest),
        [Val::Format(name), Val::Text(text)] if function == "validate" => {
            let wrong = format_errors(name, text);
            Some(Ok(if wrong.is_empty() {
                Val::Optional(None)
            } else {
                Val::some(Val::list(wrong.into_iter().map(Val::text).collect()))
            }))
        }
        _ => None,
    }
}

fn from_text<'a>(function: &str, text: &str) -> Option<Outcome<'a>> {
    let truth = |flag: bool| Ok(Val::Bool(flag));
    Some(match function {
        "quantity" => match text.parse::<Quantity>() {
            Ok(quantity) => Ok(Val::Quantity(quantity)),
            Err(_) => Failure::new(
                "quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        },
        "isQuantity" => truth(text.parse::<Quantity>().is_ok()),
        "url" => match url::parse_request_uri(text) {
            Ok(url) => Ok(Val::Url(Rc::new(url))),
            Err(error) => {
                Failure::new(format!("URL parse error during conversion from string: {error}"))
            }
        },
        "isURL" => truth(url::parse_request_uri(text).is_ok()),
        "ip" => parse_ip(text).map_or_else(Failure::new, |address| Ok(Val::Ip(address))),
        "isIP" => truth(parse_ip(text).is_ok()),
        "ip.isCanonical" => match parse_ip(text) {
            Ok(address) => truth(address.to_string() == text),
            Err(error) => Failure::new(error),
        },
        "cidr" => match parse_cidr(text) {
            Ok((address, bits)) => Ok(Val::Cidr(address, bits)),
            Err(error) => Failure::new(format!(
                "network address parse error during conversion from string: {error}"
            )),
        },
        "isCIDR" => truth(parse_cidr(text).is_ok()),
        "semver" => semver(text, false),
        "isSemver" => truth(Version::parse(text, false).is_some()),
        _ => return None,
    })
}

fn quantity_function<'a>(
    function: &str,
    quantity: Quantity,
    rest: &[Val<'a>],
) -> Option<Outcome<'a>> {
    let whole = || {
        let floor = quantity.floor();
        (Quantity::whole(floor) == quantity).then_some(floor)
    };
    let number = |order: Ordering| Ok(Val::Int(order as i64));
    Some(match (function, rest) {
        ("sign", []) => number(quantity.cmp(&Quantity::ZERO)),
        ("asApproximateFloat", []) => Ok(Val::Double(quantity.as_f64())),
        ("isInteger", []) => Ok(Val::Bool(whole().is_some())),
        ("asInteger", []) => whole()
            .map_or_else(|| Failure::new("cannot convert value to integer"), |n| Ok(Val::Int(n))),
        ("isGreaterThan", [Val::Quantity(other)]) => Ok(Val::Bool(quantity > *other)),
        ("isLessThan", [Val::Quantity(other)]) => Ok(Val::Bool(quantity < *other)),
        ("compareTo", [Val::Quantity(other)]) => number(quantity.cmp(other)),
        ("add", [Val::Quantity(other)]) => Ok(Val::Quantity(quantity + *other)),
        ("add", [Val::Int(other)]) => Ok(Val::Quantity(quantity + Quantity::whole(*other))),
        ("sub", [Val::Quantity(other)]) => Ok(Val::Quantity(quantity - *other)),
        ("sub", [Val::Int(other)]) => Ok(Val::Quantity(quantity - Quantity::whole(*other))),
        _ => return None,
    })
}

fn url_function<'a>(function: &str, url: &url::Url) -> Option<Outcome<'a>> {
    Some(Ok(match function {
        "getScheme" => Val::text(url.scheme.as_str()),
        "getHost" => Val::text(url.host.as_str()),
        "getHostname" => Val::text(url.hostname()),
        "getPort" => Val::text(url.port()),
        "getEscapedPath" => Val::text(url.path.as_str()),
        "getQuery" => {
            let pairs = url.query_pairs().into_iter().map(|(key, values)| {
                (Val::text(key), Val::list(values.into_iter().map(Val::text).collect()))
            });
            Val::Map(Fields::Made(Rc::new(pairs.collect())))
        }
        _ => return None,
    }))
}

fn ip_function<'a>(function: &str, address: IpAddr) -> Option<Outcome<'a>> {
    let link_local_multicast = match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    };
    let link_local_unicast = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    };
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    Some(Ok(match function {
        "family" => Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Val::Bool(address.is_unspecified()),
        "isLoopback" => Val::Bool(address.is_loopback()),
        "isLinkLocalMulticast" => Val::Bool(link_local_multicast),
        "isLinkLocalUnicast" => Val::Bool(link_local_unicast),
        "isGlobalUnicast" => Val::Bool(!(special || link_local_unicast || broadcast)),
        _ => return None,
    }))
}

fn cidr_function<'a>(
    function: &str,
    address: IpAddr,
    bits: u8,
    rest: &[Val<'a>],
) -> Option<Outcome<'a>> {
    let truth = |flag: bool| Ok(Val::Bool(flag));
    let holds = |other: IpAddr, other_bits: u8| {
        other.is_ipv4() == address.is_ipv4()
            && bits <= other_bits
            && masked(other, bits) == masked(address, bits)
    };
    Some(match (function, rest) {
        ("ip", []) => Ok(Val::Ip(address)),
        ("prefixLength", []) => Ok(Val::Int(i64::from(bits))),
        ("masked", []) => Ok(Val::Cidr(masked(address, bits), bits)),
        ("containsIP", [Val::Ip(other)]) => truth(holds(*other, u8::MAX)),
        ("containsIP", [Val::Text(text)]) => match parse_ip(text) {
            Ok(other) => truth(holds(other, u8::MAX)),
            Err(_) => Failure::overload(),
        },
        ("containsCIDR", [Val::Cidr(other, other_bits)]) => truth(holds(*other, *other_bits)),
        ("containsCIDR", [Val::Text(text)]) => match parse_cidr(text) {
            Ok((other, other_bits)) => truth(holds(other, other_bits)),
            Err(_) => Failure::overload(),
        },
        _ => return None,
    })
}

/// The address with everything beyond the first `bits` bits zero.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}

fn parse_ip(raw: &str) -> Result<IpAddr, String> {
    let quoted = text::quote(raw);
    if raw.contains('%') && raw.contains(':') {
        return Err(format!("IP address {quoted} with zone value is not allowed"));
    }
    let address: IpAddr = raw.parse().map_err(|_| {
        format!(
            "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): \
             {}",
            address_error(raw)
        )
    })?;
    if let IpAddr::V6(address) = address
        && address.to_ipv4_mapped().is_some()
    {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok(address)
}

/// What Go says about an address that is none.
fn address_error(raw: &str) -> &'static str {
    if raw.contains(':') || !raw.contains('.') {
        return if raw.contains(':') {
            "each colon-separated field must have at least one digit"
        } else {
            "unable to parse IP"
        };
    }
    let parts: Vec<&str> = raw.split('.').collect();
    if raw.bytes().any(|c| !c.is_ascii_digit() && c != b'.') {
        return "unexpected character";
    }
    if parts.iter().any(|part| part.is_empty()) {
        return "IPv4 field must have at least one digit";
    }
    if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        return "IPv4 field has octet with leading zero";
    }
    if parts.iter().any(|part| part.parse::<u8>().is_err()) {
        return "IPv4 field has value >255";
    }
    if parts.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

fn parse_cidr(raw: &str) -> Result<(IpAddr, u8), String> {
    let quoted = text::quote(raw);
    let fail = |words: &str| {
        format!(
            "network address parse error during conversion from string: \
             netip.ParsePrefix({quoted}): {words}"
        )
    };
    let Some((address, bits)) = raw.rsplit_once('/') else { return Err(fail("no '/'")) };
    let Ok(parsed) = address.parse::<IpAddr>() else {
        let shown = text::quote(address);
        return Err(fail(&format!("ParseAddr({shown}): {}", address_error(address))));
    };
    let limit = if parsed.is_ipv4() { 32 } else { 128 };
    let digits = !bits.is_empty() && bits.bytes().all(|c| c.is_ascii_digit());
    if !digits || (bits.len() > 1 && bits.starts_with('0')) {
        return Err(fail(&format!("bad bits after slash: {}", text::quote(bits))));
    }
    match bits.parse::<u8>() {
        Ok(bits) if bits <= limit => match parsed {
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
                Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
            }
            parsed => Ok((parsed, bits)),
        },
        _ => Err(fail("prefix length out of range")),
    }
}

fn semver<'a>(text: &str, lenient: bool) -> Outcome<'a> {
    match Version::parse(text, lenient) {
        Some(version) => Ok(Val::Semver(Rc::new(version))),
        None => Failure::new("No Major.Minor.Patch elements found"),
    }
}

fn semver_function<'a>(function: &str, version: &Version, rest: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match (function, rest) {
        ("major", []) => Val::Int(version.major as i64),
        ("minor", []) => Val::Int(version.minor as i64),
        ("patch", []) => Val::Int(version.patch as i64),
        ("isGreaterThan", [Val::Semver(other)]) => Val::Bool(version.cmp(other).is_gt()),
        ("isLessThan", [Val::Semver(other)]) => Val::Bool(version.cmp(other).is_lt()),
        ("compareTo", [Val::Semver(other)]) => Val::Int(version.cmp(other) as i64),
        _ => return None,
    }))
}

/// The formats that rules can name.
const FORMATS: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

fn format_function<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let find = |name: &str| FORMATS.into_iter().find(|known| *known == name).map(Val::Format);
    match (name, args) {
        ("named", [Val::Text(text)]) => Some(Ok(find(text).map_or(Val::Optional(None), Val::some))),
        (name, []) => find(name).map(Ok),
        _ => None,
    }
}

fn format_errors(name: &str, value: &str) -> Vec<String> {
    let unless = |format: TextFormat, words: &str| {
        if format.accepts(value) { Vec::new() } else { vec![words.to_owned()] }
    };
    match name {
        "dns1123Label" => NameRule::DnsLabel.check(value, false),
        "dns1123Subdomain" => NameRule::DnsSubdomain.check(value, false),
        "dns1035Label" => NameRule::Dns1035Label.check(value, false),
        "dns1123LabelPrefix" => NameRule::DnsLabel.check(value, true),
        "dns1123SubdomainPrefix" => NameRule::DnsSubdomain.check(value, true),
        "dns1035LabelPrefix" => NameRule::Dns1035Label.check(value, true),
        "qualifiedName" => names::qualified_name(value),
        "labelValue" => names::label_value(value),
        "uri" => url::parse_request_uri(value).err().into_iter().collect(),
        "uuid" => unless(TextFormat::Uuid, "does not match the UUID format"),
        "byte" => unless(TextFormat::Byte, "invalid base64"),
        "date" => unless(TextFormat::Date, "invalid date"),
        _ => unless(TextFormat::DateTime, "invalid datetime"),
    }
}
