//! REST: sessions of their own, and tags.

mod modules;
mod tagging;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde_json::{Value as Json, json};

use joiner_sim::Answered;
pub(crate) use modules::{Modules, ROOT as MODULES};
pub(crate) use tagging::Tagging;

use crate::{
    session::{Refused, Standing, Viewer},
    soap::unavailable,
    world::World,
};

/// Where everything of this kind lies.
pub(crate) const ROOT: &str = "/rest/com/vmware/cis/";

/// The header that sessions are known by.
const SESSION: &str = "vmware-api-session-id";

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// What comes after the root; all of it where it lies elsewhere.
    path: String,
    /// What `~action` or `action` says.
    action: String,
    pub(crate) session: Option<String>,
    authorization: Option<String>,
    body: Bytes,
}

impl Ask {
    pub(crate) fn read(method: &Method, uri: &http::Uri, headers: &HeaderMap, body: Bytes) -> Self {
        let text = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned)
        };
        let path = uri.path().strip_prefix(ROOT).unwrap_or(uri.path());
        let query = uri.query().unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let action = pairs.find(|(name, _)| name == "~action" || name == "action");
        Self {
            method: method.clone(),
            path: percent_decode_str(path).decode_utf8_lossy().into_owned(),
            action: action.map(|(_, value)| value.into_owned()).unwrap_or_default(),
            session: text(SESSION),
            authorization: text("authorization"),
            body,
        }
    }

    fn json(&self) -> Result<Json, Refusal> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Refusal::new(400, "invalid_argument", format!("no JSON: {error}")))
    }
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    kind: &'static str,
    message: String,
}

impl Refusal {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    fn not_found(what: &str) -> Self {
        Self::new(404, "not_found", format!("there is no {what}"))
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_argument", message)
    }

    fn unauthenticated() -> Self {
        Self::new(401, "unauthenticated", "the session is not known, or it is over")
    }

    fn answer(&self) -> Answered {
        let body = json!({
            "type": format!("com.vmware.vapi.std.errors.{}", self.kind),
            "value": {
                "error_type": self.kind.to_uppercase(),
                "messages": [{
                    "args": [],
                    "default_message": self.message,
                    "id": format!("com.vmware.vapi.std.errors.{}", self.kind),
                }],
            },
        });
        Answered { response: respond(self.status, Some(&body)), outcome: self.kind.to_owned() }
    }
}

fn respond(status: u16, body: Option<&Json>) -> Response<Bytes> {
    let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What a request comes to: a value, or nothing worth telling.
type Outcome = Result<Option<Json>, Refusal>;

impl World {
    pub(crate) fn answer_rest(&mut self, ask: &Ask) -> Answered {
        let outcome = if ask.path == "session" && ask.method == Method::POST {
            match self.open_rest_session(ask) {
                Ok(outcome) => outcome,
                Err(refusal) => return refusal,
            }
        } else {
            let key = ask.session.as_deref();
            let standing = self.sessions.standing(key, true, self.agenda.now(), &self.behaviour);
            self.forget_ended_sessions();
            match standing {
                Standing::Live(viewer) => self.rest(&viewer, ask),
                Standing::Expired | Standing::Unknown => Err(Refusal::unauthenticated()),
            }
        };
        match outcome {
            Ok(value) => {
                let body = value.map(|value| json!({ "value": value }));
                Answered { response: respond(200, body.as_ref()), outcome: "ok".to_owned() }
            }
            Err(refusal) => refusal.answer(),
        }
    }

    fn open_rest_session(&mut self, ask: &Ask) -> Result<Outcome, Answered> {
        let basic = ask.authorization.as_deref().and_then(|text| text.strip_prefix("Basic "));
        let decoded = basic.and_then(|text| STANDARD.decode(text.trim()).ok());
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
        let Some((user, password)) = pair else { return Ok(Err(Refusal::unauthenticated())) };
        match self.sessions.log_in(user, password, true, self.agenda.now(), &self.behaviour) {
            Ok(session) => Ok(Ok(Some(json!(session.key)))),
            Err(Refused::Login(_)) => Ok(Err(Refusal::unauthenticated())),
            Err(Refused::TooMany) => Err(unavailable(503)),
        }
    }

    fn rest(&mut self, viewer: &Viewer, ask: &Ask) -> Outcome {
        if ask.path == "session" {
            return self.rest_session(viewer, ask);
        }
        if let Some(path) = ask.path.strip_prefix(MODULES) {
            return self.module_call(viewer, ask, path);
        }
        let path = ask.path.strip_prefix("tagging/").unwrap_or_default();
        let (what, id) = match path.split_once("/id:") {
            Some((what, id)) => (what, Some(id)),
            None => (path, None),
        };
        self.tag_call(viewer, ask, what, id)
    }

    fn rest_session(&mut self, viewer: &Viewer, ask: &Ask) -> Outcome {
        match ask.method {
            Method::GET => {
                let session = self.sessions.get(&viewer.session);
                Ok(session.map(|session| {
                    json!({
                        "user": session.user,
                        "created_time": self.moment(session.began).to_string(),
                        "last_accessed_time": self.moment(session.last_used).to_string(),
                    })
                }))
            }
            Method::DELETE => {
                self.end_session(&viewer.session);
                Ok(None)
            }
            _ => Err(Refusal::not_found("such call")),
        }
    }
}
