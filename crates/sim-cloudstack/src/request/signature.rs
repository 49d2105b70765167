//! Whether a request is signed with its caller's secret key, and still valid.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp, fmt::strtime};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;

use super::Asked;

/// What stays as it is in the values that are signed.
const LITERAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'*').remove(b'_');

/// How far ahead a request may expire where the server asks for a time.
const AHEAD_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Whether the signature is the one that this key gives.
pub(crate) fn is_valid(asked: &Asked, secret: &str) -> bool {
    let Some(presented) = asked.value("signature") else { return false };
    let Ok(presented) = BASE64_STANDARD.decode(presented) else { return false };
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
    hmac::verify(&key, signed_text(asked).as_bytes(), &presented).is_ok()
}

/// The text that is signed.
fn signed_text(asked: &Asked) -> String {
    let mut signed: Vec<_> =
        asked.sent.iter().filter(|sent| !sent.name.eq_ignore_ascii_case("signature")).collect();
    // Java compares UTF-16 units; names are ASCII in every command.
    signed.sort_by(|a, b| a.name.cmp(&b.name));
    let pairs: Vec<String> = signed
        .iter()
        .map(|sent| format!("{}={}", sent.name, utf8_percent_encode(&sent.value, LITERAL)))
        .collect();
    pairs.join("&").to_lowercase()
}

/// Whether a request may still be carried out.
pub(crate) fn is_timely(asked: &Asked, now: Timestamp, enforced: bool) -> bool {
    let version_3 = asked.value("signatureversion") == Some("3");
    if !version_3 {
        // Older signatures have no time.
        return !enforced;
    }
    let Some(expires) = asked.value("expires").and_then(moment) else { return false };
    let left = expires.duration_since(now);
    left.is_positive() && (!enforced || left <= AHEAD_MAX)
}

/// Reads a time with an offset: `Z`, `+00:00` or `+0000`.
fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| {
        strtime::parse("%Y-%m-%dT%H:%M:%S%z", text)
            .ok()
            .and_then(|parsed| parsed.to_timestamp().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Sent;

    const SECRET: &str = "secret-Key_1";

    fn asked(sent: &[(&str, &str)]) -> Asked {
        let sent = sent
            .iter()
            .map(|(name, value)| Sent { name: (*name).to_owned(), value: (*value).to_owned() });
        Asked { sent: sent.collect(), is_get: true, repeated: Vec::new() }
    }

    #[test]
    fn published_requests_have_their_signatures() {
        let deploy = [
            ("details[0].cpuNumber", "4"),
            ("details[0].memory", "8192"),
            ("displayname", "a+b *~é/="),
            ("apikey", "ABCdef"),
            ("command", "deployVirtualMachine"),
            ("name", "karpenter-a"),
            ("response", "json"),
            ("userdata", "I2Nsb3VkLWNvbmZpZwo="),
        ];
        let list = [
            ("apikey", "ABCdef"),
            ("command", "listVirtualMachines"),
            ("expires", "2030-01-02T03:04:05Z"),
            ("listall", "true"),
            ("response", "json"),
            ("signatureversion", "3"),
            ("tags[0].key", "kubernetes.io/cluster/my cluster"),
            ("tags[0].value", "owned"),
        ];
        let zones = [("apikey", "ABCdef"), ("command", "listZones"), ("response", "json")];
        let cases: [(&[_], &str); 3] = [
            (&zones, "x7SB3ppdkibjmXZw9IfD0K5jbzY="),
            (&list, "NqpN6GZGYQAznNJiKH37p3trOLQ="),
            (&deploy, "tteXVl66vN6tZd7XjArcyrKXXdw="),
        ];
        for (parameters, signature) in cases {
            let mut signed = asked(parameters);
            signed.sent.push(Sent { name: "Signature".into(), value: signature.into() });
            assert!(is_valid(&signed, SECRET), "{}", signed_text(&signed));
            assert!(!is_valid(&signed, "another"));
            signed.sent[0].value.push('x');
            assert!(!is_valid(&signed, SECRET));
        }
    }

    #[test]
    fn version_3_expires_and_older_ones_have_no_time() {
        let now = "2030-01-02T03:00:00Z".parse().unwrap();
        let timely = |version: &str, expires: &str, enforced| {
            is_timely(&asked(&[("signatureVersion", version), ("expires", expires)]), now, enforced)
        };
        for expires in ["2030-01-02T03:10:00Z", "2030-01-02T03:10:00+0000"] {
            assert!(timely("3", expires, true), "{expires}");
        }
        assert!(!timely("3", "2030-01-02T02:59:59Z", false));
        assert!(!timely("3", "soon", false));
        assert!(timely("2", "2030-01-02T02:59:59Z", false));
        assert!(!timely("2", "2030-01-02T03:10:00Z", true));
        assert!(!timely("3", "2030-01-02T03:15:01Z", true));
    }
}
