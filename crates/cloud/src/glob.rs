//! Patterns of names: `*` matches any text, `?` matches one character.

/// Whether a name matches a pattern. Takes at most the product of both lengths in steps.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The position of the last star, and the end of the text that it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(own) if *own == '?' || *own == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, stands_for)) = star else { return false };
                star = Some((at, stands_for + 1));
                p = at + 1;
                n = stands_for + 1;
            }
        }
    }
    pattern[p..].iter().all(|own| *own == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_any_text_and_a_question_mark_one_character() {
        for (pattern, name) in [
            ("ubuntu-*", "ubuntu-2404"),
            ("*", ""),
            ("*-rke2-*", "ubuntu-2404-rke2-v1.33"),
            ("a*b*c", "aXbYbc"),
            ("v?", "v1"),
            ("exact", "exact"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("ubuntu-*", "debian"), ("a*b", "abc"), ("", "a"), ("?", ""), ("v?", "v12")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
