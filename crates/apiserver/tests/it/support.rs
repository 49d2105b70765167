//! Requests as lines of text, answers as JSON.

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use joiner_apiserver::Server;
use joiner_clock::Clock;
use serde_json::Value;

/// A server at a fixed moment.
pub(crate) fn server() -> Server {
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    Server::new(Clock::following_runtime(start), 1)
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// The text at a JSON pointer.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The code and the message of a refusal.
    pub(crate) fn refusal(&self) -> String {
        format!("{} {} {}", self.code, self.text("/reason"), self.text("/message"))
    }
}

/// Sends a request: a method and a path, and a body unless that is null.
pub(crate) async fn send(server: &Server, line: &str, body: Value) -> Answer {
    let kind =
        if line.starts_with("PATCH") { "application/merge-patch+json" } else { "application/json" };
    let bytes = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    send_as(server, line, kind, bytes).await
}

/// Sends a request whose body has a media type.
pub(crate) async fn send_as(server: &Server, line: &str, kind: &str, body: Bytes) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "test/1")
        .body(body)
        .unwrap();
    let response = server.answer(&request);
    let code = response.status().as_u16();
    let warnings = response
        .headers()
        .get_all("warning")
        .iter()
        .map(|value| value.to_str().unwrap().to_owned())
        .collect();
    let mut text = Vec::new();
    let mut pieces = response.into_body().into_stream();
    while let Some(piece) = pieces.next().await {
        text.extend(piece.unwrap());
    }
    let body = serde_json::from_slice(&text)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&text).into_owned()));
    Answer { code, body, warnings }
}

/// Follows a watch to its end and writes one line per event.
pub(crate) async fn watch(server: &Server, path: &str) -> Vec<String> {
    let answer = send(server, &format!("GET {path}"), Value::Null).await;
    let lines = match &answer.body {
        Value::String(lines) => lines.clone(),
        one => one.to_string(),
    };
    let events = lines.lines().filter(|line| !line.is_empty()).map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let object = &event["object"];
        let what = object["metadata"]["name"].as_str().or(object["message"].as_str());
        format!("{} {}", event["type"].as_str().unwrap(), what.unwrap_or_default())
    });
    events.collect()
}
