//! Patterns of names: `*` is any text, `?` any one letter.

/// Whether a name is like a pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star was, and how much of the name it stands for so far.
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
    fn stars_stand_for_anything() {
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
