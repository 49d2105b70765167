//! Every number of a behaviour that a test or a comment cites has its line in docs/behaviours.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Tests of this page, and tests of defects, which have numbers of their own.
const OTHER_NUMBERS: [&str; 3] =
    ["joiner/tests/it/behaviours.rs", "plan/tests/it/defects.rs", "vsphere/tests/it/seeds.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The numbers on the page, such as `O-48`.
fn listed(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let numbers = rows.filter_map(|row| row.split(' ').next());
    numbers.filter(|number| number.contains('-')).map(str::to_owned).collect()
}

/// `O-48` where a text begins with such a number of a prefix that the page has.
fn number<'t>(text: &'t str, prefixes: &BTreeSet<&str>) -> Option<&'t str> {
    let (prefix, rest) = text.split_once('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_one = prefixes.contains(prefix) && digits >= 2;
    is_one.then(|| &text[..=prefix.len() + digits])
}

/// Numbers in a line: in words of a comment, or at the start of a test's name (`t07_…`).
fn cited(line: &str, prefixes: &BTreeSet<&str>) -> Vec<String> {
    let line = line.trim_start();
    if line.starts_with("//") {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        return words.filter_map(|word| number(word, prefixes)).map(str::to_owned).collect();
    }
    let Some((_, name)) = line.split_once("fn ") else { return Vec::new() };
    let numbers = name.split('_').map_while(|part| {
        let letters = part.bytes().take_while(u8::is_ascii_lowercase).count();
        let (prefix, digits) = part.split_at(letters);
        let prefix = prefix.to_ascii_uppercase();
        let is_one = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        (is_one && prefixes.contains(&*prefix)).then(|| format!("{prefix}-{digits}"))
    });
    numbers.collect()
}

#[test]
fn every_behaviour_that_is_cited_is_on_the_page() {
    let page = std::fs::read_to_string(root().join("docs/behaviours.md")).expect("it is there");
    let listed = listed(&page);
    let prefixes: BTreeSet<&str> =
        listed.iter().filter_map(|number| Some(number.split_once('-')?.0)).collect();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut unknown: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut known = 0;
    for file in files {
        if OTHER_NUMBERS.iter().any(|other| file.ends_with(other)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("it can be read");
        for number in text.lines().flat_map(|line| cited(line, &prefixes)) {
            if listed.contains(&number) {
                known += 1;
            } else {
                unknown.insert(number, file.clone());
            }
        }
    }
    assert!(unknown.is_empty(), "docs/behaviours.md lacks {unknown:#?}");
    assert!(known > 500, "only {known} citations were found");
}

#[test]
fn citations_are_found_in_comments_and_in_names() {
    let prefixes = BTreeSet::from(["O", "T", "L"]);
    assert_eq!(cited("/// O-48, O-100: as UTF-16 says.", &prefixes), ["O-48", "O-100"]);
    assert_eq!(cited("async fn l10_l11_labels() {", &prefixes), ["L-10", "L-11"]);
    assert!(cited("let t07_x = \"O-48\";", &prefixes).is_empty());
}
