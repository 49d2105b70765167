//! The way to a server: straight, or through a proxy.
//!
//! Every client goes by the same rules, those of programs written in Go, so that one set of
//! variables means the same to `kubectl`, to `govc` and to Joiner: `HTTPS_PROXY` for servers with
//! TLS, `HTTP_PROXY` for those without, `NO_PROXY` for what is reached directly.
//!
//! What the way is (`Proxies::way_to`) is decided without looking at the network or at variables.
//! The [`Connector`] goes it: it asks the proxy for a tunnel, and TLS is spoken with the server
//! itself, so that a proxy reads nothing.

mod connector;
mod exceptions;
mod proxy;
#[cfg(feature = "testing")]
pub mod testing;

use std::fmt::{self, Display, Formatter};

pub use connector::{Connector, NoAuthority, Stream};
use exceptions::{Exceptions, Target};
use http::Uri;
pub use proxy::{InvalidProxy, Proxy};

/// The variables that name the proxy for servers with TLS, those without, and exceptions. The
/// first of each that is not empty counts.
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const NOT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Which proxies there are, and what is reached without them. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    https: Option<Proxy>,
    http: Option<Proxy>,
    exceptions: Exceptions,
}

/// The way to a server. The default is the direct one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Way {
    /// No proxy is set for such servers.
    #[default]
    Direct,
    /// The server is on this computer, which no proxy can reach.
    Local,
    /// An entry of `NO_PROXY` names the server.
    Excepted(String),
    /// Through a proxy.
    Through(Proxy),
}

impl Proxies {
    /// Reads the variables; `variable` answers what one of them holds. Everything that is wrong is
    /// told.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<InvalidProxy>> {
        let first = |names: [&'static str; 2]| {
            let held = |name: &'static str| variable(name).map(|text| (name, text));
            names.into_iter().filter_map(held).find(|(_, text)| !text.trim().is_empty())
        };
        let mut wrong = Vec::new();
        let mut proxy = |names| {
            let (name, text) = first(names)?;
            Proxy::parse(&text, name).map_err(|error| wrong.push(error)).ok()
        };
        let (https, http) = (proxy(HTTPS), proxy(HTTP));
        let exceptions = first(NOT).map(|(_, text)| Exceptions::parse(&text)).unwrap_or_default();
        if wrong.is_empty() { Ok(Self { https, http, exceptions }) } else { Err(wrong) }
    }

    /// The way to a server.
    pub fn way_to(&self, server: &Uri) -> Way {
        let Some(target) = Target::of(server) else { return Way::Direct };
        let proxy = if target.encrypted { &self.https } else { &self.http };
        let Some(proxy) = proxy else { return Way::Direct };
        if target.is_local() {
            return Way::Local;
        }
        match self.exceptions.naming(&target) {
            Some(entry) => Way::Excepted(entry.to_owned()),
            None => Way::Through(proxy.clone()),
        }
    }

    /// Entries of `NO_PROXY` that name nothing, and so have no effect.
    pub fn ignored(&self) -> &[String] {
        self.exceptions.ignored()
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("directly"),
            Self::Local => f.write_str("directly, since it is on this computer"),
            Self::Excepted(entry) => write!(f, "directly, since NO_PROXY has {entry:?}"),
            Self::Through(proxy) => write!(f, "through the proxy {proxy}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// The ways to these servers, with these variables.
    fn ways(variables: &[(&str, &str)], servers: &[&str]) -> String {
        let held = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        let lines: Vec<String> = match Proxies::read(held) {
            Ok(proxies) => {
                let way = |server: &&str| proxies.way_to(&server.parse().unwrap());
                servers.iter().map(|server| format!("{server}: {}\n", way(server))).collect()
            }
            Err(wrong) => wrong.iter().map(|error| format!("{error}\n")).collect(),
        };
        lines.concat()
    }

    #[test]
    fn each_kind_of_server_has_its_variable() {
        let servers = ["https://api.example.org:6443", "http://api.example.org"];
        let both = [("HTTPS_PROXY", "http://secure:3128"), ("HTTP_PROXY", "plain:8080")];
        expect![[r"
            https://api.example.org:6443: through the proxy http://secure:3128 (HTTPS_PROXY)
            http://api.example.org: through the proxy http://plain:8080 (HTTP_PROXY)
        "]]
        .assert_eq(&ways(&both, &servers));
        expect![[r"
            https://api.example.org:6443: through the proxy https://secure (https_proxy)
            http://api.example.org: directly
        "]]
        .assert_eq(&ways(&[("HTTPS_PROXY", " "), ("https_proxy", "https://secure")], &servers));
        expect![[r"
            https://api.example.org:6443: directly
            http://api.example.org: directly
        "]]
        .assert_eq(&ways(&[("ALL_PROXY", "http://all:1")], &servers));
    }

    #[test]
    fn what_is_on_this_computer_is_behind_no_proxy() {
        let proxy = [("HTTPS_PROXY", "http://proxy:3128")];
        let servers = ["https://127.0.0.1:6443", "https://[::1]:6443", "https://LocalHost"];
        expect![[r"
            https://127.0.0.1:6443: directly, since it is on this computer
            https://[::1]:6443: directly, since it is on this computer
            https://LocalHost: directly, since it is on this computer
        "]]
        .assert_eq(&ways(&proxy, &servers));
    }

    #[test]
    fn exceptions_are_told_with_the_entry_that_names_the_server() {
        let variables =
            [("HTTPS_PROXY", "http://proxy:3128"), ("no_proxy", "10.0.0.0/8,.example.org")];
        let servers =
            ["https://10.96.0.1:443", "https://vcenter.example.org", "https://example.org"];
        expect![[r#"
            https://10.96.0.1:443: directly, since NO_PROXY has "10.0.0.0/8"
            https://vcenter.example.org: directly, since NO_PROXY has ".example.org"
            https://example.org: through the proxy http://proxy:3128 (HTTPS_PROXY)
        "#]]
        .assert_eq(&ways(&variables, &servers));
    }

    #[test]
    fn what_names_no_proxy_is_told_without_its_text() {
        let variables = [
            ("HTTPS_PROXY", "socks5://joiner:hunter2@proxy:1080"),
            ("HTTP_PROXY", "http://joiner:hun#ter2@proxy:3128"),
        ];
        expect![[r"
            HTTPS_PROXY names no proxy that can be used: its scheme is socks5; write http://HOST:PORT or https://HOST:PORT
            HTTP_PROXY names no proxy that can be used: it is no URL; write http://HOST:PORT, and special characters of a password as %XX
        "]]
        .assert_eq(&ways(&variables, &[]));
    }

    #[test]
    fn a_password_is_shown_to_the_proxy_alone() {
        let proxy = Proxy::parse("joiner:hunter2@proxy:3128", "HTTPS_PROXY").unwrap();
        let way = Way::Through(proxy);
        let shown = format!("{way} {way:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(!shown.contains("aHVudGVyMg"), "{shown}");
    }
}
