//! Answers: one object whose only key is named after the command.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::{Timestamp, tz::TimeZone};
use joiner_sim::Answered;
use serde_json::{Value, json};

use crate::{
    refusal::{Refusal, code},
    request::NotApi,
};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    /// What clients get that do not ask for JSON. It is always the same.
    Xml,
}

/// An answer to a command that was carried out.
pub(crate) fn succeeded(envelope: &str, body: &Value, format: Format, now: Timestamp) -> Answered {
    let response = response(200, envelope, body, format, now);
    Answered { response, outcome: "ok".to_owned() }
}

/// A refusal. Before the command is known, and for roles that lack it, the envelope has a name of
/// its own.
pub(crate) fn refused(
    envelope: Option<&str>,
    refusal: &Refusal,
    format: Format,
    now: Timestamp,
) -> Answered {
    let envelope = envelope.filter(|_| refusal.code != code::UNSUPPORTED);
    let mut body = json!({
        "uuidList": [],
        "errorcode": refusal.code,
        "errortext": refusal.text,
    });
    if let Some(exception) = refusal.exception {
        body["cserrorcode"] = exception.into();
    }
    let mut response =
        response(refusal.code, envelope.unwrap_or("errorresponse"), &body, format, now);
    let description = HeaderValue::from_str(&refusal.text);
    if let Ok(description) = description {
        response.headers_mut().insert("x-description", description);
    }
    Answered { response, outcome: refusal.code.to_string() }
}

/// What the web server answers to requests that do not reach the API.
pub(crate) fn not_api(problem: NotApi, now: Timestamp) -> Answered {
    let status = problem.status();
    let page = format!("<html><head><title>Error {status}</title></head><body></body></html>");
    let mut response = Response::new(Bytes::from(page));
    set(&mut response, status, "text/html;charset=iso-8859-1", now);
    Answered { response, outcome: status.to_string() }
}

fn response(
    status: u16,
    envelope: &str,
    body: &Value,
    format: Format,
    now: Timestamp,
) -> Response<Bytes> {
    let (text, kind) = match format {
        Format::Json => {
            let text = json!({ envelope: body }).to_string();
            (without_escapes(&text), "application/json;charset=UTF-8")
        }
        Format::Xml => {
            let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><{envelope}/>");
            (text, "text/xml;charset=UTF-8")
        }
    };
    let mut response = Response::new(Bytes::from(text));
    set(&mut response, status, kind, now);
    response
}

fn set(response: &mut Response<Bytes>, status: u16, kind: &'static str, now: Timestamp) {
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let date = now.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(date) = HeaderValue::from_str(&date) {
        headers.insert(header::DATE, date);
    }
}

/// Writes `\u0001` as the character itself. The real server does this to its finished answers, so a
/// control character that is stored somewhere makes them invalid JSON.
fn without_escapes(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        written.push_str(before);
        let code = escape.strip_prefix("\\u").and_then(|digits| digits.get(..4));
        let code = code.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let length = match code.and_then(char::from_u32) {
            Some(letter) => {
                written.push(letter);
                6
            }
            // The backslash with what it escapes, which may be another backslash.
            None => {
                written.push_str(&escape[..2]);
                2
            }
        };
        rest = &escape[length..];
    }
    written + rest
}

/// A time as answers have it.
pub(crate) fn time(moment: Timestamp) -> String {
    moment.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S+0000").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_control_characters_stand_in_answers_as_they_are() {
        let written = |value: &str| without_escapes(&json!({ "name": value }).to_string());
        assert_eq!(written("a\u{1}b"), "{\"name\":\"a\u{1}b\"}");
        assert!(serde_json::from_str::<Value>(&written("a\u{1}b")).is_err());
        for harmless in ["line\nline", "C:\\u0001", "a \"quote\"", "é"] {
            let read: Value = serde_json::from_str(&written(harmless)).unwrap();
            assert_eq!(read["name"], harmless);
        }
    }
}
