//! Continue tokens: where a list that was cut goes on.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;

use crate::{Status, json, object::Key};

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The version of the list; none when the caller accepts that it changed since.
    pub(crate) version: Option<u64>,
    /// The last object that was given.
    pub(crate) after: Key,
}

impl Page {
    pub(crate) fn encode(&self) -> String {
        let version = self.version.map_or(-1, |version| version as i64);
        let start = format!("{}/{}\0", self.after.namespace, self.after.name);
        let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": start});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// Reads a token, of a list within a namespace or of all.
    pub(crate) fn decode(token: &str) -> Result<Self, Status> {
        let refuse = |why: String| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(length) => length,
                base64::DecodeError::InvalidPadding => token.len(),
            };
            refuse(format!("illegal base64 data at input byte {at}"))
        })?;
        let value = json::parse(&bytes).map_err(refuse)?.value;
        if value["v"].as_str() != Some("meta.k8s.io/v1") {
            let version = value["v"].as_str().unwrap_or_default();
            return Err(refuse(format!(
                "server does not recognize this encoded version {version:?}"
            )));
        }
        let version = value["rv"].as_i64().unwrap_or_default();
        if version == 0 {
            return Err(refuse(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into(),
            ));
        }
        let start = value["start"].as_str().unwrap_or_default();
        let start = start.strip_suffix('\0').unwrap_or(start);
        let Some((namespace, name)) = start.split_once('/').filter(|_| !start.is_empty()) else {
            return Err(refuse(
                "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
                    .into(),
            ));
        };
        Ok(Self { version: u64::try_from(version).ok(), after: Key::new(namespace, name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for version in [Some(7), None] {
            let page = Page { version, after: Key::new("default", "web-0") };
            assert_eq!(Page::decode(&page.encode()), Ok(page));
        }
    }

    #[test]
    fn a_token_that_is_none_is_refused() {
        let refused = Page::decode("abc").unwrap_err();
        assert_eq!(
            refused.message,
            "invalid continue token: continue key is not valid: \
             invalid character 'i' looking for beginning of value"
        );
        assert_eq!(refused.code, 400);
    }
}
