//! IPv6 addresses that follow from a hardware address.

use std::net::Ipv6Addr;

/// The longest prefix that leaves room for something of the hardware address.
const PREFIX_MAX: u8 = 112;

/// The address of an adapter in a network, by its hardware address. None where either is not written
/// as one, or where the prefix leaves no room.
pub fn address(mac: &str, network: Ipv6Addr, prefix: u8) -> Option<Ipv6Addr> {
    let bytes: Vec<u8> =
        mac.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<_>>()?;
    (bytes.len() == 6).then_some(())?;
    (prefix <= PREFIX_MAX).then_some(())?;
    // The low half of the address; bits of the network stay as they are.
    let interface = u64::from_be_bytes([
        bytes[0] ^ 2,
        bytes[1],
        bytes[2],
        0xff,
        0xfe,
        bytes[3],
        bytes[4],
        bytes[5],
    ]);
    let whole_bytes = u32::from(prefix.div_ceil(8));
    let host_bits = 128 - whole_bytes * 8;
    let mask = if host_bits >= 64 { u128::from(u64::MAX) } else { (1_u128 << host_bits) - 1 };
    let network = network.to_bits() & (u128::MAX << (128 - u32::from(prefix).max(1)));
    Some(Ipv6Addr::from_bits(network | (u128::from(interface) & mask)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bytes_follow_from_the_hardware_address() {
        let mac = "00:1A:2B:3C:4D:5E";
        for (network, prefix, expected) in [
            ("2001:db8:1::", 64, "2001:db8:1:0:21a:2bff:fe3c:4d5e"),
            ("2001:db8:1:2:3::", 80, "2001:db8:1:2:3:2bff:fe3c:4d5e"),
            ("2001:db8:1:2:3::", 88, "2001:db8:1:2:3:ff:fe3c:4d5e"),
            ("2001:db8:1:2:3::", 112, "2001:db8:1:2:3::4d5e"),
            ("2001:db8:1::9", 64, "2001:db8:1:0:21a:2bff:fe3c:4d5e"),
        ] {
            let found = address(mac, network.parse().unwrap(), prefix);
            assert_eq!(found, expected.parse().ok(), "{network}/{prefix}");
        }
        let network = Ipv6Addr::UNSPECIFIED;
        assert_eq!(address(mac, network, 113), None);
        assert_eq!(address("00:1A:2B:3C:4D", network, 64), None);
        assert_eq!(address("", network, 64), None);
    }
}
