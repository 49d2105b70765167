//! Answers as HTTP carries them.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::{Status, body::Body, negotiate::Encoding};

/// An answer in the usual form.
pub(crate) fn respond(
    code: StatusCode,
    encoding: Encoding,
    body: Body,
    warnings: &[String],
) -> Response<Body> {
    let (kind, body) = match encoding {
        Encoding::Json => ("application/json", body),
        Encoding::Yaml => ("application/yaml", body.into_yaml()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    warn(headers, warnings);
    response
}

/// Tells the caller what it should know, each thing once.
pub(crate) fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    for (index, warning) in warnings.iter().enumerate() {
        if warnings[..index].contains(warning) {
            continue;
        }
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(header::WARNING, value);
        }
    }
}

/// A refusal in JSON.
pub fn refusal(status: &Status) -> Response<Body> {
    refusal_in(Encoding::Json, status, &[])
}

/// A refusal in the caller's notation.
pub(crate) fn refusal_in(
    encoding: Encoding,
    status: &Status,
    warnings: &[String],
) -> Response<Body> {
    let body = Body::whole(status.to_json().to_string());
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(code, encoding, body, warnings);
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, retry.into());
    }
    response
}

/// What is said where not even an API is that could say something.
pub(crate) fn page_not_found() -> Response<Body> {
    let mut response = Response::new(Body::whole("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
