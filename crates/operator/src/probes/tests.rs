//! These tests have no runtime: whoever asks does so as a kubelet does, and while the answer is
//! made nothing else in the process runs asynchronously.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::mpsc,
};

use bytes::Bytes;
use expect_test::expect;
use jiff::Timestamp;
use joiner_clock::Clock;

use super::*;
use crate::{metrics::Build, settings::declared};

/// So that no connection ends because of the time.
const FOR_EVER: Duration = Duration::from_hours(24);

const LOOPBACK: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));

fn any_port() -> TcpListener {
    listen(LOOPBACK, 0, &declared::HEALTH_PROBE_PORT).unwrap()
}

/// More than a socket takes from a process at once.
const LARGE: usize = 32 << 20;

fn alive() -> Liveness {
    Liveness::new(Clock::wall())
}

/// Status line, content type and body of an answer.
fn ask(serving: &Serving, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(serving.address()).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let content_type = head.lines().find(|line| line.starts_with("content-type")).unwrap();
    format!("{}\n{content_type}\n{body}", head.lines().next().unwrap())
}

#[test]
fn a_process_is_healthy_before_it_is_ready_and_says_what_is_missing() {
    let readiness = Arc::new(Readiness::new(["caches", "crds"]));
    let serving = serve_probes(any_port(), alive(), Arc::clone(&readiness)).unwrap();
    let mut answers = vec![ask(&serving, "GET", "/healthz"), ask(&serving, "GET", "/readyz")];
    readiness.set(
        "crds",
        vec![
            NotReady::CrdMissing { name: "nodepools.karpenter.sh".to_owned() },
            NotReady::CrdOld {
                name: "nodeclaims.karpenter.sh".to_owned(),
                lacks: "version v1".to_owned(),
            },
        ],
    );
    let forbidden = |verb: &str, resource: &str| NotReady::Forbidden {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
    };
    readiness.set("permissions", vec![forbidden("create", "pods/eviction")]);
    let problem = "connection refused".to_owned();
    readiness.set(
        "caches",
        vec![
            NotReady::Unreachable { problem },
            NotReady::NotSynced { what: "pods".to_owned() },
            NotReady::NotSynced { what: "nodes".to_owned() },
            NotReady::NotSynced { what: "nodes".to_owned() },
        ],
    );
    answers.push(ask(&serving, "GET", "/readyz"));
    for part in ["caches", "crds", "permissions"] {
        readiness.ready(part);
    }
    answers.push(ask(&serving, "GET", "/readyz"));
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: text/plain; charset=utf-8
        ok

        HTTP/1.1 503 Service Unavailable
        content-type: text/plain; charset=utf-8
        caches: not looked at yet: wait
        crds: not looked at yet: wait

        HTTP/1.1 503 Service Unavailable
        content-type: text/plain; charset=utf-8
        caches: not all nodes are known yet: wait, or look in the log for why they cannot be listed
        caches: not all pods are known yet: wait, or look in the log for why they cannot be listed
        caches: the API server does not answer (connection refused): check that it is up and can be reached from here
        crds: the CustomResourceDefinition nodepools.karpenter.sh is missing: joiner crds | kubectl apply -f -
        crds: the CustomResourceDefinition nodeclaims.karpenter.sh is too old, it lacks version v1: joiner crds | kubectl apply -f -
        permissions: the service account may not create pods/eviction: add the verb create on pods/eviction to its role

        HTTP/1.1 200 OK
        content-type: text/plain; charset=utf-8
        ok
    "#]].assert_eq(&answers.join("\n"));
}

#[test]
fn only_what_is_there_is_answered() {
    let readiness = Arc::new(Readiness::new(["caches"]));
    let serving = serve_probes(any_port(), alive(), readiness).unwrap();
    let answers = [
        ask(&serving, "GET", "/metrics"),
        ask(&serving, "POST", "/healthz"),
        ask(&serving, "HEAD", "/healthz"),
    ];
    expect![[r#"
        HTTP/1.1 404 Not Found
        content-type: text/plain; charset=utf-8
        there is nothing here

        HTTP/1.1 405 Method Not Allowed
        content-type: text/plain; charset=utf-8
        only GET and HEAD are answered

        HTTP/1.1 200 OK
        content-type: text/plain; charset=utf-8
    "#]]
    .assert_eq(&answers.join("\n"));
}

#[test]
fn metrics_are_served_as_prometheus_reads_them() {
    let build = Build { version: "1", compiler: "rust", commit: "abc", architecture: "aarch64" };
    let serving = serve_metrics(any_port(), Registry::new(&build).unwrap()).unwrap();
    let answer = ask(&serving, "GET", "/metrics");
    let lines: Vec<&str> = answer.lines().take(5).collect();
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: text/plain; version=0.0.4; charset=utf-8
        # HELP karpenter_build_info A metric with a constant '1' value labeled by version from which it was built.
        # TYPE karpenter_build_info gauge
        karpenter_build_info{commit="abc",goarch="arm64",goversion="rust",version="1"} 1"#]].assert_eq(&lines.join("\n"));
}

/// Answers that well which has nothing to look at, and a page that no socket takes as a whole.
fn serve_within(limits: Limits) -> Serving {
    let large = Bytes::from(vec![b'x'; LARGE]);
    let answer = move |path: &str| match path {
        "/healthz" => Some(verdict(String::new(), "")),
        "/large" => Some(Response::new(Full::from(large.clone()))),
        _ => None,
    };
    serve("probes", any_port(), limits, answer).unwrap()
}

fn caller(serving: &Serving, says: &str) -> TcpStream {
    let mut stream = TcpStream::connect(serving.address()).unwrap();
    stream.write_all(says.as_bytes()).unwrap();
    stream
}

#[test]
fn callers_that_keep_their_connections_do_not_keep_a_kubelet_from_its_answer() {
    let serving = serve_within(Limits { patience: FOR_EVER, ..PROBES });
    let large = "GET /large HTTP/1.1\r\nhost: x\r\n\r\n";
    for says in ["", "GET /healthz HT", large] {
        let mut kept: Vec<_> = (0..64).map(|_| caller(&serving, says)).collect();
        let answer = ask(&serving, "GET", "/healthz");
        assert!(answer.starts_with("HTTP/1.1 200"), "after {says:?}: {answer}");
        // The oldest went, in the middle of what they were at.
        let mut rest = Vec::new();
        let _ = kept[0].read_to_end(&mut rest);
        assert!(rest.len() < LARGE, "after {says:?}");
    }
}

#[test]
fn a_caller_has_two_seconds_for_the_whole_exchange() {
    assert_eq!(PROBES.patience, Duration::from_secs(2));
    let serving = serve_within(Limits { patience: Duration::from_millis(20), ..PROBES });
    // It writes a little all the time, and is cut off all the same.
    let mut slow = caller(&serving, "GET /healthz HTTP/1.1\r\n");
    while slow.write_all(b"a: b\r\n").is_ok() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut idle = caller(&serving, "");
    assert_eq!(idle.read(&mut [0]).unwrap_or_default(), 0);
}

#[test]
fn a_connection_is_for_one_question() {
    let serving = serve_within(Limits { patience: FOR_EVER, ..PROBES });
    let question = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut answers = String::new();
    caller(&serving, question).read_to_string(&mut answers).unwrap();
    assert!(
        answers.contains("connection: close") && answers.ends_with("\r\n\r\nok\n"),
        "{answers}"
    );
}

/// A clock that goes a thousand times as fast, and by a second at most between two looks.
fn impatient() -> Liveness {
    Liveness::new(Clock::faster(Timestamp::UNIX_EPOCH, 1000.0))
}

/// Asks until the answer is the one that is waited for.
fn ask_until(serving: &Serving, status: &str) -> String {
    loop {
        let answer = ask(serving, "GET", "/healthz");
        if answer.starts_with(status) {
            return answer;
        }
    }
}

#[test]
fn a_process_whose_runtime_stands_still_is_not_alive() {
    let liveness = impatient();
    let serving = serve_probes(any_port(), liveness.clone(), Arc::new(Readiness::new(["x"])));
    let serving = serving.unwrap();
    let (stuck, free) = mpsc::channel::<()>();
    let (over, end) = oneshot::channel::<()>();
    let running = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            tokio::spawn(liveness.beat());
            tokio::task::yield_now().await;
            // A bug: this waits without letting others run.
            free.recv().unwrap_err();
            end.await.unwrap_err();
        });
    });
    let answer = ask_until(&serving, "HTTP/1.1 503");
    assert!(answer.contains("\nruntime: nothing ran for "), "{answer}");
    drop(stuck);
    ask_until(&serving, "HTTP/1.1 200");
    drop(over);
    running.join().unwrap();
}

#[test]
fn a_process_whose_pass_does_not_end_is_not_alive() {
    let liveness = impatient();
    let serving = serve_probes(any_port(), liveness.clone(), Arc::new(Readiness::new(["x"])));
    let serving = serving.unwrap();
    let (stuck, free) = mpsc::channel::<()>();
    let (planning, beating) = (liveness.clone(), liveness);
    let running = std::thread::spawn(move || {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_time().build().unwrap();
        runtime.block_on(async {
            tokio::spawn(beating.beat());
            let pass = move || free.recv().unwrap_err();
            crate::offload::offload(&planning, "provisioner", pass).await;
        });
    });
    let answer = loop {
        let answer = ask_until(&serving, "HTTP/1.1 503");
        // Where threads are slow the runtime may be late for once.
        if answer.contains("provisioner") {
            break answer;
        }
    };
    assert!(answer.contains("\nprovisioner: its calculation takes "), "{answer}");
    drop(stuck);
    running.join().unwrap();
    assert!(!ask(&serving, "GET", "/healthz").contains("provisioner"));
}

#[test]
fn a_port_that_is_taken_is_named_with_its_setting() {
    let first = any_port();
    let port = first.local_addr().unwrap().port();
    let error = listen(LOOPBACK, port, &declared::METRICS_PORT).unwrap_err();
    let text = error.to_string().replace(&port.to_string(), "PORT");
    expect![[r#"cannot listen on port PORT (--metrics-port, METRICS_PORT): choose another port or end what listens there"#]]
        .assert_eq(&text);
}
