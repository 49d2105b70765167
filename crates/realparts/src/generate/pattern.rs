//! A text that a regular expression matches.

use joiner_core::testing::rng::Rng;
use regex_syntax::hir::{Class, Hir, HirKind};

/// A text that matches a pattern, as far as that can be said without looking around; none if the
/// pattern cannot be read.
pub(super) fn matching(rng: &mut Rng, pattern: &str) -> Option<String> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(rng, &parsed, &mut text);
    Some(text)
}

fn write(rng: &mut Rng, part: &Hir, text: &mut String) {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(character(rng, class)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(least + 3, |max| max as usize).min(least + 3);
            for _ in 0..rng.between(least, most) {
                write(rng, &repetition.sub, text);
            }
        }
        HirKind::Capture(capture) => write(rng, &capture.sub, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(rng, part, text)),
        HirKind::Alternation(parts) => {
            let part = rng.pick(parts);
            write(rng, part, text);
        }
    }
}

/// A character of a class, a plain one if the class has any.
fn character(rng: &mut Rng, class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|r| (r.start(), r.end())).collect(),
        Class::Bytes(class) => {
            class.iter().map(|r| (char::from(r.start()), char::from(r.end()))).collect()
        }
    };
    let plain: Vec<char> = ('0'..='9')
        .chain('a'..='z')
        .chain('A'..='Z')
        .filter(|character| ranges.iter().any(|(low, high)| (low..=high).contains(&character)))
        .collect();
    if plain.is_empty() {
        return ranges.first().map(|(low, _)| *low);
    }
    Some(*rng.pick(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        let patterns = [
            r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            r"^(([0-9]+(s|m|h))+|Never)$",
            r"^[^/]+$",
            r"^\d{1,3}%?$",
            r"^((100|[0-9]{1,2})%|[0-9]+)$",
        ];
        let mut rng = Rng::new(5);
        for pattern in patterns {
            let known = regex::Regex::new(pattern).unwrap();
            for _ in 0..50 {
                let text = matching(&mut rng, pattern).unwrap();
                assert!(known.is_match(&text), "{text:?} does not match {pattern}");
            }
        }
    }
}
