//! These tests have no runtime: whoever asks does so as a kubelet does, and while the answer is
//! made nothing else in the process runs asynchronously.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use expect_test::expect;

use super::*;
use crate::{metrics::Build, settings::declared};

const LOOPBACK: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));

fn any_port() -> TcpListener {
    listen(LOOPBACK, 0, &declared::HEALTH_PROBE_PORT).unwrap()
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
    let serving = serve_probes(any_port(), Arc::clone(&readiness)).unwrap();
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
    let serving = serve_probes(any_port(), readiness).unwrap();
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

#[test]
fn somebody_who_says_nothing_does_not_keep_others_from_being_answered() {
    let serving = serve_probes(any_port(), Arc::new(Readiness::new(["x"]))).unwrap();
    let silent: Vec<_> = (0..5).map(|_| TcpStream::connect(serving.address()).unwrap()).collect();
    assert!(ask(&serving, "GET", "/healthz").starts_with("HTTP/1.1 200"));
    drop(silent);
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
