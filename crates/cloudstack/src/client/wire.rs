//! Requests on their way: signed, in turn, and again where that is safe.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Response, Uri,
    header::{CONTENT_TYPE, HeaderValue},
};
use jiff::SignedDuration;
use joiner_clock::Clock;
use joiner_line::{
    Account, Credentials, Line, Patience, Refused, Transport, TransportError, answer::server_time,
    retry,
};
use serde_json::Value;

use super::{
    ClientError, ClientSettings, Command, answer::payload, limiter::Limiter, signature::signed,
};

/// The longest query that is sent as one. Servers take headers of 8 KiB, the query among them.
const QUERY_MAX: usize = 7 * 1024;
/// How often a command is sent at most.
const TRIES: u32 = 5;
/// How long to wait between them. The number of tries ends them, so the time in all is that of five
/// answers that do not come.
const PATIENCE: Patience = Patience {
    in_all: Duration::from_mins(10),
    first_wait: Duration::from_millis(500),
    longest_wait: Duration::from_secs(8),
};

/// What all requests have in common.
pub(crate) struct Wire {
    pub(crate) settings: ClientSettings,
    pub(crate) limiter: Arc<Limiter>,
    line: Line,
    account: Account,
    /// How far the server's clock is ahead of ours, as its last answer said.
    skew: Mutex<Option<SignedDuration>>,
}

/// A transport whose requests leave one after the other, at a pace.
struct Paced {
    transport: Arc<dyn Transport>,
    limiter: Arc<Limiter>,
    clock: Clock,
}

#[async_trait]
impl Transport for Paced {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.limiter.turn(&self.clock).await;
        self.transport.send(request).await
    }
}

impl Wire {
    pub(crate) fn new(
        settings: ClientSettings,
        transport: Arc<dyn Transport>,
        clock: Clock,
    ) -> Self {
        let limiter = Arc::new(Limiter::new(settings.requests_per_second));
        let paced = Paced { transport, limiter: Arc::clone(&limiter), clock: clock.clone() };
        Self {
            line: Line::new(settings.line.clone(), Arc::new(paced), clock.clone()),
            account: Account::new(Arc::clone(&settings.keys), clock),
            skew: Mutex::default(),
            limiter,
            settings,
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.line.clock()
    }

    /// How far the server's clock is ahead of ours, as its last answer said.
    pub(crate) fn skew(&self) -> Option<SignedDuration> {
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command, and again where what is in the way may pass: where the command changes
    /// nothing, or where it was certainly not begun.
    pub(crate) async fn answer(&self, command: &Command) -> Result<Value, ClientError> {
        command.check()?;
        let tries = AtomicU32::new(0);
        let allows = |error: &ClientError| {
            let tries = tries.fetch_add(1, Ordering::Relaxed) + 1;
            let is_safe =
                if command.api.reads() { error.passes() } else { error.was_never_begun() };
            is_safe && tries < TRIES
        };
        let ask = || self.with_keys(command);
        retry::asked(self.clock(), &PATIENCE, "CloudStack", allows, ask).await
    }

    /// Sends a command with the keys of now. A question is asked once more where other keys have
    /// come since.
    async fn with_keys(&self, command: &Command) -> Result<Value, ClientError> {
        let mut attempt = self.account.attempt().map_err(|refused| self.keys_refused(&refused))?;
        loop {
            let result = self.once(command, attempt.credentials()).await;
            match &result {
                Err(ClientError::Refused(refusal)) if refusal.is_of_keys() => {}
                Ok(_) | Err(ClientError::Refused(_)) => {
                    attempt.accepted();
                    return result;
                }
                Err(_) => return result,
            }
            if !command.api.reads() {
                return Err(self.keys_refused(&attempt.refused()));
            }
            let others = attempt.refused_for_others();
            attempt = others.map_err(|refused| self.keys_refused(&refused))?;
        }
    }

    /// The refusal of keys, without the keys.
    fn keys_refused(&self, refused: &Refused) -> ClientError {
        ClientError::KeysRefused { retry_in: refused.retry_in, skew: self.skew() }
    }

    async fn once(&self, command: &Command, keys: &Credentials) -> Result<Value, ClientError> {
        if keys.user.is_empty() || keys.password.is_empty() {
            return Err(ClientError::NoKeys);
        }
        let parameters = signed(command, keys, self.settings.signature, self.clock().now());
        let request = self.request(command, parameters)?;
        let began = self.clock().running();
        let answer =
            match self.line.send(request, command.api.deadline(self.settings.answer_timeout)).await
            {
                Ok(response) => {
                    self.look_at_date(response.headers());
                    payload(command, response.status(), response.body())
                }
                Err(error) => Err(error.into()),
            };
        let code = answer.as_ref().err().map_or_else(|| "200".to_owned(), ClientError::code);
        self.line.observe(command.api.name, began, &code);
        if code == "429" {
            self.limiter.refused(self.clock().running());
        }
        answer
    }

    /// A question in the query, anything else in the body: servers may insist on that, and a query
    /// has no room for user data.
    fn request(
        &self,
        command: &Command,
        parameters: String,
    ) -> Result<Request<Bytes>, ClientError> {
        let path = &self.settings.path;
        let is_query = command.api.reads() && parameters.len() <= QUERY_MAX;
        let (method, target, body) = if is_query {
            (Method::GET, format!("{path}?{parameters}"), Bytes::new())
        } else {
            (Method::POST, path.clone(), Bytes::from(parameters))
        };
        // The error's own text would repeat the keys.
        let unsendable =
            |_| ClientError::Unsendable(format!("{path:?} is no path; write /client/api"));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = target.parse::<Uri>().map_err(unsendable)?;
        if !is_query {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(CONTENT_TYPE, form);
        }
        Ok(request)
    }

    fn look_at_date(&self, headers: &HeaderMap) {
        if let Some(time) = server_time(headers) {
            let skew = time.duration_since(self.clock().now());
            *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        }
    }

    /// Tells the observer that a job is no longer waited for.
    pub(crate) fn job_ends(&self, command: &str, result: &str, took: Duration) {
        self.line.observer().task_ends(command, result, took);
    }

    /// Tells the observer that a job is waited for.
    pub(crate) fn job_begins(&self, command: &str) {
        self.line.observer().task_begins(command);
    }
}

impl From<TransportError> for ClientError {
    fn from(error: TransportError) -> Self {
        let sent = !error.is_unsent();
        match error {
            TransportError::NoAnswer(reason) | TransportError::NotSent(reason) => {
                Self::Unreachable { reason, sent }
            }
            TransportError::NotTrusted(reason) => Self::Tls { reason },
            TransportError::TooLarge(reason) => Self::Malformed(reason),
        }
    }
}
