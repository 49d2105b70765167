//! How a request shows that it is ours.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use joiner_line::Credentials;
use ring::hmac;

use super::Command;

/// For how long a signature of version 3 holds. The server takes no more than 15 minutes, by its own
/// clock; ten leave five for clocks that disagree.
const HOLDS: SignedDuration = SignedDuration::from_mins(10);

/// How requests are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignatureVersion {
    /// Signatures that hold for ever.
    One,
    /// Signatures that expire, which servers may insist on.
    #[default]
    Three,
}

/// A command's parameters with the signature, as a query or a form.
pub(crate) fn signed(
    command: &Command,
    keys: &Credentials,
    version: SignatureVersion,
    now: Timestamp,
) -> String {
    let mut parameters: Vec<(&str, &str)> = command.parameters().collect();
    parameters.push(("command", command.api.name));
    parameters.push(("response", "json"));
    parameters.push(("apikey", &keys.user));
    let expires = now.saturating_add(HOLDS).unwrap_or(Timestamp::MAX);
    let expires = expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if version == SignatureVersion::Three {
        parameters.push(("signatureversion", "3"));
        parameters.push(("expires", &expires));
    }
    let signature = signature(&parameters, keys);
    let mut written = String::new();
    for (name, value) in parameters.into_iter().chain([("signature", signature.as_str())]) {
        if !written.is_empty() {
            written.push('&');
        }
        encode(name, &mut written);
        written.push('=');
        encode(value, &mut written);
    }
    written
}

/// The signature of parameters.
pub(crate) fn signature(parameters: &[(&str, &str)], keys: &Credentials) -> String {
    let text = text_to_sign(parameters);
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, keys.password.as_bytes());
    STANDARD.encode(hmac::sign(&key, text.as_bytes()))
}

/// The text that is signed: sorted by name, then in lower case. Names are not encoded in it.
fn text_to_sign(parameters: &[(&str, &str)]) -> String {
    let mut sorted = parameters.to_vec();
    sorted.sort_unstable();
    let mut text = String::new();
    for (name, value) in sorted {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        encode(value, &mut text);
    }
    text.to_lowercase()
}

/// Percent-encodes as the server does when it checks a signature.
fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'*' | b'_') {
            into.push(char::from(byte));
        } else {
            write!(into, "%{byte:02X}").expect("memory takes everything");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::command::{Api, Scoped};

    fn keys() -> Credentials {
        Credentials::new("ABCdef", "secret-Key_1")
    }

    #[test]
    fn signatures_are_those_that_the_server_works_out() {
        for (parameters, text, expected) in [
            (
                &[("apikey", "ABCdef"), ("command", "listZones"), ("response", "json")][..],
                "apikey=abcdef&command=listzones&response=json",
                "x7SB3ppdkibjmXZw9IfD0K5jbzY=",
            ),
            (
                &[
                    ("command", "listVirtualMachines"),
                    ("tags[0].value", "owned"),
                    ("tags[0].key", "kubernetes.io/cluster/My Cluster"),
                    ("signatureversion", "3"),
                    ("expires", "2030-01-02T03:04:05Z"),
                    ("listall", "true"),
                    ("response", "json"),
                    ("apikey", "ABCdef"),
                ],
                "apikey=abcdef&command=listvirtualmachines&expires=2030-01-02t03%3a04%3a05z&\
                 listall=true&response=json&signatureversion=3&\
                 tags[0].key=kubernetes.io%2fcluster%2fmy%20cluster&tags[0].value=owned",
                "NqpN6GZGYQAznNJiKH37p3trOLQ=",
            ),
            (
                &[
                    ("apikey", "ABCdef"),
                    ("command", "deployVirtualMachine"),
                    ("details[0].cpuNumber", "4"),
                    ("details[0].memory", "8192"),
                    ("displayname", "a+b *~é/="),
                    ("name", "karpenter-a"),
                    ("response", "json"),
                    ("userdata", "I2Nsb3VkLWNvbmZpZwo="),
                ],
                "apikey=abcdef&command=deployvirtualmachine&details[0].cpunumber=4&\
                 details[0].memory=8192&displayname=a%2bb%20*%7e%c3%a9%2f%3d&name=karpenter-a&\
                 response=json&userdata=i2nsb3vklwnvbmzpzwo%3d",
                "tteXVl66vN6tZd7XjArcyrKXXdw=",
            ),
        ] {
            assert_eq!(text_to_sign(parameters), text);
            assert_eq!(signature(parameters, &keys()), expected, "{text}");
        }
    }

    #[test]
    fn a_signature_that_expires_does_so_within_what_servers_take() {
        let now: Timestamp = "2030-01-02T02:54:05.7Z".parse().unwrap();
        let tags = [("kubernetes.io/cluster/My Cluster".to_owned(), "owned".to_owned())].into();
        let command = Command::new(Api::new("listVirtualMachines", Scoped::Project))
            .with("listall", "true")
            .with_pairs("tags", &tags);
        let written = signed(&command, &keys(), SignatureVersion::Three, now);
        assert!(
            written.contains("&signatureversion=3&expires=2030-01-02T03%3A04%3A05Z&"),
            "{written}"
        );
        assert!(written.ends_with("&signature=NqpN6GZGYQAznNJiKH37p3trOLQ%3D"), "{written}");
        let written = signed(&command, &keys(), SignatureVersion::One, now);
        assert!(!written.contains("expires"), "{written}");
    }

    #[test]
    fn names_are_encoded_on_the_way_and_not_in_what_is_signed() {
        let details = [("a/b c".to_owned(), "1".to_owned())].into();
        let command = Command::new(Api::new("deployVirtualMachine", Scoped::Project))
            .with_fields("details", &details);
        let written = signed(&command, &keys(), SignatureVersion::One, Timestamp::UNIX_EPOCH);
        assert!(written.starts_with("details%5B0%5D.a%2Fb%20c=1&"), "{written}");
        let parameters = [
            ("apikey", "ABCdef"),
            ("command", "deployVirtualMachine"),
            ("details[0].a/b c", "1"),
            ("response", "json"),
        ];
        let text = "apikey=abcdef&command=deployvirtualmachine&details[0].a/b c=1&response=json";
        assert_eq!(text_to_sign(&parameters), text);
    }
}
