//! Names of fields that are no names in expressions are written differently there.

use std::borrow::Cow;

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A field's name as expressions write it; none when they cannot.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    let first = name.bytes().next()?;
    if first.is_ascii_digit()
        || !name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-./".contains(&c))
    {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if !name.contains(['-', '.', '/']) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let escaped = name.replace("__", "\u{0}").replace('-', "__dash__").replace('.', "__dot__");
    Some(Cow::Owned(escaped.replace('/', "__slash__").replace('\u{0}', "__underscores__")))
}

/// The field's name that is written so; none when no field's is.
pub(crate) fn unescape(escaped: &str) -> Option<Cow<'_, str>> {
    if !escaped.contains("__") {
        return Some(Cow::Borrowed(escaped));
    }
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(start) = rest.find("__") {
        let inner = &rest[start + 2..];
        let end = inner.find('_').filter(|&end| end > 0 && inner[end..].starts_with("__"));
        let Some(end) = end else {
            let keep = start + 1;
            out.push_str(&rest[..keep]);
            rest = &rest[keep..];
            continue;
        };
        out.push_str(&rest[..start]);
        match &inner[..end] {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if RESERVED.contains(&word) && word.len() + 4 == escaped.len() => {
                out.push_str(word);
            }
            _ => return None,
        }
        rest = &inner[end + 2..];
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_back() {
        for (name, escaped) in [
            ("foo", Some("foo")),
            ("foo-bar", Some("foo__dash__bar")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("namespace", Some("__namespace__")),
            ("a_b", Some("a_b")),
            ("1a", None),
            ("$ref", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped);
            if let Some(escaped) = escaped {
                assert_eq!(unescape(escaped).as_deref(), Some(name));
            }
        }
    }
}
