//! A request, taken apart as far as it can be before its endpoint is known.

mod multipart;

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::refusal::Refusal;

/// How long the body of a call may be that uploads nothing.
const BODY_MAX: usize = 512 * 1024;

/// Under which all endpoints are.
const BASE: &str = "/api2/json";

/// A request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The path after the base, as it was sent.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) parameters: BTreeMap<String, String>,
    /// The file of an upload.
    pub(crate) file: Option<Bytes>,
}

impl Asked {
    pub(crate) fn read(request: &Request<Bytes>) -> Result<Self, Refusal> {
        let method = request.method().as_str().to_owned();
        let path = request.uri().path();
        let path = path.strip_prefix(BASE).filter(|path| path.starts_with('/') || path.is_empty());
        let Some(path) = path else {
            return Err(Refusal::new(404, format!("no such file '{}'", request.uri().path())));
        };
        let mut parameters = pairs(request.uri().query().unwrap_or_default())?;
        let mut file = None;
        if !request.body().is_empty() {
            if [Method::GET, Method::DELETE].contains(request.method()) {
                return Err(Refusal::new(501, format!("Unexpected content for method '{method}'")));
            }
            file = read_body(request, path, &mut parameters)?;
        }
        let (path, headers) = (path.to_owned(), request.headers().clone());
        Ok(Self { method, path, headers, parameters, file })
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

fn read_body(
    request: &Request<Bytes>,
    path: &str,
    parameters: &mut BTreeMap<String, String>,
) -> Result<Option<Bytes>, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if let Some(boundary) = multipart::boundary(kind) {
        if !path.ends_with("/upload") {
            return Err(Refusal::new(501, "unexpected content type 'multipart/form-data'"));
        }
        // A body in the process has a length; over a socket it is announced.
        if request.headers().contains_key(header::TRANSFER_ENCODING) {
            return Err(Refusal::new(501, "chunked transfer encoding not supported"));
        }
        let upload = multipart::read(request.body(), &boundary)?;
        parameters.extend(upload.fields);
        return Ok(Some(upload.file));
    }
    if request.body().len() > BODY_MAX {
        return Err(Refusal::new(501, format!("for data too large: at most {BODY_MAX} bytes")));
    }
    if kind.starts_with("application/json") {
        parameters.extend(json(request.body())?);
    } else if kind.is_empty() || kind.starts_with("application/x-www-form-urlencoded") {
        let text = str::from_utf8(request.body())
            .map_err(|_| Refusal::new(400, "the body is not UTF-8"))?;
        parameters.extend(pairs(text)?);
    } else {
        return Err(Refusal::new(501, format!("unsupported content type '{kind}'")));
    }
    Ok(None)
}

/// Pairs that `&` or `;` separates.
fn pairs(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let mut read = BTreeMap::new();
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if read.contains_key(&name) {
            let text = format!("type check ('string') failed - '{name}' was given twice");
            return Err(Refusal::parameter(&name, &text));
        }
        read.insert(name, value);
    }
    Ok(read)
}

fn decode(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| Refusal::new(400, "a parameter is not UTF-8"))
}

fn json(body: &[u8]) -> Result<BTreeMap<String, String>, Refusal> {
    let wrong = || Refusal::new(400, "the body is not a JSON object");
    let read: Value = serde_json::from_slice(body).map_err(|_| wrong())?;
    let mut parameters = BTreeMap::new();
    for (name, value) in read.as_object().ok_or_else(wrong)? {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => u8::from(*flag).to_string(),
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => {
                let text = "type check ('string') failed - got a list or an object";
                return Err(Refusal::parameter(name, text));
            }
        };
        parameters.insert(name.clone(), value);
    }
    Ok(parameters)
}
