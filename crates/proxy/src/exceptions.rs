//! What is reached without a proxy, as `NO_PROXY` says it.

use std::net::IpAddr;

use http::Uri;

/// The entries of `NO_PROXY`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exceptions {
    entries: Vec<(String, Rule)>,
    ignored: Vec<String>,
}

/// What an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// Everything.
    All,
    /// The addresses of a network.
    Network { address: IpAddr, bits: u32 },
    /// One address, at every port or at one.
    Address { address: IpAddr, port: Option<u16> },
    /// A name and everything below it, or only what is below it.
    Name { name: String, itself: bool, port: Option<u16> },
}

/// A server that is to be reached.
#[derive(Debug)]
pub(crate) struct Target {
    /// Whether TLS is spoken with it.
    pub(crate) encrypted: bool,
    /// Its name or address as it is written, without brackets and in small letters.
    host: String,
    /// Its address, where that is what is written. Names are not looked up.
    address: Option<IpAddr>,
    port: u16,
}

impl Target {
    /// The server of a URL; none where there is no host in it.
    pub(crate) fn of(url: &Uri) -> Option<Self> {
        let encrypted = url.scheme_str() != Some("http");
        let host = url.host()?.trim_start_matches('[').trim_end_matches([']', '.']);
        let host = host.to_ascii_lowercase();
        let address = host.parse().ok().map(|address: IpAddr| address.to_canonical());
        let port = url.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        Some(Self { encrypted, host, address, port })
    }

    /// Whether it is on this computer.
    pub(crate) fn is_local(&self) -> bool {
        self.host == "localhost" || self.address.is_some_and(|address| address.is_loopback())
    }
}

impl Exceptions {
    /// Reads entries that are separated by commas.
    pub(crate) fn parse(text: &str) -> Self {
        let mut exceptions = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            match Rule::parse(&entry.to_ascii_lowercase()) {
                Some(rule) => exceptions.entries.push((entry.to_owned(), rule)),
                None => exceptions.ignored.push(entry.to_owned()),
            }
        }
        exceptions
    }

    /// The first entry that names a server.
    pub(crate) fn naming(&self, target: &Target) -> Option<&str> {
        let found = self.entries.iter().find(|(_, rule)| rule.names(target));
        found.map(|(entry, _)| &**entry)
    }

    /// Entries that name nothing.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }
}

impl Rule {
    /// Reads an entry in small letters.
    fn parse(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = entry.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address))?;
            return Some(Self::Network { address, bits });
        }
        if let Some(address) = address(entry) {
            return Some(Self::Address { address, port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        if let Some(address) = address(host) {
            return Some(Self::Address { address, port });
        }
        let host = host.trim_end_matches('.');
        let below = host.strip_prefix("*.").or_else(|| host.strip_prefix('.'));
        let (name, itself) = (below.unwrap_or(host).to_owned(), below.is_none());
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        let usable = !name.is_empty() && name.chars().all(is_name);
        usable.then_some(Self::Name { name, itself, port })
    }

    fn names(&self, target: &Target) -> bool {
        let at = |port: Option<u16>| port.is_none_or(|port| port == target.port);
        match self {
            Self::All => true,
            Self::Network { address, bits } => {
                target.address.is_some_and(|target| is_within(target, *address, *bits))
            }
            Self::Address { address, port } => target.address == Some(*address) && at(*port),
            Self::Name { name, itself, port } => {
                let rest = target.host.strip_suffix(&**name);
                let fits =
                    rest.is_some_and(|rest| rest.ends_with('.') || *itself && rest.is_empty());
                fits && at(*port)
            }
        }
    }
}

/// An address, in brackets or without.
fn address(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text).parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// How many bits an address has.
fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { u32::BITS } else { u128::BITS }
}

/// Whether the first bits of two addresses are the same.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let differ: u128 = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).into(),
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    differ.checked_shr(width(network) - bits).unwrap_or_default() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: &str, url: &str) -> bool {
        let target = Target::of(&url.parse().unwrap()).unwrap();
        Exceptions::parse(entries).naming(&target).is_some()
    }

    #[test]
    fn entries_name_what_they_name_to_programs_written_in_go() {
        for (entry, named, not_named) in [
            ("*", &["https://anything", "http://1.2.3.4"][..], &[][..]),
            (
                "example.org",
                &["https://example.org", "https://EXAMPLE.org.:8443", "https://a.b.example.org"],
                &["https://notexample.org", "https://example.org.uk", "https://10.0.0.1"],
            ),
            (".example.org", &["https://a.example.org"], &["https://example.org"]),
            ("*.example.org", &["https://a.example.org"], &["https://example.org"]),
            (
                "API.example.org:6443",
                &["https://api.example.org:6443", "https://x.api.example.org:6443"],
                &["https://api.example.org"],
            ),
            ("api:443", &["https://api"], &["http://api"]),
            ("10.0.0.1", &["https://10.0.0.1:6443"], &["https://10.0.0.10", "https://a10.0.0.1"]),
            ("10.0.0.1:80", &["http://10.0.0.1"], &["https://10.0.0.1"]),
            ("10.96.0.0/12", &["https://10.111.255.255"], &["https://10.112.0.0", "https://ten"]),
            ("0.0.0.0/0", &["https://8.8.8.8"], &["https://[2001:db8::1]"]),
            ("10.0.0.1/32", &["https://10.0.0.1"], &["https://10.0.0.0"]),
            ("fd00::/8", &["https://[fdff::1]:443"], &["https://[fe80::1]", "https://10.0.0.1"]),
            ("fd00::1", &["https://[FD00:0::1]"], &["https://[fd00::2]"]),
            ("[fd00::1]:8443", &["https://[fd00::1]:8443"], &["https://[fd00::1]"]),
        ] {
            for url in named {
                assert!(names(entry, url), "{entry} names {url}");
            }
            for url in not_named {
                assert!(!names(entry, url), "{entry} does not name {url}");
            }
        }
    }

    #[test]
    fn there_may_be_several_entries_with_spaces_around_them() {
        let entries = " .svc , ,10.0.0.0/8";
        assert!(names(entries, "https://kubernetes.default.svc"));
        assert!(names(entries, "https://10.1.2.3"));
        assert!(!names(entries, "https://vcenter"));
    }

    #[test]
    fn entries_that_name_nothing_are_known() {
        let text = "10.0.0.0/33,10.0.0/8,a b,host:http,http://host,.,example.org";
        let exceptions = Exceptions::parse(text);
        let ignored = ["10.0.0.0/33", "10.0.0/8", "a b", "host:http", "http://host", "."];
        assert_eq!(exceptions.ignored(), ignored);
        assert_eq!(exceptions.entries.len(), 1);
    }
}
