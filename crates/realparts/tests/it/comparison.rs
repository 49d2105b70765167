use expect_test::{Expect, expect};
use joiner_realparts::{
    accepted::Accepted, compare::Comparison, exchange::Exchange, http::Server, report::Report,
};
use serde_json::json;

use crate::canned::{Answers, serve};

/// Asks two servers, and checks what is reported.
async fn check(
    real: Answers,
    lab: Answers,
    accepted: &str,
    exchanges: &[Exchange],
    expected: Expect,
) {
    let (real, lab) = (serve(real).await, serve(lab).await);
    let mut comparison = Comparison::new(Server::new(&real, "t"), Server::new(&lab, "t"));
    let mut report = Report::new(Accepted::read(accepted).expect("the list is well-formed"));
    for (index, exchange) in exchanges.iter().enumerate() {
        let outcome = comparison.ask(exchange).await.expect("both servers answer");
        report.add(index + 1, exchange, &outcome);
    }
    expected.assert_eq(&report.text());
}

fn get(name: &str) -> Exchange {
    Exchange::new("get", "pods", "GET").at(format!("/pods/{name}"))
}

#[tokio::test]
async fn what_no_two_servers_have_in_common_is_no_difference() {
    check(
        |_, _| {
            (200, r#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7",
                "uid":"0f2b7b0e-4b3c-4f0e-9d8a-6f1d2c3b4a59","creationTimestamp":"2026-01-01T00:00:00Z"}}"#)
        },
        |_, _| {
            (200, r#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"1200",
                "uid":"aaaaaaaa-4b3c-4f0e-9d8a-6f1d2c3b4a59","creationTimestamp":"2030-05-01T10:00:00Z"}}"#)
        },
        "[]",
        &[get("a")],
        expect![[r"
            1 exchanges about 1 resources and subresources, 0 kinds of differences
        "]],
    )
    .await;
}

#[tokio::test]
async fn the_same_difference_is_shown_once_with_its_count() {
    check(
        |_, _| (200, r#"{"spec":{"containers":[{"name":"main","image":"x"}]}}"#),
        |_, _| (200, r#"{"spec":{"containers":[{"name":"main"}],"extra":1}}"#),
        "[]",
        &[get("a"), get("b")],
        expect![[r#"
            get pods: spec.containers[*].image, 2 times
              exchange 1: GET /pods/a
              spec.containers[main].image: "x" → (absent)

            get pods: spec.extra, 2 times
              exchange 1: GET /pods/a
              spec.extra: (absent) → 1

            2 exchanges about 1 resources and subresources, 2 kinds of differences
        "#]],
    )
    .await;
}

#[tokio::test]
async fn of_different_status_codes_only_what_was_said_is_shown() {
    let create = Exchange::new("create", "pods", "POST").at("/pods").json(&json!({"a": 1}));
    check(
        |_, _| (201, r#"{"kind":"Pod","spec":{}}"#),
        |_, _| (422, r#"{"kind":"Status","message":"Pod \"a\" is invalid","code":422}"#),
        "[]",
        &[create],
        expect![[r#"
            create pods: (status)
              exchange 1: POST /pods {"a":1}
              (status): "201 Pod" → "422 Pod \"a\" is invalid"

            1 exchanges about 1 resources and subresources, 1 kinds of differences
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_watch_that_comes_too_late_is_one_difference() {
    check(
        |_, _| (200, r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#),
        |_, _| (200, r#"{"type":"ADDED","object":{"kind":"Pod","spec":{}}}"#),
        "[]",
        &[get("a")],
        expect![[r#"
            get pods: (expired)
              exchange 1: GET /pods/a
              (expired): "expired" → "changes"

            1 exchanges about 1 resources and subresources, 1 kinds of differences
        "#]],
    )
    .await;
}

#[tokio::test]
async fn accepted_differences_are_counted_with_their_reason() {
    check(
        |_, _| (200, r#"{"spec":{"clusterIP":"10.0.0.1"}}"#),
        |_, _| (200, r#"{"spec":{}}"#),
        r"[{name: service addresses, reason: none are given out, path: 'spec\.clusterIP'}]",
        &[get("a")],
        expect![[r"
            accepted, 1 times: service addresses (none are given out)
            1 exchanges about 1 resources and subresources, 0 kinds of differences
        "]],
    )
    .await;
}

#[tokio::test]
async fn causes_of_a_custom_resource_have_no_order_and_those_of_a_built_in_kind_have() {
    let answers: [Answers; 2] = [
        |_, path| match path {
            "/pods/custom" => (
                422,
                r#"{"kind":"Status","message":"[a: x, b: y]","details":{"group":"example.com",
                "causes":[{"field":"a","message":"x"},{"field":"b","message":"y"}]}}"#,
            ),
            _ => (422, r#"{"kind":"Status","message":"[a: x, b: y]","details":{"group":"apps"}}"#),
        },
        |_, path| match path {
            "/pods/custom" => (
                422,
                r#"{"kind":"Status","message":"[b: y, a: x]","details":{"group":"example.com",
                "causes":[{"field":"b","message":"y"},{"field":"a","message":"x"}]}}"#,
            ),
            _ => (422, r#"{"kind":"Status","message":"[b: y, a: x]","details":{"group":"apps"}}"#),
        },
    ];
    check(
        answers[0],
        answers[1],
        "[]",
        &[get("custom"), get("built-in")],
        expect![[r#"
            get pods: message
              exchange 2: GET /pods/built-in
              message: "[a: x, b: y]" → "[b: y, a: x]"

            2 exchanges about 1 resources and subresources, 1 kinds of differences
        "#]],
    )
    .await;
}
