//! Go's regular expressions (RE2) by means of the `regex` crate, which differs in details.

use regex::{Regex, RegexBuilder};

/// No expression may need more memory than this when compiled: a schema is input like any other.
const SIZE_LIMIT: usize = 4 << 20;

/// Compiles a Go regular expression. The error is in Go's words where it is one of the common ones.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| {
        let last = error.to_string();
        let last = last.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let words = match last.as_str() {
            "unclosed group" => "missing closing )".to_owned(),
            "unopened group" => "unexpected )".to_owned(),
            "unclosed character class" => "missing closing ]".to_owned(),
            "repetition operator missing expression" => {
                let operator = pattern.chars().find(|c| "*+?".contains(*c)).unwrap_or('*');
                return format!(
                    "error parsing regexp: missing argument to repetition operator: `{operator}`"
                );
            }
            "unrecognized escape sequence" => "invalid escape sequence".to_owned(),
            _ => last,
        };
        format!("error parsing regexp: {words}: `{pattern}`")
    })
}

/// Rewrites what the two dialects write differently:
/// * `\d`, `\s`, `\w` and `\b` are about ASCII in Go,
/// * brackets, `&`, `~` in a class are literal in Go,
/// * `{` that begins no repetition is literal in Go,
/// * `\Q…\E` quotes.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                rest = escape(tail, in_class, &mut out)?;
                continue;
            }
            '[' if in_class => {
                if let Some(end) = rest.strip_prefix("[:").and_then(|name| name.find(":]")) {
                    let whole = end + 4;
                    out.push_str(&rest[..whole]);
                    rest = &rest[whole..];
                    continue;
                }
                out.push_str("\\[");
            }
            '[' => {
                in_class = true;
                out.push('[');
                let tail_after_caret = tail.strip_prefix('^').inspect(|_| out.push('^'));
                rest = tail_after_caret.unwrap_or(tail);
                // A bracket in first place is a member, not the end.
                if let Some(after) = rest.strip_prefix(']') {
                    out.push_str("\\]");
                    rest = after;
                }
                continue;
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && tail.starts_with('-') => out.push_str("\\-"),
            '{' if !in_class && !is_repetition(rest) => out.push_str("\\{"),
            '}' if !in_class && !closes_repetition(&out) => out.push_str("\\}"),
            '(' if !in_class => {
                for lookaround in ["?=", "?!", "?<=", "?<!"] {
                    if tail.starts_with(lookaround) {
                        let shown = &lookaround[..2];
                        return Err(format!(
                            "error parsing regexp: invalid or unsupported Perl syntax: `({shown}`"
                        ));
                    }
                }
                out.push('(');
            }
            c => out.push(c),
        }
        rest = tail;
    }
    Ok(out)
}

/// Writes what stands behind a backslash, and returns what follows it.
fn escape<'p>(tail: &'p str, in_class: bool, out: &mut String) -> Result<&'p str, String> {
    let Some(c) = tail.chars().next() else {
        return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
    };
    let after = &tail[c.len_utf8()..];
    match c {
        'd' if in_class => out.push_str("0-9"),
        's' if in_class => out.push_str(r"\t\n\x0c\r "),
        'w' if in_class => out.push_str("0-9A-Za-z_"),
        'd' => out.push_str("[0-9]"),
        's' => out.push_str(r"[\t\n\x0c\r ]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'D' => out.push_str("[^0-9]"),
        'S' => out.push_str(r"[^\t\n\x0c\r ]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' => out.push_str(r"(?-u:\b)"),
        'Q' => {
            let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(after);
        }
        'p' | 'P' | 'x' if after.starts_with('{') => {
            // The braces of a name or number are no repetition.
            let end = after.find('}').map_or(after.len(), |end| end + 1);
            out.push('\\');
            out.push(c);
            out.push_str(&after[..end]);
            return Ok(&after[end..]);
        }
        'C' | 'Z' | 'G' | 'X' | '1'..='9' | '<' | '>' => {
            return Err(format!("error parsing regexp: invalid escape sequence: `\\{c}`"));
        }
        c => {
            out.push('\\');
            out.push(c);
        }
    }
    Ok(after)
}

/// Whether the text begins with `{n}`, `{n,}` or `{n,m}`.
fn is_repetition(text: &str) -> bool {
    let Some((inner, _)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    match inner.split_once(',') {
        None => digits(inner),
        Some((least, most)) => digits(least) && (most.is_empty() || digits(most)),
    }
}

/// Whether a `}` after this text ends a repetition that was let through.
fn closes_repetition(written: &str) -> bool {
    let inner = written.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
    inner.ends_with('{') && !inner.ends_with("\\{") && inner.len() < written.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_and_rust_agree_after_translation() {
        for (pattern, text, expected) in [
            (r"^\d+$", "１２", false),
            (r"^\d+$", "12", true),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^[^/[]*$", "a", true),
            (r"^[]a]+$", "]a", true),
            (r"^a{b}$", "a{b}", true),
            (r"^a{2,}$", "aaa", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^[a&&b]+$", "&", true),
            (r"^\p{Lu}+$", "ÄB", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^\S+\s$", "a\u{a0}", false),
        ] {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn errors_are_in_gos_words() {
        for (pattern, expected) in [
            ("a(?!b)", "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
        ] {
            assert_eq!(compile(pattern).err().as_deref(), Some(expected));
        }
    }
}
