//! Trees to text, in block style.

use std::sync::LazyLock;

use regex::Regex;

use super::{Map, Scalar, Yaml, is_ambiguous};

const STEP: usize = 2;

pub(super) fn print(value: &Yaml) -> String {
    let mut out = String::new();
    match value {
        Yaml::Map(map) if !map.0.is_empty() => entries(&mut out, map, 0),
        Yaml::List(list) if !list.is_empty() => items(&mut out, list, 0),
        other => {
            leaf(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

/// The entries of a map. The first stands where the text is, the others under it.
fn entries(out: &mut String, map: &Map, indent: usize) {
    for (i, (key, value)) in map.0.iter().enumerate() {
        if i > 0 {
            pad(out, indent);
        }
        // A key is a line; only values may be blocks.
        out.push_str(&one_line(key));
        out.push(':');
        match value {
            Yaml::Map(map) if !map.0.is_empty() => {
                out.push('\n');
                pad(out, indent + STEP);
                entries(out, map, indent + STEP);
            }
            Yaml::List(list) if !list.is_empty() => {
                out.push('\n');
                pad(out, indent);
                items(out, list, indent);
            }
            other => {
                out.push(' ');
                leaf(out, other, indent);
                out.push('\n');
            }
        }
    }
}

fn items(out: &mut String, list: &[Yaml], indent: usize) {
    for (i, value) in list.iter().enumerate() {
        if i > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        match value {
            Yaml::Map(map) if !map.0.is_empty() => entries(out, map, indent + STEP),
            Yaml::List(list) if !list.is_empty() => items(out, list, indent + STEP),
            other => {
                leaf(out, other, indent);
                out.push('\n');
            }
        }
    }
}

/// A value without anything inside; `indent` is that of the line it is on.
fn leaf(out: &mut String, value: &Yaml, indent: usize) {
    match value {
        Yaml::Map(_) => out.push_str("{}"),
        Yaml::List(_) => out.push_str("[]"),
        Yaml::Scalar(scalar) => match block(&scalar.text).filter(|_| !scalar.plain) {
            Some(header) => {
                out.push_str(&tag_of(scalar));
                out.push_str(header);
                for line in scalar.text.strip_suffix('\n').unwrap_or(&scalar.text).split('\n') {
                    out.push('\n');
                    if !line.is_empty() {
                        pad(out, indent + STEP);
                        out.push_str(line);
                    }
                }
            }
            None => out.push_str(&one_line(scalar)),
        },
    }
}

fn one_line(scalar: &Scalar) -> String {
    let text = match (&*scalar.text, scalar.plain) {
        ("", true) if scalar.tag.is_none() => "null".to_owned(),
        (text, true) => text.to_owned(),
        (text, false) if is_safely_plain(text) => text.to_owned(),
        (text, false) => quoted(text),
    };
    format!("{}{text}", tag_of(scalar))
}

fn tag_of(scalar: &Scalar) -> String {
    scalar.tag.as_ref().map(|tag| format!("{tag} ")).unwrap_or_default()
}

/// Whether every reader takes these letters for the same string without quotes.
fn is_safely_plain(text: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[A-Za-z/]([A-Za-z0-9_./:=+,@ -]*[A-Za-z0-9_./=+@-])?$")
            .expect("the pattern is well formed")
    });
    PATTERN.is_match(text) && !text.contains(": ") && !is_ambiguous(text)
}

/// JSON's quotes are YAML's, but for a few characters that YAML reads as line ends or not at all.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("a string is always JSON");
    let escaped = json.chars().map(|letter| match letter {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
            format!("\\u{:04x}", u32::from(letter))
        }
        _ => letter.to_string(),
    });
    escaped.collect()
}

/// The header of a literal block, if the text can be one.
fn block(text: &str) -> Option<&'static str> {
    let printable = |letter: char| {
        !letter.is_control() && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
    };
    let fits = text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && text.split('\n').all(|line| {
            // White space alone at the end of a block is read in more than one way.
            !line.starts_with('\t')
                && (line.is_empty() || !line.trim().is_empty())
                && line.chars().all(|letter| letter == '\t' || printable(letter))
        });
    fits.then(|| match (text.ends_with('\n'), text.ends_with("\n\n")) {
        (_, true) => "|+",
        (true, false) => "|",
        (false, false) => "|-",
    })
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
