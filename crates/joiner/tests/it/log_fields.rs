//! Facts have the same name in every line of the log.

use std::{collections::BTreeSet, fs, path::Path};

/// What `docs/operating.md` lists between backticks under "The log".
fn listed() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let log = page.split_once("\n## The log\n").expect("it has the section").1;
    let log = log.split_once("\n## ").expect("another section follows").0;
    let rows = log.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| row.split('|').nth(1))
        .flat_map(|names| names.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

/// Every Rust source below a folder, without those of tests.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "target" {
            sources(&path, found);
        } else if path.extension().is_some_and(|own| own == "rs") && name != "tests.rs" {
            let source = fs::read_to_string(&path).expect("it can be read");
            found.push((path.display().to_string(), source));
        }
    }
}

/// The arguments of each call of `tracing`'s macros in a source.
fn calls(source: &str) -> Vec<&str> {
    let after = source.split("tracing::").skip(1);
    let levels = ["error!(", "warn!(", "info!(", "debug!("];
    after
        .filter_map(|rest| levels.iter().find_map(|level| rest.strip_prefix(level)))
        .map(|arguments| &arguments[..end_of(arguments)])
        .collect()
}

/// Where the bracket closes that was open before a text.
fn end_of(text: &str) -> usize {
    let (mut depth, mut in_text, mut escaped) = (1, false, false);
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The names of the fields among the arguments of a call: all before the message.
fn fields(arguments: &str) -> Vec<String> {
    let mut rest = arguments.trim_start();
    let mut names = Vec::new();
    loop {
        let end = argument_end(rest);
        let (argument, more) = rest.split_at(end);
        let more = more.strip_prefix(',').map(str::trim_start);
        let (name, has_value) = match argument.split_once(" = ") {
            Some((name, _)) => (name, true),
            None => (argument, false),
        };
        let is_message = argument.starts_with('"') && !has_value;
        if is_message || argument.is_empty() {
            return names;
        }
        let name = name.trim().trim_start_matches(['%', '?']).trim_matches('"');
        names.push(name.split('.').next().unwrap_or_default().to_owned());
        let Some(more) = more else { return names };
        rest = more;
    }
}

/// Where an argument ends: at a comma outside brackets and texts.
fn argument_end(text: &str) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text.as_bytes()[at] {
            b',' => return at,
            b'"' => at += 1 + text[at + 1..].find('"').unwrap_or_default(),
            b'(' | b'[' | b'{' => at += 1 + end_of(&text[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[test]
fn every_field_of_the_log_is_listed() {
    let listed = listed();
    let mut all = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["cloud", "joiner", "kwok", "operator", "vim", "vsphere"] {
        sources(&crates.join(name).join("src"), &mut all);
    }
    let unlisted = all.iter().flat_map(|(path, source)| {
        let fields = calls(source).into_iter().flat_map(fields);
        fields.filter(|field| !listed.contains(field)).map(move |field| format!("{path}: {field}"))
    });
    let unlisted: BTreeSet<String> = unlisted.collect();
    assert!(
        unlisted.is_empty(),
        "use the field of docs/operating.md (The log) that says the same, or list these: {unlisted:#?}"
    );
}

#[test]
fn fields_are_read_as_they_are_written() {
    let source = r#"
        tracing::info!("only a message: {why}");
        tracing::warn!(
            controller = C::NAME, NodeClaim.name = name(&claim, "x"), %error, ?wait,
            "provider-id" = id, "a message with (brackets, and {}", fields.join(", ")
        );
        tracing::debug!(NodePool = pool, "{}", malformed.message);
    "#;
    let read: Vec<Vec<String>> = calls(source).into_iter().map(fields).collect();
    assert_eq!(read[0], Vec::<String>::new());
    assert_eq!(read[1], ["controller", "NodeClaim", "error", "wait", "provider-id"]);
    assert_eq!(read[2], ["NodePool"]);
}
