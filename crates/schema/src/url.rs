//! URLs, as Go's `url.ParseRequestURI` reads them.

use crate::text;

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// As it was given; two URLs are equal when they were written the same.
    pub(crate) raw: String,
    pub(crate) scheme: String,
    /// Host and port, without the user.
    pub(crate) host: String,
    /// The path as it was written.
    pub(crate) path: String,
    /// What stands behind the question mark.
    pub(crate) query: String,
}

/// Reads an absolute URL or an absolute path, without fragment.
pub(crate) fn parse_request_uri(raw: &str) -> Result<Url, String> {
    let fail = |words: &str| Err(format!("parse {}: {words}", text::quote(raw)));
    if raw.bytes().any(|c| c < 0x20 || c == 0x7f) {
        return fail("net/url: invalid control character in URL");
    }
    if raw.is_empty() {
        return fail("empty url");
    }
    let (scheme, rest) = match split_scheme(raw) {
        Ok(parts) => parts,
        Err(words) => return fail(words),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            // An opaque URL such as `mailto:a@b`.
            return Ok(Url {
                raw: raw.to_owned(),
                scheme: scheme.to_lowercase(),
                host: String::new(),
                path: String::new(),
                query: query.to_owned(),
            });
        }
        return fail("invalid URI for request");
    }
    let (mut authority, mut path) = ("", rest);
    // Without a scheme, two slashes at the beginning are a path: a request names no host.
    if let Some(after) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        let end = after.find('/').unwrap_or(after.len());
        (authority, path) = after.split_at(end);
    }
    let host = match parse_authority(authority) {
        Ok(host) => host,
        Err(words) => return fail(&words),
    };
    if let Some(wrong) = bad_escape(path) {
        return fail(&format!("invalid URL escape {}", text::quote(wrong)));
    }
    Ok(Url {
        raw: raw.to_owned(),
        scheme: scheme.to_lowercase(),
        host,
        path: escaped_path(path),
        query: query.to_owned(),
    })
}

impl Url {
    /// The host without port, and without the brackets of an IPv6 address.
    pub(crate) fn hostname(&self) -> &str {
        let host = self.port_split().0;
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or nothing.
    pub(crate) fn port(&self) -> &str {
        self.port_split().1
    }

    fn port_split(&self) -> (&str, &str) {
        match self.host.rfind(':') {
            Some(at) if self.host[at + 1..].bytes().all(|c| c.is_ascii_digit()) => {
                (&self.host[..at], &self.host[at + 1..])
            }
            _ => (&self.host, ""),
        }
    }

    /// The query's keys and values, decoded, in order of first appearance.
    pub(crate) fn query_pairs(&self) -> Vec<(String, Vec<String>)> {
        let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
        for part in self.query.split('&').filter(|part| !part.is_empty() && !part.contains(';')) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (Some(key), Some(value)) = (unescape_query(key), unescape_query(value)) else {
                continue;
            };
            match pairs.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => pairs.push((key, vec![value])),
            }
        }
        pairs
    }
}

fn split_scheme(raw: &str) -> Result<(&str, &str), &'static str> {
    for (i, c) in raw.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if i > 0 => {}
            ':' if i == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&raw[..i], &raw[i + 1..])),
            _ => return Ok(("", raw)),
        }
    }
    Ok(("", raw))
}

fn parse_authority(authority: &str) -> Result<String, String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(inner) = host.strip_prefix('[') {
        let Some(end) = inner.rfind(']') else {
            return Err("missing ']' in host".to_owned());
        };
        let port = &inner[end + 1..];
        if !valid_port(port) {
            return Err(format!("invalid port {} after host", text::quote(port)));
        }
    } else if let Some(at) = host.rfind(':') {
        let port = &host[at..];
        if !valid_port(port) {
            return Err(format!("invalid port {} after host", text::quote(port)));
        }
    }
    if let Some(c) = host.chars().find(|&c| " \"<>\\^`{|}".contains(c)) {
        let shown = text::quote(&c.to_string());
        return Err(format!("invalid character {shown} in host name"));
    }
    if let Some(wrong) = bad_escape(host) {
        return Err(format!("invalid URL escape {}", text::quote(wrong)));
    }
    Ok(host.to_owned())
}

fn valid_port(port: &str) -> bool {
    port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit()))
}

/// The first percent sign that no two hexadecimal digits follow, with what follows it.
fn bad_escape(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let at = (0..bytes.len()).find(|&i| bytes[i] == b'%' && !(hex(i + 1) && hex(i + 2)))?;
    let end = (at + 3).min(text.len());
    text.get(at..end).or(Some("%"))
}

/// The path with everything escaped that a path must not contain.
fn escaped_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            text::write_in(&mut out, format_args!("%{byte:02X}"));
        }
    }
    out
}

fn unescape_query(text: &str) -> Option<String> {
    if bad_escape(text).is_some() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [] => break,
            [b'%', high, low, tail @ ..] => {
                let digit = |c: u8| char::from(c).to_digit(16).unwrap_or(0);
                bytes.push((digit(*high) * 16 + digit(*low)) as u8);
                rest = tail;
            }
            [b'+', tail @ ..] => {
                bytes.push(b' ');
                rest = tail;
            }
            [byte, tail @ ..] => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
