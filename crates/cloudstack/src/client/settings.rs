//! What the client has to know: whose keys, how fast, and for whom.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
};

use super::{KeySource, Keys, Observer, Scope, SignatureVersion, Unobserved};

/// The path of the API where an address names none.
pub const DEFAULT_PATH: &str = "/client/api";

/// What the client has to know.
#[derive(Clone)]
pub struct ClientSettings {
    /// Where keys come from.
    pub keys: Arc<dyn KeySource>,
    /// The path of the API at the server's address.
    pub path: String,
    /// Whose objects are meant.
    pub scope: Scope,
    /// How requests are signed.
    pub signature: SignatureVersion,
    /// How we introduce ourselves, `joiner/1.0 (cluster)`.
    pub user_agent: String,
    /// How many requests may leave in a second.
    pub requests_per_second: u32,
    /// How many requests may be under way at once.
    pub requests_in_flight: usize,
    /// Hears what happens.
    pub observer: Arc<dyn Observer>,
}

impl ClientSettings {
    /// The usual settings, with keys that never change.
    pub fn new(keys: Keys) -> Self {
        Self::with_source(Arc::new(keys))
    }

    /// The usual settings, with keys from a source.
    pub fn with_source(keys: Arc<dyn KeySource>) -> Self {
        Self {
            keys,
            path: DEFAULT_PATH.to_owned(),
            scope: Scope::default(),
            signature: SignatureVersion::default(),
            user_agent: concat!("joiner/", env!("CARGO_PKG_VERSION")).to_owned(),
            requests_per_second: 20,
            requests_in_flight: 10,
            observer: Arc::new(Unobserved),
        }
    }
}

impl Debug for ClientSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("path", &self.path)
            .field("scope", &self.scope)
            .field("requests_per_second", &self.requests_per_second)
            .field("requests_in_flight", &self.requests_in_flight)
            .finish_non_exhaustive()
    }
}

/// The path of the API in an address, `/client/api` where it names none.
pub fn path_of(url: &str) -> Result<String, String> {
    let rest = url.trim();
    let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
    if rest.contains(['?', '#']) {
        return Err("has a query or a fragment; write https://host:port/client/api".to_owned());
    }
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    if path.trim_matches('/').is_empty() {
        return Ok(DEFAULT_PATH.to_owned());
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_means_the_usual_one() {
        for (url, path) in [
            ("https://cloud.example.com", "/client/api"),
            ("https://cloud.example.com/", "/client/api"),
            ("cloud.example.com:8443", "/client/api"),
            ("http://127.0.0.1:8080/client/api", "/client/api"),
            ("https://cloud.example.com/cloudstack/api", "/cloudstack/api"),
        ] {
            assert_eq!(path_of(url).as_deref(), Ok(path), "{url}");
        }
        assert!(path_of("https://cloud.example.com/client/api?command=x").is_err());
    }

    #[test]
    fn keys_are_not_shown() {
        let shown = format!("{:?}", ClientSettings::new(Keys::new("hunter1", "hunter2")));
        assert!(!shown.contains("hunter"), "{shown}");
    }
}
