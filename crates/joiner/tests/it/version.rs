//! Which version and which commit the program says it is.

#[path = "../../build/commit.rs"]
mod commit;

use std::{path::Path, process::Command};

use commit::commit;

use crate::run;

const HEAD: &str = "5bf036c1a2b3c4d5e6f708192a3b4c5d6e7f8091";

#[test]
fn a_commit_is_given_or_checked_out_or_archived_in_this_order() {
    let other = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(commit(Some("abc1234"), Some(HEAD), other).unwrap(), "abc1234");
    assert_eq!(commit(None, Some(HEAD), other).unwrap(), "5bf036c1a2b3");
    assert_eq!(commit(Some(" "), None, &format!("{other}\n")).unwrap(), "0123456789ab");
}

#[test]
fn without_git_and_outside_of_an_archive_the_commit_is_unknown() {
    let as_written = include_str!("../../COMMIT");
    assert_eq!(commit(None, None, as_written).unwrap(), "unknown");
    assert_eq!(commit(None, None, "").unwrap(), "unknown");
}

#[test]
fn a_given_commit_that_is_none_is_refused() {
    let refused = commit(Some("main"), Some(HEAD), "").unwrap_err();
    assert!(refused.starts_with("JOINER_COMMIT is \"main\": give a commit as 7"), "{refused}");
}

/// What git says in the project's folder, where that is a repository of its own.
fn git(args: &[&str]) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let output = Command::new("git").args(args).current_dir(root).output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn the_program_says_its_version_and_the_commit_that_it_is_made_from() {
    let head = git(&["rev-parse", "HEAD"]).map(|text| String::from_utf8(text).unwrap());
    let given = option_env!("JOINER_COMMIT");
    let built_from = commit(given, head.as_deref(), include_str!("../../COMMIT")).unwrap();
    let said = run(&["--version"]);
    assert_eq!(said.to_string(), format!("joiner 0.1.0 ({built_from})\n"));
}

#[test]
fn an_archive_of_the_sources_knows_its_commit() {
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return };
    let archive = git(&["archive", "--format=tar", "HEAD", "crates/joiner/COMMIT"]).unwrap();
    let archive = String::from_utf8_lossy(&archive);
    assert!(archive.contains(String::from_utf8(head).unwrap().trim()), "{archive}");
}
