//! What the client has to know: whose keys, how fast, and for whom.

use std::{
    fmt::{self, Debug, Formatter},
    time::Duration,
};

use joiner_line::{Credentials, CredentialsSource, Endpoint, InvalidEndpoint, LineSettings};

use super::{Scope, SignatureVersion};

/// The path of the API where an address names none.
const DEFAULT_PATH: &str = "/client/api";
/// How many requests may be under way at once. A management server has some hundred threads for all
/// its clients, its own user interface among them.
const REQUESTS_IN_FLIGHT: usize = 10;
/// How many requests may leave in a second: below what a server that limits them allows by default.
const REQUESTS_PER_SECOND: u32 = 20;

/// How long an answer may take: upstream's default.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// What the client has to know.
#[derive(Clone)]
pub struct ClientSettings {
    /// Where keys come from: the API key as the name, the secret key as the secret.
    pub keys: CredentialsSource,
    /// The path of the API at the server's address.
    pub path: String,
    /// Whose objects are meant.
    pub scope: Scope,
    /// How requests are signed.
    pub signature: SignatureVersion,
    /// How many requests may leave in a second.
    pub requests_per_second: u32,
    /// How long one answer may take.
    pub answer_timeout: Duration,
    /// How we introduce ourselves, how many requests may be under way, and what counts them.
    pub line: LineSettings,
}

impl ClientSettings {
    /// The usual settings, with keys that never change.
    pub fn new(keys: Credentials) -> Self {
        Self::with_source(keys.into_source())
    }

    /// The usual settings, with keys from a source.
    pub fn with_source(keys: CredentialsSource) -> Self {
        Self {
            keys,
            path: DEFAULT_PATH.to_owned(),
            scope: Scope::default(),
            signature: SignatureVersion::default(),
            requests_per_second: REQUESTS_PER_SECOND,
            answer_timeout: ANSWER_TIMEOUT,
            line: LineSettings {
                requests_in_flight: REQUESTS_IN_FLIGHT,
                ..LineSettings::default()
            },
        }
    }
}

impl Debug for ClientSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("path", &self.path)
            .field("scope", &self.scope)
            .field("requests_per_second", &self.requests_per_second)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// The server of an address, and the path of the API there: `/client/api` where the address names
/// none.
pub fn address(text: &str) -> Result<(Endpoint, String), InvalidEndpoint> {
    let (endpoint, path) = Endpoint::with_path(text)
        .map_err(|error| error.of("CloudStack's API", "https://host:port/client/api"))?;
    Ok((endpoint, if path.is_empty() { DEFAULT_PATH.to_owned() } else { path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_means_the_usual_one() {
        for (text, path) in [
            ("https://cloud.example.com", "/client/api"),
            ("https://cloud.example.com/", "/client/api"),
            ("cloud.example.com:8443", "/client/api"),
            ("http://127.0.0.1:8080/client/api", "/client/api"),
            ("https://cloud.example.com/cloudstack/api", "/cloudstack/api"),
        ] {
            let (_, found) = address(text).unwrap();
            assert_eq!(found, path, "{text}");
        }
        let told = address("https://cloud.example.com/client/api?apikey=x").unwrap_err();
        assert!(told.to_string().ends_with("https://host:port/client/api"), "{told}");
    }

    #[test]
    fn keys_are_not_shown() {
        let shown = format!("{:?}", ClientSettings::new(Credentials::new("hunter1", "hunter2")));
        assert!(!shown.contains("hunter"), "{shown}");
    }
}
