//! `joiner demo` without a terminal: the story in lines, and the page beside it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _},
    process::{ChildStderr, Command, Stdio},
    sync::Arc,
};

use expect_test::expect;
use http::Request;
use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_vim::{Credentials, Https, TlsSettings, Vim, VimSettings};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
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
    every_end_has_a_sentence(&told.stdout);
    for seconds in seconds_to_ready(&told.stdout) {
        // As the documentation pictures it.
        assert!((28..=45).contains(&seconds), "{seconds} s: {}", told.stdout);
    }
}

/// That whatever is removed is removed for a reason that is a sentence.
#[track_caller]
fn every_end_has_a_sentence(told: &str) {
    let ends: Vec<&str> = told.lines().filter(|line| line.contains("  leaving  ")).collect();
    assert!(!ends.is_empty(), "{told}");
    for end in ends {
        let why = end.split_once(": ").map_or("", |(_, why)| why);
        assert!(why.split(' ').count() > 3, "{end}");
    }
}

/// How long instances took from being asked for to taking pods.
fn seconds_to_ready(told: &str) -> Vec<u32> {
    let ready = told.lines().filter(|line| line.contains("  ready  "));
    let seconds = ready.filter_map(|line| line.split_once(" s after it was asked for"));
    let last_word =
        |(text, _): (&str, &str)| text.rsplit(' ').next().and_then(|word| word.parse().ok());
    let seconds: Vec<u32> = seconds.filter_map(last_word).collect();
    assert!(!seconds.is_empty(), "{told}");
    seconds
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
        "back      ",
        "lost      ", // deleted by hand
        "leaving   ",
        "gone      ",
        "story     ",
    ];
    tells_in_order(&told.stdout, &kinds);
    ends_well(&told.stdout);
    let full = "Insufficient disk space on datastore 'ssd-1'";
    assert!(told.stdout.contains(full), "{}", told.stdout);
    every_end_has_a_sentence(&told.stdout);
    assert!(told.stdout.contains("the cloud has no instance vsphere://"), "{}", told.stdout);
    assert!(told.stdout.contains("16 cpu 32Gi, on-demand"), "{}", told.stdout);
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

/// A demonstration that goes on until this is dropped, and what it says of how to get at it.
struct Demo {
    served: Served,
    talk: BufReader<ChildStderr>,
    page: String,
    kubeconfig: String,
}

impl Demo {
    fn start(more: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_joiner"))
            .args(["demo", "--headless", "--speed", "10", "--port", "0"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut served = Served(child);
        let talk = BufReader::new(served.0.stderr.take().unwrap());
        let mut demo = Self { served, talk, page: String::new(), kubeconfig: String::new() };
        let line = demo.line();
        let (page, kubectl) = line.split_once("; ").unwrap();
        page.split_once("http://").unwrap().1.clone_into(&mut demo.page);
        kubectl.trim().strip_prefix("export KUBECONFIG=").unwrap().clone_into(&mut demo.kubeconfig);
        demo
    }

    /// The next line that it says.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.talk.read_line(&mut line).unwrap();
        line
    }

    fn scene(&self) -> Value {
        serde_json::from_str(&get(&self.page, "/scene").1).unwrap()
    }
}

#[cfg(unix)]
#[test]
fn without_a_terminal_a_kubeconfig_that_is_asked_for_leads_to_the_cluster() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("config");
    let child = Command::new(env!("CARGO_BIN_EXE_joiner"))
        .args(["demo", "--headless", "--kubeconfig"])
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Served(child);
    let mut talk = BufReader::new(demo.0.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    assert!(line.trim().ends_with(&format!("export KUBECONFIG={}", path.display())), "{line}");
    let config = path.to_str().unwrap();
    let plan = run(&["plan", "--kubeconfig", config]);
    assert_eq!(plan.code, Some(0), "{plan}");
}

#[cfg(unix)]
#[test]
fn the_page_shows_the_cluster_while_the_story_is_told() {
    let mut demo = Demo::start(&[]);
    let kubeconfig = demo.kubeconfig.clone();
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().contains("server: https://127.0.0.1:"));

    let (status, body) = get(&demo.page, "/");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains("<title>Joiner</title>"), "{body}");
    for part in ["/page.css", "/page.js", "/icon.svg"] {
        assert_eq!(get(&demo.page, part).0, "HTTP/1.1 200 OK", "{part}");
    }
    assert_eq!(demo.scene()["stage"]["chapter"]["title"], "An empty cluster");

    let process = &mut demo.served.0;
    let told = Command::new("kill").arg(process.id().to_string()).status().unwrap();
    assert!(told.success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    assert!(!std::path::Path::new(&kubeconfig).exists(), "{kubeconfig} is left behind");
    let mut lines = String::new();
    process.stdout.take().unwrap().read_to_string(&mut lines).unwrap();
}

/// Every moment in an object, with the field that it is in.
fn moments(value: &Value, field: &str, found: &mut Vec<(String, Timestamp)>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, own)| moments(own, name, found)),
        Value::Array(items) => items.iter().for_each(|own| moments(own, field, found)),
        Value::String(text) => {
            found.extend(text.parse().ok().map(|moment| (field.to_owned(), moment)));
        }
        _ => {}
    }
}

#[tokio::test]
async fn nothing_in_the_cluster_is_in_the_future_and_its_certificates_are_valid() {
    let demo = Demo::start(&[]);
    let mut phases = BTreeSet::new();
    while !phases.contains("joining") {
        for node in demo.scene()["scene"]["nodes"].as_array().unwrap() {
            phases.insert(node["phase"].as_str().unwrap().to_owned());
        }
    }
    let config = Kubeconfig::read_from(&demo.kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    // The client trusts the authority of the kubeconfig and no other.
    let client = Client::try_from(config.unwrap()).unwrap();
    for path in [
        "/api/v1/nodes",
        "/api/v1/pods",
        "/api/v1/events",
        "/apis/coordination.k8s.io/v1/leases",
        "/apis/karpenter.sh/v1/nodeclaims",
        "/apis/karpenter.sh/v1/nodepools",
    ] {
        let list: Value =
            client.request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
        let mut found = Vec::new();
        moments(&list["items"], "", &mut found);
        assert!(found.len() > 1, "{path} has no objects");
        let now = Timestamp::now();
        for (field, moment) in found {
            assert!(moment <= now, "{path}: {field} is {moment}, and it is {now}");
        }
    }
    let explained = run(&["explain", "nodes", "--kubeconfig", &demo.kubeconfig]);
    assert_eq!(explained.code, Some(0), "{explained}");
}

/// Everything but the port stands in `docs/demo.md`.
#[tokio::test]
async fn the_vcenter_answers_on_a_port_of_this_computer() {
    let mut demo = Demo::start(&["--provider", "vsphere"]);
    let line = demo.line();
    let (told, exports) = line.trim().split_once("; ").unwrap();
    let exports: BTreeMap<&str, &str> = exports
        .split("; ")
        .map(|export| export.strip_prefix("export ").unwrap().split_once('=').unwrap())
        .collect();
    let [url, user, password] =
        ["GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD"].map(|key| exports[key]);
    assert_eq!(told, format!("joiner: vCenter {url} {user} {password}"));
    assert!(url.starts_with("https://127.0.0.1:") && exports["GOVC_INSECURE"] == "true", "{line}");
    assert!(demo.scene()["stage"]["vcenter"].as_str().unwrap().contains(url));

    let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
    let line = Https::new(url.parse().unwrap(), &tls).unwrap();
    let settings = VimSettings::new(Credentials::new(user, password));
    let vim = Vim::new(settings, Arc::new(line), Clock::wall());
    let root = vim.service_content().await.unwrap().root_folder.clone();
    let instances = vim.list(&root, "VirtualMachine", &["name"]).await.unwrap();
    let names: Vec<&str> = instances.iter().filter_map(|own| own.text("name")).collect();
    assert!(names.contains(&"control-plane-1"), "{names:?}");
    vim.logout().await;
}
