//! What names, labels and keys may look like, in the API server's words.
//!
//! Every function returns what is wrong, one sentence each; nothing is wrong when there are none.

/// The alphabet and shape of a lowercase DNS label.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/// One or more of them with dots between.
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
/// The part of a label key after the slash.
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const LABEL_WORDS: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
    characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const DNS1035_WORDS: &str = "a DNS-1035 label must consist of lower case alphanumeric characters \
    or '-', start with an alphabetic character, and end with an alphanumeric character";
const KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character";
const VALUE_WORDS: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// What the names of a kind must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain, as most kinds have it.
    DnsSubdomain,
    /// A DNS label: a subdomain without dots.
    DnsLabel,
    /// A DNS label that does not start with a digit, as services have it.
    Dns1035Label,
    /// Anything that can stand in a URL's path, as RBAC has it.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name. A `prefix` is the beginning of one (`generateName`), which may
    /// end with a dash because more will follow.
    pub fn check(self, name: &str, prefix: bool) -> Vec<String> {
        if self == Self::PathSegment {
            return if prefix { path_segment_prefix(name) } else { path_segment(name) };
        }
        let masked = if prefix { mask_trailing_dash(name) } else { name.to_owned() };
        match self {
            Self::DnsSubdomain => dns1123_subdomain(&masked),
            Self::DnsLabel => dns1123_label(&masked),
            Self::Dns1035Label => dns1035_label(&masked),
            Self::PathSegment => Vec::new(),
        }
    }
}

/// A DNS-1123 label: the name of a namespace.
pub fn dns1123_label(name: &str) -> Vec<String> {
    let mut wrong = longer_than(name, 63, "characters");
    if !is_label(name) {
        wrong.push(if is_subdomain(name) {
            "must not contain dots".to_owned()
        } else {
            regex_words(LABEL_WORDS, LABEL, &["my-name", "123-abc"])
        });
    }
    wrong
}

/// A DNS-1123 subdomain: the name of most objects.
pub fn dns1123_subdomain(name: &str) -> Vec<String> {
    subdomain(name, "characters")
}

fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut wrong = longer_than(name, 253, unit);
    if !is_subdomain(name) {
        wrong.push(regex_words(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]));
    }
    wrong
}

/// A DNS-1035 label: the name of a service, or a kind in lower case.
pub fn dns1035_label(name: &str) -> Vec<String> {
    let mut wrong = longer_than(name, 63, "characters");
    if !(is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase())) {
        let shape = "[a-z]([-a-z0-9]*[a-z0-9])?";
        wrong.push(regex_words(DNS1035_WORDS, shape, &["my-name", "abc-123"]));
    }
    wrong
}

/// A qualified name: the key of a label or an annotation, a finalizer, the type of a condition.
pub fn qualified_name(key: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                let words = subdomain(prefix, "bytes");
                wrong.extend(words.into_iter().map(|words| format!("prefix part {words}")));
            }
            name
        }
        _ => {
            let words = regex_words(KEY_WORDS, KEY, &examples);
            return vec![format!(
                "a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(
        longer_than(name, 63, "bytes").into_iter().map(|words| format!("name part {words}")),
    );
    if !is_key(name) {
        wrong.push(format!("name part {}", regex_words(KEY_WORDS, KEY, &examples)));
    }
    wrong
}

/// The value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, 63, "bytes");
    if !(value.is_empty() || is_key(value)) {
        let shape = format!("({KEY})?");
        wrong.push(regex_words(VALUE_WORDS, &shape, &["MyValue", "my_value", "12345"]));
    }
    wrong
}

/// A name that can stand in a URL's path.
pub fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    path_segment_prefix(name)
}

fn path_segment_prefix(name: &str) -> Vec<String> {
    let illegal = ["/", "%"].into_iter().filter(|illegal| name.contains(illegal));
    illegal.map(|illegal| format!("may not contain '{illegal}'")).collect()
}

/// Replaces the last two characters of a prefix that ends with a dash, as the server does: what
/// it checks is whether *some* name with this beginning is allowed.
fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept: String = rest.to_owned();
            kept.pop();
            kept + "a"
        }
        _ => name.to_owned(),
    }
}

fn longer_than(name: &str, limit: usize, unit: &str) -> Vec<String> {
    if name.len() > limit { vec![format!("must be no more than {limit} {unit}")] } else { vec![] }
}

fn regex_words(words: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

fn is_label(name: &str) -> bool {
    let alphanumeric = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    framed(name, alphanumeric, |c| alphanumeric(c) || c == b'-')
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_key(name: &str) -> bool {
    let alphanumeric = |c: u8| c.is_ascii_alphanumeric();
    framed(name, alphanumeric, |c| alphanumeric(c) || matches!(c, b'-' | b'_' | b'.'))
}

/// Whether `name` is not empty, starts and ends with an `edge`, and has only `inner` between.
fn framed(name: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match name.as_bytes() {
        [] => false,
        [only] => edge(*only),
        [first, between @ .., last] => {
            edge(*first) && edge(*last) && between.iter().all(|&c| inner(c))
        }
    }
}
