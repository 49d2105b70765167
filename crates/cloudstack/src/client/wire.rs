//! Requests on their way: signed, in turn, for as long as patience lasts, and again where that is
//! safe.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Response, Uri,
    header::{CONTENT_TYPE, DATE, HeaderValue, USER_AGENT},
};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use joiner_clock::Clock;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::{
    ClientError, ClientSettings, Command, Keys, Transport, TransportError, answer::payload,
    keys::Keyring, limiter::Limiter, signature::signed,
};

/// The longest query that is sent as one. Servers take headers of 8 KiB, the query among them.
const QUERY_MAX: usize = 7 * 1024;
/// How often a command is sent at most.
const TRIES: u32 = 5;
/// How long to wait before it is sent again for the first time, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What all requests have in common.
pub(crate) struct Wire {
    pub(crate) settings: ClientSettings,
    pub(crate) clock: Clock,
    pub(crate) limiter: Limiter,
    transport: Arc<dyn Transport>,
    permits: Semaphore,
    keyring: Keyring,
    /// How far the server's clock is ahead of ours, as its last answer said.
    skew: Mutex<Option<SignedDuration>>,
}

impl Wire {
    pub(crate) fn new(
        settings: ClientSettings,
        transport: Arc<dyn Transport>,
        clock: Clock,
    ) -> Self {
        Self {
            limiter: Limiter::new(settings.requests_per_second),
            permits: Semaphore::new(settings.requests_in_flight.max(1)),
            keyring: Keyring::new(Arc::clone(&settings.keys)),
            skew: Mutex::default(),
            settings,
            clock,
            transport,
        }
    }

    /// How far the server's clock is ahead of ours, as its last answer said.
    pub(crate) fn skew(&self) -> Option<SignedDuration> {
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command, and again where what is in the way may pass: any number of times a few where
    /// it changes nothing, and only where it was certainly not begun otherwise.
    pub(crate) async fn answer(&self, command: &Command) -> Result<Value, ClientError> {
        command.check()?;
        let mut failures = 0;
        loop {
            let error = match self.with_keys(command).await {
                Ok(payload) => return Ok(payload),
                Err(error) => error,
            };
            failures += 1;
            let again = if command.api.reads() { error.passes() } else { error.was_never_begun() };
            if !again || failures >= TRIES {
                return Err(error);
            }
            let wait = wait_after(failures);
            tracing::debug!(command = command.api.name, %error, ?wait, "a command is sent again");
            self.clock.sleep(wait).await;
        }
    }

    /// Sends a command with the keys of now. A question is asked once more where other keys have
    /// come since.
    async fn with_keys(&self, command: &Command) -> Result<Value, ClientError> {
        let mut is_second = false;
        loop {
            let keys = self.keyring.keys(self.clock.running())?;
            let error = match self.once(command, &keys).await {
                Ok(payload) => {
                    self.keyring.accepted(&keys);
                    return Ok(payload);
                }
                Err(error) => error,
            };
            match &error {
                ClientError::Refused(refusal) if refusal.is_of_keys() => {}
                ClientError::Refused(_) => {
                    self.keyring.accepted(&keys);
                    return Err(error);
                }
                _ => return Err(error),
            }
            match self.keyring.refused(&keys, self.clock.running(), self.skew()) {
                Some(refused) => return Err(refused),
                None if command.api.reads() && !is_second => is_second = true,
                None => return Err(error),
            }
        }
    }

    async fn once(&self, command: &Command, keys: &Keys) -> Result<Value, ClientError> {
        let closed = |_| ClientError::Unreachable {
            reason: "the client is closing".to_owned(),
            sent: false,
        };
        let _turn = self.permits.acquire().await.map_err(closed)?;
        self.limiter.turn(&self.clock).await;
        let began = self.clock.running();
        let answer = async {
            let response = self.exchange(command, keys).await?;
            self.look_at_date(response.headers());
            payload(command, response.status(), response.body())
        };
        let answer = answer.await;
        let code = answer.as_ref().err().map_or_else(|| "200".to_owned(), ClientError::code);
        let took = self.clock.running().saturating_sub(began);
        self.settings.observer.request(command.api.name, &code, took);
        if code == "429" {
            self.limiter.refused(self.clock.running());
        }
        answer
    }

    async fn exchange(
        &self,
        command: &Command,
        keys: &Keys,
    ) -> Result<Response<Bytes>, ClientError> {
        let parameters = signed(command, keys, self.settings.signature, self.clock.now());
        let request = self.request(command, parameters)?;
        let patience = command.api.patience();
        let late = || ClientError::Unreachable {
            reason: format!("no answer within {} s", patience.as_secs()),
            sent: true,
        };
        let answer = self.clock.within(patience, self.transport.send(request)).await;
        answer.ok_or_else(late)?.map_err(|error| match error {
            TransportError::NotSent(reason) => ClientError::Unreachable { reason, sent: false },
            TransportError::NoAnswer(reason) => ClientError::Unreachable { reason, sent: true },
            TransportError::NotTrusted(reason) => ClientError::Tls { reason },
        })
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
        let headers = request.headers_mut();
        if !is_query {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(CONTENT_TYPE, form);
        }
        if let Ok(agent) = HeaderValue::from_str(&self.settings.user_agent) {
            headers.insert(USER_AGENT, agent);
        }
        Ok(request)
    }

    fn look_at_date(&self, headers: &HeaderMap) {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        if let Some(date) = date.and_then(read_date) {
            let skew = date.duration_since(self.clock.now());
            *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        }
    }
}

fn read_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// How long to wait after a number of failures in a row, a little different each time.
fn wait_after(failures: u32) -> Duration {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    // Golden-ratio steps spread any number of waits evenly over the second half.
    let count = WAITS.fetch_add(1, Ordering::Relaxed);
    let spread = count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let share = 0.5 + spread as f64 / f64::from(u32::MAX) / 2.0;
    (FIRST_WAIT * 2_u32.pow(failures.saturating_sub(1).min(10))).min(LONGEST_WAIT).mul_f64(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_date_is_read() {
        let date = read_date("Fri, 02 Jan 2026 03:04:05 GMT").unwrap();
        assert_eq!(date.to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(read_date("yesterday"), None);
    }
}
