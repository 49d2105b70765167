//! Names as a vCenter keeps them.

/// A name as it is kept in the inventory, where `%`, `/` and `\` are written as `%25`, `%2f` and
/// `%5c`.
pub fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2f").replace('\\', "%5c")
}

/// The name that people gave, from what the inventory keeps.
pub fn unescaped(kept: &str) -> String {
    let mut name = String::with_capacity(kept.len());
    let mut rest = kept;
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        name.push_str(before);
        let meant = match escape.get(..3).map(str::to_ascii_lowercase).as_deref() {
            Some("%25") => Some('%'),
            Some("%2f") => Some('/'),
            Some("%5c") => Some('\\'),
            _ => None,
        };
        name.push(meant.unwrap_or('%'));
        rest = &escape[if meant.is_some() { 3 } else { 1 }..];
    }
    name.push_str(rest);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for (name, kept) in [
            ("plain", "plain"),
            ("a/b", "a%2fb"),
            ("100%", "100%25"),
            (r"a\b/c%2fd", "a%5cb%2fc%252fd"),
        ] {
            assert_eq!(escaped(name), kept);
            assert_eq!(unescaped(kept), name);
        }
        assert_eq!(unescaped("%2F % %zz ü%"), "/ % %zz ü%", "what is no escape stays");
    }
}
