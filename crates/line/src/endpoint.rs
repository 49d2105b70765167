//! Where a server is, in all the spellings that people use.

use std::{
    borrow::Cow,
    fmt::{self, Display, Formatter},
    net::Ipv6Addr,
    str::FromStr,
};

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether requests are encrypted.
    pub encrypted: bool,
    /// The host, an IPv6 address in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// A text that is no address of a server. The text is not repeated whole: it may have a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no address of {server}: {problem}; write host, host:port or {example}")]
pub struct InvalidEndpoint {
    problem: String,
    server: Cow<'static, str>,
    example: Cow<'static, str>,
}

impl InvalidEndpoint {
    /// The same, in the words of a cloud: what the server is (`a vCenter`), and an example of its
    /// URL.
    pub fn of(
        self,
        server: impl Into<Cow<'static, str>>,
        example: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { server: server.into(), example: example.into(), ..self }
    }
}

fn invalid(problem: impl Into<String>) -> InvalidEndpoint {
    InvalidEndpoint {
        problem: problem.into(),
        server: Cow::Borrowed("a server"),
        example: Cow::Borrowed("https://host:port"),
    }
}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    /// Reads `host`, `host:port`, or a URL. What follows the port is left out, for servers whose
    /// paths are known.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::split(text).map(|(endpoint, _)| endpoint)
    }
}

impl Endpoint {
    /// The same with the path, for servers whose address has one: `/client/api`, without the
    /// slash at its end; empty where there is none.
    pub fn with_path(text: &str) -> Result<(Self, String), InvalidEndpoint> {
        let (endpoint, path) = Self::split(text)?;
        let path = path.trim_end_matches('/');
        if path.contains(['?', '#']) {
            return Err(invalid("it has a query or a fragment: leave out what follows the path"));
        }
        if path.parse::<http::uri::PathAndQuery>().is_err() && !path.is_empty() {
            return Err(invalid("its path has characters that no URL has"));
        }
        Ok((endpoint, path.to_owned()))
    }

    /// Host and port, as the header `Host` has them: without the usual port.
    pub fn authority(&self) -> String {
        if self.port == usual_port(self.encrypted) {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The endpoint, and what follows it.
    fn split(text: &str) -> Result<(Self, &str), InvalidEndpoint> {
        let text = text.trim();
        let (encrypted, rest) = match text.split_once("://") {
            None => (true, text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, _)) => return Err(invalid(format!("{scheme:?} is no scheme for it"))),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(invalid("it carries a user name or a password, which belong elsewhere"));
        }
        let (host, port) = host_and_port(authority)?;
        let port = match port {
            None => usual_port(encrypted),
            Some(port) => {
                let port = port.parse().ok().filter(|port| *port != 0);
                port.ok_or_else(|| invalid("its port is no number from 1 to 65535"))?
            }
        };
        Ok((Self { encrypted, host, port }, path))
    }
}

fn usual_port(encrypted: bool) -> u16 {
    if encrypted { 443 } else { 80 }
}

/// Takes a host and its port apart. An IPv6 address may stand without brackets where no port
/// follows.
fn host_and_port(authority: &str) -> Result<(String, Option<&str>), InvalidEndpoint> {
    if let Ok(address) = authority.parse::<Ipv6Addr>() {
        return Ok((format!("[{address}]"), None));
    }
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, port) =
            bracketed.split_once(']').ok_or_else(|| invalid("a bracket is not closed"))?;
        let address: Ipv6Addr =
            address.parse().map_err(|_| invalid(format!("{address:?} is no IPv6 address")))?;
        let port = match port {
            "" => None,
            port => Some(port.strip_prefix(':').ok_or_else(|| invalid("no port after the host"))?),
        };
        return Ok((format!("[{address}]"), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let suits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() {
        return Err(invalid("it names no host"));
    }
    if !host.chars().all(suits) {
        return Err(invalid(format!("{host:?} is no host's name")));
    }
    Ok((host.to_ascii_lowercase(), port))
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match text.parse::<Endpoint>() {
            Ok(endpoint) => endpoint.to_string(),
            Err(error) => error.of("a vCenter", "https://host:port/sdk").to_string(),
        }
    }

    #[test]
    fn every_spelling_of_a_place_is_understood() {
        for (text, place) in [
            ("vc.example.com", "https://vc.example.com:443"),
            ("VC.example.com:8443", "https://vc.example.com:8443"),
            ("https://vc.example.com", "https://vc.example.com:443"),
            ("https://vc.example.com/sdk", "https://vc.example.com:443"),
            ("https://vc.example.com:8989/sdk/", "https://vc.example.com:8989"),
            ("http://127.0.0.1:8989/sdk", "http://127.0.0.1:8989"),
            (" 10.0.0.5 ", "https://10.0.0.5:443"),
            ("fd00::5", "https://[fd00::5]:443"),
            ("[fd00::5]", "https://[fd00::5]:443"),
            ("[fd00::5]:8443", "https://[fd00::5]:8443"),
            ("https://[FD00::5]/sdk", "https://[fd00::5]:443"),
        ] {
            assert_eq!(read(text), place, "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused_with_the_remedy() {
        let remedy = "; write host, host:port or https://host:port/sdk";
        for (text, problem) in [
            ("", "it names no host"),
            ("ftp://vc", "\"ftp\" is no scheme for it"),
            ("vc:0", "its port is no number from 1 to 65535"),
            ("vc:https", "its port is no number from 1 to 65535"),
            ("[fd00::5", "a bracket is not closed"),
            ("[fd00::5]8443", "no port after the host"),
            ("[vc]", "\"vc\" is no IPv6 address"),
            ("my vcenter", "\"my vcenter\" is no host's name"),
        ] {
            assert_eq!(read(text), format!("no address of a vCenter: {problem}{remedy}"), "{text}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_repeated() {
        let told = read("https://admin:hunter2@vc/sdk");
        assert!(told.contains("belong elsewhere") && !told.contains("hunter2"), "{told}");
    }

    #[test]
    fn the_path_of_an_address_is_kept_where_it_counts() {
        let read = |text: &str| match Endpoint::with_path(text) {
            Ok((endpoint, path)) => format!("{endpoint} {path:?}"),
            Err(error) => error.to_string(),
        };
        let remedy = "; write host, host:port or https://host:port";
        for (text, expected) in [
            ("http://cs.example.org:8080/client/api", "http://cs.example.org:8080 \"/client/api\""),
            ("https://pve:8006/api2/json/", "https://pve:8006 \"/api2/json\""),
            ("pve:8006", "https://pve:8006 \"\""),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for (text, problem) in [
            ("pve/api?x=1", "it has a query or a fragment: leave out what follows the path"),
            ("pve/a b", "its path has characters that no URL has"),
        ] {
            assert_eq!(read(text), format!("no address of a server: {problem}{remedy}"), "{text}");
        }
    }

    #[test]
    fn the_usual_port_is_not_repeated_to_the_server() {
        for (text, authority) in [
            ("vc", "vc"),
            ("http://vc", "vc"),
            ("http://vc:443", "vc:443"),
            ("[fd00::5]:8006", "[fd00::5]:8006"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().authority(), authority, "{text}");
        }
    }
}
