//! A proxy, as a URL names it.

use std::fmt::{self, Debug, Display, Formatter};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri, uri::Authority};
use percent_encoding::percent_decode_str;

/// A proxy, and where its address was found.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    url: Uri,
    credentials: Option<HeaderValue>,
    found_in: String,
}

/// A text that names no proxy. It is not repeated, since there may be a password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found_in} names no proxy that can be used: {problem}")]
pub struct InvalidProxy {
    found_in: String,
    problem: String,
}

impl Proxy {
    /// Reads `http://HOST:PORT` or `https://HOST:PORT`, with `USER:PASSWORD@` or without; a text
    /// without a scheme is meant as `http`. `found_in` is the variable or field that says it.
    pub fn parse(text: &str, found_in: &str) -> Result<Self, InvalidProxy> {
        let invalid = |problem: &str| InvalidProxy {
            found_in: found_in.to_owned(),
            problem: problem.to_owned(),
        };
        let no_url = "it is no URL; write http://HOST:PORT, and special characters of a password \
                      as %XX";
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(&*scheme, "http" | "https") {
            let remedy = "write http://HOST:PORT or https://HOST:PORT";
            return Err(invalid(&format!("its scheme is {scheme}; {remedy}")));
        }
        let given: Uri = format!("{scheme}://{rest}").parse().map_err(|_| invalid(no_url))?;
        let authority = given.authority().map(Authority::as_str).unwrap_or_default();
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        // Behind `#` may be the rest of a password.
        let has_odd_path =
            given.query().is_some() || rest.contains('#') || !matches!(given.path(), "" | "/");
        let has_odd_port = given.port_u16().is_none() && given.host() != Some(place);
        if given.host().unwrap_or_default().is_empty() || has_odd_port || has_odd_path {
            return Err(invalid(no_url));
        }
        let url = format!("{scheme}://{place}").parse().map_err(|_| invalid(no_url))?;
        let credentials = user.map(basic).transpose().map_err(|_| invalid(no_url))?;
        Ok(Self { url, credentials, found_in: found_in.to_owned() })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &Uri {
        &self.url
    }

    /// What it wants to see, if anything.
    pub(crate) fn credentials(&self) -> Option<&HeaderValue> {
        self.credentials.as_ref()
    }

    /// The variable or field that names it.
    pub(crate) fn found_in(&self) -> &str {
        &self.found_in
    }
}

/// `user:password` as a header, where `%XX` stands for special characters.
fn basic(user: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let user: Vec<u8> = percent_decode_str(user).collect();
    let colon: &[u8] = if user.contains(&b':') { b"" } else { b":" };
    let encoded = STANDARD.encode([&user, colon].concat());
    let mut value: HeaderValue = format!("Basic {encoded}").parse()?;
    value.set_sensitive(true);
    Ok(value)
}

impl Display for Proxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let place = self.url.to_string();
        write!(f, "{} ({})", place.trim_end_matches('/'), self.found_in)
    }
}

impl Debug for Proxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, Option<String>), String> {
        let proxy = Proxy::parse(text, "HTTPS_PROXY").map_err(|error| error.to_string())?;
        let shown = |value: &HeaderValue| {
            let encoded = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
            String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
        };
        Ok((proxy.to_string(), proxy.credentials().map(shown)))
    }

    #[test]
    fn every_spelling_of_a_proxy_is_understood() {
        for (text, place, user) in [
            ("proxy.example.org:3128", "http://proxy.example.org:3128", None),
            ("HTTP://proxy/", "http://proxy", None),
            ("https://[fd00::1]:443", "https://[fd00::1]:443", None),
            ("http://joiner:pa%40ss%3Aword@proxy:1", "http://proxy:1", Some("joiner:pa@ss:word")),
            ("joiner@proxy", "http://proxy", Some("joiner:")),
        ] {
            let expected = (format!("{place} (HTTPS_PROXY)"), user.map(str::to_owned));
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_proxy_is_refused() {
        for text in [
            "http://",
            "proxy:99999",
            "proxy/path",
            "http://proxy?a=b",
            "http://u:1#2@p",
            "a b",
            "://x",
        ] {
            assert!(read(text).unwrap_err().contains("write http://HOST:PORT"), "{text}");
        }
    }
}
