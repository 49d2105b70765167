//! Answers as they are written.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::ext::ReasonPhrase;
use joiner_sim::Answered;
use serde_json::{Value, json};

use crate::{inventory::ErrorStyle, refusal::Refusal};

pub(crate) fn succeeded(data: &Value) -> Answered {
    Answered { response: response(200, &json!({ "data": data })), outcome: "ok".to_owned() }
}

/// A refusal. The reason phrase has the message in either style.
pub(crate) fn refused(refusal: &Refusal, style: ErrorStyle) -> Answered {
    let mut body = json!({ "data": null });
    if !refusal.errors.is_empty() {
        body["errors"] = json!(refusal.errors);
    }
    if style == ErrorStyle::Message {
        body["message"] = format!("{}\n", refusal.message).into();
    }
    let mut response = response(refusal.status, &body);
    if refusal.status == 401 {
        *response.body_mut() = Bytes::new();
    }
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let reason: String = refusal.message.chars().map(one_line).collect();
    if let Ok(reason) = ReasonPhrase::try_from(reason.trim().as_bytes().to_vec()) {
        response.extensions_mut().insert(reason);
    }
    Answered { response, outcome: refusal.status.to_string() }
}

fn response(status: u16, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json;charset=UTF-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
