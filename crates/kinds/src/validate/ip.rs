//! Addresses and networks. Kubernetes once read them sloppily (`010.0.0.1`) and now refuses such
//! spellings with a text of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::errors::{Errors, Path};

/// An address as it was always read: decimal parts may have leading zeros.
pub(crate) fn parse_sloppy(value: &str) -> Option<IpAddr> {
    if value.contains(':') {
        return value.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0_u8; 4];
    let mut parts = value.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse().ok()?;
    }
    parts.next().is_none().then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// A network as it was always read: its address, which may have bits beyond the prefix, and the
/// length of the prefix.
fn parse_network_sloppy(value: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = value.split_once('/')?;
    let address = parse_sloppy(address)?;
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let length: u32 = length.parse().ok()?;
    (length <= bits(address)).then_some((address, length))
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first address of the network.
fn masked(address: IpAddr, length: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// The address as Go prints it, which shows mapped addresses as what they map to.
fn canonical(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

/// Whether the text is an IPv6 address; mapped addresses are IPv4.
pub(crate) fn is_v6(value: &str) -> bool {
    parse_sloppy(value).is_some_and(|address| address.to_canonical().is_ipv6())
}

/// An address; those that were stored before are let through.
pub(crate) fn address(errors: &mut Errors, path: &Path<'_>, value: &str, stored: &[&str]) {
    if stored.contains(&value) {
        return;
    }
    let Some(address) = parse_sloppy(value) else {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(path, value, detail);
        return;
    };
    if value.parse::<IpAddr>().is_err() {
        errors.invalid(path, value, "must not have leading 0s");
    }
    if is_mapped(address) {
        errors.invalid(path, value, "must not be an IPv4-mapped IPv6 address");
    }
}

/// An address that has to be written in the one canonical way.
pub(crate) fn canonical_address(errors: &mut Errors, path: &Path<'_>, value: &str) {
    let before = errors.len();
    address(errors, path, value, &[]);
    if errors.len() == before
        && let Some(address) = parse_sloppy(value)
        && canonical(address) != value
    {
        let detail = format!("must be in canonical form ({:?})", canonical(address));
        errors.invalid(path, value, detail);
    }
}

/// A network; those that were stored before are let through.
pub(crate) fn network(errors: &mut Errors, path: &Path<'_>, value: &str, stored: &[&str]) {
    if stored.contains(&value) {
        return;
    }
    let Some((address, length)) = parse_network_sloppy(value) else {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        errors.invalid(path, value, detail);
        return;
    };
    let (text, digits) = value.split_once('/').unwrap_or_default();
    if text.parse::<IpAddr>().is_err() || (digits.len() > 1 && digits.starts_with('0')) {
        errors.invalid(path, value, "must not have leading 0s in IP or prefix length");
    } else if is_mapped(address) {
        errors.invalid(path, value, "must not have an IPv4-mapped IPv6 address");
    } else if masked(address, length) != address {
        errors.invalid(path, value, "must not have bits set beyond the prefix length");
    }
}

/// Whether `inner` is a network within `outer` and smaller than it; `None` if one is no network.
pub(crate) fn is_strictly_within(inner: &str, outer: &str) -> Option<bool> {
    let (inner, inner_length) = parse_network_sloppy(inner)?;
    let (outer, outer_length) = parse_network_sloppy(outer)?;
    let within = inner.is_ipv4() == outer.is_ipv4()
        && masked(inner, outer_length.min(bits(inner))) == masked(outer, outer_length);
    Some(within && outer_length < inner_length)
}

/// Whether the texts are networks.
pub(crate) fn is_network(value: &str) -> bool {
    parse_network_sloppy(value).is_some()
}

/// Whether there is one address (or network) of each family.
pub(crate) fn is_dual_stack<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    let (mut v4, mut v6) = (false, false);
    for value in values {
        let text = value.split_once('/').map_or(value, |(address, _)| address);
        match parse_sloppy(text).map(|address| address.to_canonical().is_ipv6()) {
            Some(true) => v6 = true,
            Some(false) => v4 = true,
            None => {}
        }
    }
    v4 && v6
}

/// An address that traffic can be sent to from anywhere in the cluster.
pub(crate) fn endpoint(errors: &mut Errors, path: &Path<'_>, value: &str) {
    let Some(address) = parse_sloppy(value) else {
        errors.invalid(path, value, "must be a valid IP address");
        return;
    };
    let address = address.to_canonical();
    if address.is_unspecified() {
        errors.invalid(path, value, format!("may not be unspecified ({value})"));
    }
    if address.is_loopback() {
        let detail = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
        errors.invalid(path, value, detail);
    }
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    if link_local {
        let detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        errors.invalid(path, value, detail);
    }
    if link_local_multicast {
        let detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        errors.invalid(path, value, detail);
    }
}

/// What to say about an address that is accepted but not written in the canonical way.
pub(crate) fn address_warning(path: &Path<'_>, value: &str) -> Option<String> {
    let address = parse_sloppy(value)?;
    if value.parse::<IpAddr>().is_err() || is_mapped(address) {
        let use_this = canonical(address);
        return Some(format!(
            "{path}: non-standard IP address {value:?} is invalid: use {use_this:?}"
        ));
    }
    (address.is_ipv6() && address.to_string() != value).then(|| {
        let canonical = address.to_string();
        format!(
            "{path}: IPv6 address {value:?} should be in RFC 5952 canonical format ({canonical:?})"
        )
    })
}
