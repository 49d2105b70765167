//! `joiner lab`: stories that repeat, and a server that others can use.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use expect_test::expect;
use serde_json::Value;

use crate::{check, run};

const FAULTS: &str = "crates/joiner/tests/fixtures/faults.txt";

#[test]
fn the_same_seed_and_faults_tell_the_same_story() {
    let args = ["lab", "replay", "11", "--faults", FAULTS, "--timeline"];
    let (one, other) = (run(&args), run(&args));
    assert_eq!(one.code, Some(0), "{}", one.stderr);
    assert!(one.stdout == other.stdout && one.stderr == other.stderr);
    for expected in ["administrator", "process killed", "process started, start 2", "jumps by"] {
        assert!(one.stdout.contains(expected), "{expected} is not in the timeline");
    }
    expect![[r"
        joiner: seed 11
        joiner: seed 11: nothing happened that must not
    "]]
    .assert_eq(&one.stderr);
}

#[test]
fn a_story_can_be_read_by_programs() {
    let told = run(&["lab", "replay", "4", "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let kinds = told.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        ["call", "change", "note"].into_iter().find(|kind| !line[kind].is_null()).unwrap()
    });
    let mut kinds: Vec<&str> = kinds.collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["call", "change", "note"]);
}

#[test]
fn without_a_seed_one_is_drawn_and_told() {
    let told = run(&["lab", "replay"]);
    let lines: Vec<&str> = told.stderr.lines().collect();
    let seed = lines.first().and_then(|line| line.strip_prefix("joiner: seed ")).unwrap();
    seed.parse::<u64>().unwrap();
    assert!(lines.last().unwrap().starts_with(&format!("joiner: seed {seed}: ")), "{told}");
}

#[test]
fn a_fault_script_that_cannot_be_used_is_named() {
    check(
        &["lab", "replay", "1", "--faults", "crates/joiner/tests/fixtures/bad-faults.txt"],
        "",
        &expect![[r#"
            stderr: joiner: seed 1
            stderr: joiner: crates/joiner/tests/fixtures/bad-faults.txt: line 2 of the fault script: no fault is called "hiccup"; there are: conflict, 429 [Ns], 500, 503, cut before|after|watch [N], stale N, slow DURATION, kill before|after, partition DURATION
            exit code: 2
        "#]],
    );
    check(
        &["lab", "replay", "1", "--faults", "nowhere.txt"],
        "",
        &expect![[r"
            stderr: joiner: seed 1
            stderr: joiner: nowhere.txt: cannot be read: No such file or directory (os error 2)
            exit code: 2
        "]],
    );
}

#[test]
fn objects_that_are_refused_are_named_with_their_file() {
    check(
        &["lab", "serve", "--bare", "-f", "crates/joiner/tests/fixtures/bad-pod.yaml"],
        "",
        &expect![[r#"
            stderr: joiner: crates/joiner/tests/fixtures/bad-pod.yaml: document 2: Pod web: Pod "web" is invalid: spec.containers[0].image: Required value
            stderr: joiner: crates/joiner/tests/fixtures/bad-pod.yaml: document 3: Teapot brown-betty: no kind "Teapot" is served in "example.com/v1"; give its CustomResourceDefinition too
            exit code: 2
        "#]],
    );
}

/// A server that is ended with the test, however that ends.
pub(crate) struct Served(pub(crate) Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks for a path, and answers the status line and the body.
pub(crate) fn get(address: &str, path: &str) -> (String, String) {
    let mut connection = TcpStream::connect(address).expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("the server answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("answers have a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

#[cfg(unix)]
#[test]
fn a_server_answers_on_its_port_and_ends_when_it_is_told_to() {
    let child = Command::new(env!("CARGO_BIN_EXE_joiner"))
        .args(["lab", "serve", "--http", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut served = Served(child);
    let mut talk = BufReader::new(served.0.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    let (_, rest) = line.split_once("http://").unwrap();
    let address = rest.split(';').next().unwrap();

    let (status, body) = get(address, "/api/v1/namespaces/default");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains(r#""name":"default""#), "{body}");
    assert_eq!(get(address, "/api/v1/namespaces/none").0, "HTTP/1.1 404 Not Found");

    let told = Command::new("kill").arg(served.0.id().to_string()).status().unwrap();
    assert!(told.success());
    assert_eq!(served.0.wait().unwrap().code(), Some(0));
    let mut config = String::new();
    served.0.stdout.take().unwrap().read_to_string(&mut config).unwrap();
    assert!(config.contains(&format!("server: http://{address}")), "{config}");
}
