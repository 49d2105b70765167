//! Addresses: `cidrhost` and `cidrslaac`.

use std::net::{IpAddr, Ipv6Addr};

use super::{Called, bytes};
use crate::{
    function::Function,
    value::{Type, Value},
};

pub(super) fn functions() -> Vec<(&'static str, Function)> {
    vec![
        (
            "cidrhost",
            Function::new(vec![Type::Text], Type::Text, |_, values| host(values))
                .and_more(Type::INT),
        ),
        ("cidrslaac", Function::new(vec![Type::Text; 2], Type::Text, |_, values| slaac(values))),
    ]
}

/// An address and how many of its bits name the network.
struct Cidr {
    address: IpAddr,
    prefix: u32,
}

impl Cidr {
    fn read(value: &Value) -> Result<Self, String> {
        // Go shows the text, which may be anything.
        let invalid = || "invalid CIDR address".to_owned();
        let text = String::from_utf8_lossy(bytes(value));
        let (address, prefix) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u32 = prefix.parse().ok().filter(|_| digits).ok_or_else(invalid)?;
        if prefix > bits_of(&address) {
            return Err(invalid());
        }
        Ok(Self { address, prefix })
    }

    fn network(&self) -> u128 {
        let host_bits = bits_of(&self.address) - self.prefix;
        let number = match self.address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        };
        number & u128::MAX.checked_shl(host_bits).unwrap_or(0)
    }

    /// An address of the same family.
    fn with(&self, number: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => IpAddr::V4((number as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(number.into()),
        }
    }
}

fn bits_of(address: &IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// An address as Go writes it: IPv4 inside of IPv6 is IPv4.
fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V6(address) => {
            address.to_ipv4_mapped().map_or_else(|| address.to_string(), |v4| v4.to_string())
        }
        IpAddr::V4(address) => address.to_string(),
    }
}

/// The address, or one of the network by its number: negative ones count from the end.
fn host(values: &[Value]) -> Called {
    let [text, rest @ ..] = values else { return Ok(Value::text("")) };
    let cidr = Cidr::read(text)?;
    let Some(Value::Int(_, number)) = rest.first() else {
        return Ok(Value::text(written(cidr.address)));
    };
    let host_bits = bits_of(&cidr.address) - cidr.prefix;
    let most = 1_u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
    let magnitude = u128::from(number.unsigned_abs());
    // From the end, the last address is -1.
    let offset = if *number < 0 { magnitude - 1 } else { magnitude };
    if offset > most {
        let prefix = cidr.prefix;
        return Err(
            format!("prefix of {prefix} does not accommodate a host numbered {number}").into()
        );
    }
    let offset = if *number < 0 { most - offset } else { offset };
    Ok(Value::text(written(cidr.with(cidr.network() | offset))))
}

/// The address that a card gives itself in a network, with the length of the prefix.
fn slaac(values: &[Value]) -> Called {
    let [mac, text] = values else { return Ok(Value::text("")) };
    let cidr = Cidr::read(text)?;
    let mac = hardware_address(mac)?;
    if cidr.prefix > 112 {
        return Err("slaac generator requires a mask of /64 to /112".into());
    }
    let IpAddr::V6(_) = cidr.address else {
        return Err("slaac generator requires an IPv6 network".into());
    };
    let network = cidr.network().to_be_bytes();
    let mut octets = network;
    octets[8..11].copy_from_slice(&mac[..3]);
    octets[8] ^= 2;
    octets[11..13].copy_from_slice(&[0xff, 0xfe]);
    octets[13..].copy_from_slice(&mac[3..]);
    let kept = (cidr.prefix / 8) as usize;
    octets[..kept].copy_from_slice(&network[..kept]);
    Ok(Value::text(format!("{}/{}", written(IpAddr::V6(Ipv6Addr::from(octets))), cidr.prefix)))
}

/// Six bytes as `00:1a:2b:3c:4d:5e`, `00-1a-2b-3c-4d-5e` or `001a.2b3c.4d5e`.
fn hardware_address(value: &Value) -> Result<[u8; 6], String> {
    let text = String::from_utf8_lossy(bytes(value)).into_owned();
    let invalid = || "invalid MAC address".to_owned();
    let (separator, digits) = match text.find([':', '-', '.']) {
        Some(2) => (&text[2..3], 2),
        Some(4) => (&text[4..5], 4),
        _ => return Err(invalid()),
    };
    let groups: Vec<&str> = text.split(separator).collect();
    let right =
        |group: &&str| group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit());
    if !groups.iter().all(right) || groups.len() * digits != 12 {
        return Err(invalid());
    }
    let number = u64::from_str_radix(&groups.concat(), 16).map_err(|_| invalid())?;
    let [_, _, mac @ ..] = number.to_be_bytes();
    Ok(mac)
}
