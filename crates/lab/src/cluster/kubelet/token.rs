//! Bootstrap tokens: what lets a new instance in.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

/// The two parts of a token such as `abcdef.0123456789abcdef`.
pub(super) fn parts(token: &str) -> Option<(&str, &str)> {
    token.split_once('.').filter(|(id, secret)| !id.is_empty() && !secret.is_empty())
}

/// Whether the Secret of a token lets an instance in that presents its other half.
pub(super) fn admits(secret: &Value, id: &str, presented: &str, now: Timestamp) -> bool {
    let data = |key: &str| {
        let bytes = STANDARD.decode(secret["data"][key].as_str()?).ok()?;
        String::from_utf8(bytes).ok()
    };
    // A date that cannot be read is no date in the future.
    let expired = data("expiration")
        .is_some_and(|text| text.parse::<Timestamp>().map_or(true, |at| at <= now));
    secret["type"] == "bootstrap.kubernetes.io/token"
        && data("token-id").as_deref() == Some(id)
        && data("token-secret").as_deref() == Some(presented)
        && data("usage-bootstrap-authentication").as_deref() == Some("true")
        && !expired
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_valid_token_of_the_right_kind_lets_in() {
        let secret = |changes: &[(&str, &str)]| {
            let mut data = json!({});
            for (key, value) in [
                ("token-id", "abcdef"),
                ("token-secret", "0123456789abcdef"),
                ("usage-bootstrap-authentication", "true"),
                ("expiration", "2026-01-01T12:00:01Z"),
            ]
            .iter()
            .chain(changes)
            {
                data[*key] = json!(STANDARD.encode(value));
            }
            json!({"type": "bootstrap.kubernetes.io/token", "data": data})
        };
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let lets_in = |secret: &Value| admits(secret, "abcdef", "0123456789abcdef", now);
        assert!(lets_in(&secret(&[])));
        for change in [
            ("token-secret", "fedcba9876543210"),
            ("token-id", "abcdeg"),
            ("usage-bootstrap-authentication", "false"),
            ("expiration", "2026-01-01T12:00:00Z"),
            ("expiration", "tomorrow"),
        ] {
            assert!(!lets_in(&secret(&[change])), "{change:?}");
        }
        let mut other = secret(&[]);
        other["type"] = json!("Opaque");
        assert!(!lets_in(&other));
        other = secret(&[]);
        other["data"].as_object_mut().unwrap().remove("expiration");
        other["type"] = json!("bootstrap.kubernetes.io/token");
        assert!(lets_in(&other), "a token without an end is valid for ever");
        assert_eq!(parts("abcdef.0123"), Some(("abcdef", "0123")));
        assert_eq!(parts("abcdef"), None);
    }
}
