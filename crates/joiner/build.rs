//! Tells the program which commit it is made from. Needs neither git nor a network.

#[path = "build/commit.rs"]
mod commit;

use std::{env, fs, path::Path, process::Command};

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/commit.rs");
    println!("cargo::rerun-if-changed=COMMIT");
    println!("cargo::rerun-if-env-changed=JOINER_COMMIT");
    let given = env::var("JOINER_COMMIT").ok();
    let archived = fs::read_to_string("COMMIT").unwrap_or_default();
    let built_from = commit::commit(given.as_deref(), checked_out().as_deref(), &archived)?;
    println!("cargo::rustc-env=JOINER_BUILT_FROM={built_from}");
    Ok(())
}

/// The commit that is checked out, if this is a repository of Joiner's and not one that it was
/// unpacked in.
fn checked_out() -> Option<String> {
    let root = Path::new("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // The log of HEAD has a new line with every commit and every checkout. Without one, branches are
    // looked at.
    let place = |name: &str| git(&["rev-parse", "--git-path", name]);
    let log = place("logs/HEAD").filter(|log| Path::new(log).exists());
    let watched =
        log.map_or_else(|| vec![place("HEAD"), place("refs/heads")], |log| vec![Some(log)]);
    for path in watched.into_iter().flatten().filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["rev-parse", "HEAD"])
}

/// What git prints; nothing if it is not there or does not know.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
