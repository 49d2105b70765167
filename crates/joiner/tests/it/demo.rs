//! `joiner demo` without a terminal: the story in lines, and the page beside it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use expect_test::expect;
use serde_json::Value;

use crate::{
    check,
    lab::{Served, get},
    run,
};

#[test]
fn the_story_is_told_from_the_empty_cluster_to_the_summary() {
    let told = run(&["demo", "--headless", "--seed", "3"]);
    assert_eq!(told.code, Some(0), "{told}");
    assert_eq!(told.stderr, "");
    // What happens in every story, in this order.
    let kinds = [
        "story     ",
        "arrived   ",
        "launched  ",
        "ready     ",
        "settled   ", // an empty cluster
        "story     ",
        "arrived   ",
        "launched  ",
        "ready     ",
        "settled   ", // a burst
        "refused   ",
        "launched  ",
        "lost      ",
        "leaving   ",
        "gone      ",
        "story     ",
    ];
    let mut lines = told.stdout.lines();
    for kind in kinds {
        assert!(lines.any(|line| line[7..].starts_with(kind)), "no {kind}: {}", told.stdout);
    }
    let summary = told.stdout.lines().last().unwrap();
    assert!(summary.contains("the burst ran after"), "{summary}");
    assert!(!summary.contains("still waiting"), "{summary}");
    assert!(told.stdout.contains("the pod needs 24, 8200m more"), "{}", told.stdout);
}

#[test]
fn a_terminal_that_is_none_is_not_drawn_on() {
    check(
        &["demo"],
        "",
        &expect![[r"
            stderr: joiner: the output is no terminal that could be drawn on: use --headless for one line per happening
            exit code: 2
        "]],
    );
}

#[cfg(unix)]
#[test]
fn the_page_shows_the_cluster_while_the_story_is_told() {
    let child = Command::new(env!("CARGO_BIN_EXE_joiner"))
        .args(["demo", "--headless", "--speed", "10", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Served(child);
    let mut talk = BufReader::new(demo.0.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    let (page, kubectl) = line.split_once("; ").unwrap();
    let address = page.split_once("http://").unwrap().1;
    let kubeconfig = kubectl.trim().strip_prefix("export KUBECONFIG=").unwrap();
    assert!(std::fs::read_to_string(kubeconfig).unwrap().contains("server: https://127.0.0.1:"));

    let (status, body) = get(address, "/");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains("<title>Joiner</title>"), "{body}");
    for part in ["/page.css", "/page.js", "/icon.svg"] {
        assert_eq!(get(address, part).0, "HTTP/1.1 200 OK", "{part}");
    }
    let scene: Value = serde_json::from_str(&get(address, "/scene").1).unwrap();
    assert_eq!(scene["stage"]["chapter"]["title"], "An empty cluster");

    let told = Command::new("kill").arg(demo.0.id().to_string()).status().unwrap();
    assert!(told.success());
    assert_eq!(demo.0.wait().unwrap().code(), Some(0));
    assert!(!std::path::Path::new(kubeconfig).exists(), "{kubeconfig} is left behind");
    let mut lines = String::new();
    demo.0.stdout.take().unwrap().read_to_string(&mut lines).unwrap();
}
