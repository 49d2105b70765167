//! REST queries, and their session.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{TagError, Tags, wording::Refusal};
use crate::{Credentials, VimError, client::forgotten};

/// Where everything here is found.
const ROOT: &str = "/rest/com/vmware/cis/";

/// The header that stands for a session.
const SESSION: HeaderName = HeaderName::from_static("vmware-api-session-id");

/// How old a session may be. Servers end them after a day, however busy they are.
const AGE_MAX: Duration = Duration::from_hours(12);

/// A question that can be asked.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its name in metrics.
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    /// Path and query: below the root of tags, or all of it where it begins with a slash.
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    pub(crate) again: Again,
}

/// Whether a question may be asked again when the answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Yes,
    No,
}

impl Question {
    pub(crate) fn get(name: &'static str, path: impl Into<String>) -> Self {
        Self { name, method: Method::GET, path: path.into(), body: None, again: Again::Yes }
    }

    pub(crate) fn post(
        name: &'static str,
        path: impl Into<String>,
        body: Value,
        again: Again,
    ) -> Self {
        Self { name, method: Method::POST, path: path.into(), body: Some(body), again }
    }

    fn request(&self) -> Result<Request<Bytes>, VimError> {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = self.method.clone();
        // What lies elsewhere says so from the root on.
        let root = if self.path.starts_with('/') { "" } else { ROOT };
        let uri = format!("{root}{}", self.path).parse::<Uri>();
        let invalid = |error| VimError::Malformed(format!("{}: {error}", self.path));
        *request.uri_mut() = uri.map_err(invalid)?;
        if self.body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
        }
        Ok(request)
    }
}

/// A session of REST questions.
pub(crate) struct RestSession {
    id: HeaderValue,
    /// On the clock's running time.
    began: Duration,
}

impl Debug for RestSession {
    /// Omits the identifier, because it grants access like a password.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestSession").field("began", &self.began).finish_non_exhaustive()
    }
}

/// Answers are wrapped in this.
#[derive(Deserialize)]
struct Wrapped<T> {
    value: T,
}

impl Tags {
    /// Asks a question and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        question: &Question,
    ) -> Result<T, TagError> {
        let ask = || self.ask_in_session(question);
        let response = match question.again {
            Again::Yes => self.vim.asked(ask).await,
            Again::No => ask().await,
        };
        let body = accepted(&response.map_err(TagError::Vim)?)?;
        let unreadable =
            |error| TagError::Vim(VimError::Malformed(format!("{}: {error}", question.path)));
        let Wrapped { value } = serde_json::from_slice(&body).map_err(unreadable)?;
        Ok(value)
    }

    /// Asks once; if the session turns out to be over, once more in a new one.
    async fn ask_in_session(&self, question: &Question) -> Result<Response<Bytes>, VimError> {
        let session = self.session().await?;
        let response = self.exchange(question, &session).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        tracing::info!("the session for tags in vCenter is over; a new one is begun");
        self.vim.rest().ended(&session);
        let session = self.session().await?;
        let response = self.exchange(question, &session).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.vim.rest().ended(&session);
        }
        Ok(response)
    }

    async fn exchange(
        &self,
        question: &Question,
        session: &RestSession,
    ) -> Result<Response<Bytes>, VimError> {
        let mut request = question.request()?;
        request.headers_mut().insert(SESSION, session.id.clone());
        self.send(question.name, request).await
    }

    /// Sends a request. Statuses that say that a server is in trouble are errors, others answers.
    async fn send(&self, name: &str, request: Request<Bytes>) -> Result<Response<Bytes>, VimError> {
        let wire = self.vim.wire();
        let began = wire.clock.running();
        let response = match wire.send(request, wire.settings.request_timeout).await {
            Ok(response) if response.status().is_server_error() => {
                Err(VimError::Http(response.status().as_u16()))
            }
            Ok(response) if response.status() == StatusCode::TOO_MANY_REQUESTS => {
                Err(VimError::Http(response.status().as_u16()))
            }
            response => response,
        };
        let refused = |response: &Response<Bytes>| {
            let status = response.status();
            (!status.is_success()).then(|| VimError::Http(status.as_u16()))
        };
        match &response {
            Ok(response) => wire.observe(name, began, refused(response).as_ref()),
            Err(error) => wire.observe(name, began, Some(error)),
        }
        response
    }

    /// The session, new where there is none or the old one has come of age.
    async fn session(&self) -> Result<Arc<RestSession>, VimError> {
        let shared = self.vim.rest();
        let now = self.vim.clock().running();
        if let Some(old) = shared.present().filter(|old| now.saturating_sub(old.began) > AGE_MAX) {
            shared.ended(&old);
            self.end(&old).await;
        }
        shared.get(self.login()).await
    }

    async fn login(&self) -> Result<RestSession, VimError> {
        self.vim
            .with_credentials("rest", async |credentials| {
                let question = Question {
                    name: "session.create",
                    method: Method::POST,
                    path: "session".to_owned(),
                    body: None,
                    again: Again::No,
                };
                let mut request = question.request()?;
                request.headers_mut().insert(AUTHORIZATION, basic(credentials)?);
                let response = self.send(question.name, request).await?;
                match response.status() {
                    StatusCode::UNAUTHORIZED => Ok(None),
                    status if !status.is_success() => Err(VimError::Http(status.as_u16())),
                    _ => self.opened(&response).map(Some),
                }
            })
            .await
    }

    fn opened(&self, response: &Response<Bytes>) -> Result<RestSession, VimError> {
        // The error omits the answer, because the answer is a secret.
        let unreadable = || VimError::Malformed("the login's answer has no session".to_owned());
        let answer: Wrapped<String> =
            serde_json::from_slice(response.body()).map_err(|_| unreadable())?;
        let mut id = HeaderValue::from_str(&answer.value).map_err(|_| unreadable())?;
        id.set_sensitive(true);
        Ok(RestSession { id, began: self.vim.clock().running() })
    }

    /// Ends the session. Best effort.
    pub(crate) async fn logout(&self) {
        if let Some(session) = self.vim.rest().present() {
            self.vim.rest().ended(&session);
            self.end(&session).await;
        }
    }

    async fn end(&self, session: &RestSession) {
        let question = Question {
            name: "session.delete",
            method: Method::DELETE,
            path: "session".to_owned(),
            body: None,
            again: Again::No,
        };
        if let Err(error) = self.exchange(&question, session).await {
            forgotten(&error);
        }
    }
}

fn basic(credentials: &Credentials) -> Result<HeaderValue, VimError> {
    let pair = Zeroizing::new(format!("{}:{}", credentials.user, &*credentials.password));
    let header = Zeroizing::new(format!("Basic {}", BASE64.encode(pair.as_bytes())));
    let mut header = HeaderValue::from_str(&header)
        .map_err(|_| VimError::Malformed("the user name cannot be sent".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

/// The body of an answer, or the refusal that it is.
fn accepted(response: &Response<Bytes>) -> Result<Bytes, TagError> {
    let status = response.status();
    if status.is_success() {
        let body = response.body();
        // Nothing at all is said where there is nothing to say.
        return Ok(if body.is_empty() {
            Bytes::from_static(b"{\"value\":null}")
        } else {
            body.clone()
        });
    }
    let refusal: Refusal = serde_json::from_slice(response.body()).unwrap_or_default();
    Err(match (refusal.word(), status) {
        ("already_exists", _) => TagError::AlreadyExists,
        ("not_found", _) | (_, StatusCode::NOT_FOUND) => TagError::NotFound,
        ("unauthenticated", _) | (_, StatusCode::UNAUTHORIZED) => TagError::Unauthenticated,
        ("unauthorized", _) | (_, StatusCode::FORBIDDEN) => TagError::Forbidden(refusal.messages()),
        ("", _) => TagError::Vim(VimError::Http(status.as_u16())),
        (word, _) => TagError::Refused(format!("{word}: {}", refusal.messages())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> TagError {
        let response = Response::builder().status(status).body(Bytes::from(body.to_owned()));
        accepted(&response.unwrap()).unwrap_err()
    }

    #[test]
    fn refusals_are_known_by_their_type() {
        let body = |word: &str| {
            format!(
                "{{\"type\":\"com.vmware.vapi.std.errors.{word}\",\"value\":{{\"messages\":\
                 [{{\"default_message\":\"No.\",\"args\":[],\"id\":\"x\"}}]}}}}"
            )
        };
        for (status, body, expected) in [
            (400, body("already_exists"), TagError::AlreadyExists),
            (404, body("not_found"), TagError::NotFound),
            (404, "404 page not found".to_owned(), TagError::NotFound),
            (401, body("unauthenticated"), TagError::Unauthenticated),
            (403, body("unauthorized"), TagError::Forbidden("No.".to_owned())),
            (400, body("invalid_argument"), TagError::Refused("invalid_argument: No.".to_owned())),
            (400, "what?".to_owned(), TagError::Vim(VimError::Http(400))),
        ] {
            assert_eq!(refused(status, &body), expected, "{status} {body}");
        }
    }
}
