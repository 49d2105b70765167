//! Formats of single texts. Each function returns what is wrong, nothing if the text is fine.

pub(crate) use joiner_schema::names::{
    dns1035_label as dns_1035_label, dns1123_label as dns_label,
    dns1123_subdomain as dns_subdomain, label_value, path_segment, qualified_name,
};

/// `must be between 1 and 65535, inclusive`
pub(crate) fn range_message(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn too_long(value: &str, max: usize) -> Option<String> {
    (value.len() > max).then(|| format!("must be no more than {max} characters"))
}

fn pattern_message(what: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    if examples.is_empty() {
        return format!("{what} (regex used for validation is '{pattern}')");
    }
    format!("{what} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// A DNS name in which underscores are allowed, as search domains have them.
pub(crate) fn dns_subdomain_with_underscores(value: &str) -> Vec<String> {
    let is_label = |label: &str| {
        let rest = label.strip_prefix('_').unwrap_or(label).as_bytes();
        matches!((rest.first(), rest.last()), (Some(&first), Some(&last))
            if is_lower(first) && is_lower(last))
            && rest.iter().all(|&byte| is_lower(byte) || byte == b'-' || byte == b'_')
    };
    let mut wrong: Vec<String> = too_long(value, 253).into_iter().collect();
    if !value.split('.').all(is_label) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '_', '-' or '.', and must start and end with an alphanumeric character";
        let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        wrong.push(pattern_message(rule, &format!("{label}(\\.{label})*"), &["example.com"]));
    }
    wrong
}

/// A DNS name whose first label is `*`.
pub(crate) fn wildcard_dns_subdomain(value: &str) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(value, 253).into_iter().collect();
    if !value.strip_prefix("*.").is_some_and(|rest| dns_subdomain(rest).is_empty()) {
        let rule = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
             subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and \
             end with an alphanumeric character";
        wrong.push(pattern_message(
            rule,
            "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["*.example.com"],
        ));
    }
    wrong
}

/// A key of a ConfigMap or Secret, which becomes the name of a file.
pub(crate) fn config_key(value: &str) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(value, 253).into_iter().collect();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if value.is_empty() || !value.bytes().all(allowed) {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        let examples = ["key.name", "KEY_NAME", "key-name"];
        wrong.push(pattern_message(rule, "[-._a-zA-Z0-9]+", &examples));
    }
    match value {
        "." => wrong.push("must not be '.'".to_owned()),
        ".." => wrong.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// The name of an environment variable.
pub(crate) fn env_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other \
         than '='"
            .to_owned(),
    ]
}

/// The number of a port.
pub(crate) fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

/// The id of a user or a group.
pub(crate) fn user_id(value: i64) -> Vec<String> {
    in_range(value, 0, i64::from(i32::MAX))
}

/// A number between two others.
pub(crate) fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) { Vec::new() } else { vec![range_message(low, high)] }
}

/// The name of a port.
pub(crate) fn port_name(value: &str) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(value, 15).into_iter().collect();
    if value.is_empty() || !value.bytes().all(|byte| is_lower(byte) || byte == b'-') {
        wrong.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

/// A whole number with `%` after it.
pub(crate) fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let rule = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![pattern_message(rule, "[0-9]+%", &["1%", "93%"])]
}

/// The name of an HTTP header.
pub(crate) fn http_header(value: &str) -> Vec<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !value.is_empty() && value.bytes().all(allowed) {
        return Vec::new();
    }
    let rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![pattern_message(rule, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// The reason of a condition.
pub(crate) fn condition_reason(value: &str) -> Vec<String> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = value.as_bytes();
    if bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(|&last| word(last))
        && bytes.iter().all(|&byte| word(byte) || byte == b',' || byte == b':')
    {
        return Vec::new();
    }
    let rule = "a condition reason must start with alphabetic character, optionally followed by a \
         string of alphanumeric characters or '_,:', and must end with an alphanumeric character \
         or '_'";
    let examples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    vec![pattern_message(rule, "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", &examples)]
}

/// A domain, a slash and a path, such as `acme.io/foo`: what is wrong with it and with which part.
pub(crate) fn domain_prefixed_path(value: &str) -> Vec<(String, String)> {
    let (host, path) = value.split_once('/').unwrap_or_default();
    if host.is_empty() || path.is_empty() {
        let rule = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![(value.to_owned(), rule.to_owned())];
    }
    let mut wrong: Vec<(String, String)> =
        dns_subdomain(host).into_iter().map(|message| (host.to_owned(), message)).collect();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(allowed) {
        let message = pattern_message("Invalid path", "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", &[]);
        wrong.push((path.to_owned(), message));
    }
    wrong
}

/// Whether the text is a name of a kernel parameter.
pub(crate) fn is_sysctl(value: &str) -> bool {
    let segment = |segment: &str| {
        let bytes = segment.as_bytes();
        matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last))
            if is_lower(first) && is_lower(last))
            && bytes.iter().all(|&byte| is_lower(byte) || byte == b'-' || byte == b'_')
    };
    value.len() <= 253 && value.split(['.', '/']).all(segment)
}
