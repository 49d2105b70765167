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
    tells_in_order(&told.stdout, &kinds);
    ends_well(&told.stdout);
    assert!(told.stdout.contains("the pod needs 24, 8200m more"), "{}", told.stdout);
}

/// That lines of these kinds are among those that were told, in this order.
#[track_caller]
fn tells_in_order(told: &str, kinds: &[&str]) {
    let mut lines = told.lines();
    for kind in kinds {
        assert!(lines.any(|line| line[7..].starts_with(kind)), "no {kind}: {told}");
    }
}

/// That every pod has run in the end.
#[track_caller]
fn ends_well(told: &str) {
    let summary = told.lines().last().expect("it ends with a summary");
    assert!(summary.contains("the burst ran after"), "{summary}");
    assert!(!summary.contains("still waiting"), "{summary}");
}

#[test]
fn on_vsphere_datastores_fill_up_hosts_fail_and_the_shop_goes_on() {
    let told = run(&["demo", "--headless", "--seed", "3", "--provider", "vsphere"]);
    assert_eq!(told.code, Some(0), "{told}");
    assert_eq!(told.stderr, "");
    let kinds = [
        "launched  ",
        "ready     ",
        "story     ", // a burst, and a datastore that fills up
        "thwarted  ",
        "launched  ",
        "settled   ",
        "refused   ",
        "moved     ", // from a host that failed
        "lost      ",
        "leaving   ",
        "gone      ",
        "story     ",
    ];
    tells_in_order(&told.stdout, &kinds);
    ends_well(&told.stdout);
    let full = "Insufficient disk space on datastore 'ssd-1'";
    assert!(told.stdout.contains(full), "{}", told.stdout);
    let again = run(&["demo", "--headless", "--seed", "3", "--provider", "vsphere"]);
    assert_eq!(again.stdout, told.stdout, "a seed always tells the same story");
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
