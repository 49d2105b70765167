//! Names that look like one that is not there.

/// How many similar names are offered.
const NEAR_MATCHES: usize = 3;

/// The names most like `wanted`: those that contain it, then those a few typos away.
pub(super) fn near_matches(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let bare = wanted.strip_prefix("default/").unwrap_or(wanted);
    let mut scored: Vec<(usize, String)> = names
        .map(|name| {
            let score = if name.contains(bare) { 0 } else { strsim::levenshtein(wanted, &name) };
            (score, name)
        })
        .filter(|(score, _)| *score <= wanted.chars().count() / 3)
        .collect();
    scored.sort();
    scored.into_iter().take(NEAR_MATCHES).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let names = ["shop/web-0", "shop/web-1", "shop/worker-0", "data/postgres-0"];
        let near = |wanted| near_matches(wanted, names.map(str::to_owned).into_iter());
        assert_eq!(near("shop/wbe-0"), ["shop/web-0", "shop/web-1"]);
        assert_eq!(near("default/postgres"), ["data/postgres-0"]);
        assert_eq!(near("default/nothing-like-it"), [""; 0]);
    }
}
