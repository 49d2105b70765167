//! A server that says what a test tells it to say.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response, header::DATE};
use joiner_clock::Clock;
use joiner_cloudstack::client::{Client, ClientSettings};
use joiner_line::{Credentials, CredentialsSource, Transport, TransportError};
use serde_json::{Value, json};

/// What a test wants to be answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// What is inside of the envelope.
    Inside(Value),
    /// A status and a body as they are.
    Status(u16, String),
    /// The connection is never made.
    NotSent,
    /// The connection breaks once the request has left.
    Broken,
    /// Another reply, later.
    Later(Duration, Box<Reply>),
    /// Nothing, ever.
    Silence,
}

impl Reply {
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self::Later(Duration::from_secs(seconds), Box::new(self))
    }
}

/// An error in the envelope of its command.
pub(crate) fn refusal(code: u16, text: &str) -> Reply {
    let error = json!({"uuidList": [], "errorcode": code, "errortext": text});
    Reply::Status(code, json!({"xresponse": error}).to_string())
}

/// What a server says of a job that is under way.
pub(crate) fn pending() -> Reply {
    Reply::Inside(json!({"jobstatus": 0, "jobresultcode": 0, "jobid": "any"}))
}

/// What a server says of a job that is done.
pub(crate) fn done() -> Reply {
    Reply::Inside(json!({"jobstatus": 1, "jobresult": {"success": true}, "jobid": "any"}))
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) command: String,
    pub(crate) method: Method,
    pub(crate) parameters: BTreeMap<String, String>,
    /// On the runtime's time since the server began.
    pub(crate) at: Duration,
}

type Decision = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

#[derive(Default)]
struct Script {
    /// Replies in order; the last one stays.
    replies: HashMap<String, VecDeque<Reply>>,
    /// Replies that are worked out, by command.
    decisions: HashMap<String, Decision>,
    log: Vec<Asked>,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    in_flight: Arc<AtomicUsize>,
    most_in_flight: Arc<AtomicUsize>,
    /// What the server's clock says; it says nothing where there is none.
    date: Arc<Mutex<Option<String>>>,
    began: tokio::time::Instant,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self {
            script: Arc::default(),
            in_flight: Arc::default(),
            most_in_flight: Arc::default(),
            date: Arc::default(),
            began: tokio::time::Instant::now(),
        }
    }

    /// Answers a command like this, after what was said about it before; the last reply is repeated.
    pub(crate) fn reply(&self, command: &str, reply: Reply) -> &Self {
        let mut script = self.script.lock().unwrap();
        script.replies.entry(command.to_owned()).or_default().push_back(reply);
        self
    }

    /// Answers a command by what it asks for.
    pub(crate) fn decide(
        &self,
        command: &str,
        decision: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> &Self {
        let decision: Decision = Arc::new(decision);
        self.script.lock().unwrap().decisions.insert(command.to_owned(), decision);
        self
    }

    /// What the server's clock says from now on.
    pub(crate) fn set_date(&self, date: &str) {
        *self.date.lock().unwrap() = Some(date.to_owned());
    }

    /// What was asked, in order.
    pub(crate) fn log(&self) -> Vec<Asked> {
        self.script.lock().unwrap().log.clone()
    }

    /// How often something was asked.
    pub(crate) fn times(&self, command: &str) -> usize {
        self.log().iter().filter(|asked| asked.command == command).count()
    }

    /// How many requests were there at the same time, at most.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.most_in_flight.load(Ordering::SeqCst)
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    /// A client with settings of its own.
    pub(crate) fn client_with(&self, change: impl FnOnce(&mut ClientSettings)) -> Client {
        let mut settings = ClientSettings::new(Credentials::new("key", "secret"));
        change(&mut settings);
        let clock = Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap());
        Client::new(settings, Arc::new(self.clone()), clock)
    }
}

#[async_trait]
impl Transport for Server {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let query = match *request.method() {
            Method::GET => request.uri().query().unwrap_or_default().to_owned(),
            _ => String::from_utf8_lossy(request.body()).into_owned(),
        };
        let parameters: BTreeMap<String, String> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect();
        let asked = Asked {
            command: parameters["command"].clone(),
            method: request.method().clone(),
            parameters,
            at: self.began.elapsed(),
        };
        let reply = {
            let mut script = self.script.lock().unwrap();
            script.log.push(asked.clone());
            match script.decisions.get(&asked.command) {
                Some(decision) => decision(&asked),
                None => {
                    let replies = script.replies.entry(asked.command.clone()).or_default();
                    match replies.len() {
                        0 => refusal(431, "the test does not expect this"),
                        1 => replies[0].clone(),
                        _ => replies.pop_front().unwrap(),
                    }
                }
            }
        };
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        let _leaves = Leaves(&self.in_flight);
        self.answer(&asked, reply).await
    }
}

impl Server {
    async fn answer(
        &self,
        asked: &Asked,
        mut reply: Reply,
    ) -> Result<Response<Bytes>, TransportError> {
        while let Reply::Later(wait, then) = reply {
            tokio::time::sleep(wait).await;
            reply = *then;
        }
        let (status, body) = match reply {
            Reply::Inside(inside) => {
                let envelope = format!("{}response", asked.command.to_lowercase());
                (200, json!({ envelope: inside }).to_string())
            }
            Reply::Status(status, body) => (status, body),
            Reply::NotSent => return Err(TransportError::NotSent("refused".to_owned())),
            Reply::Broken => return Err(TransportError::NoAnswer("broken".to_owned())),
            Reply::Silence => std::future::pending().await,
            Reply::Later(..) => unreachable!("the loop has waited"),
        };
        let mut response = Response::builder().status(status);
        if let Some(date) = &*self.date.lock().unwrap() {
            response = response.header(DATE, date);
        }
        Ok(response.body(Bytes::from(body)).unwrap())
    }
}

struct Leaves<'s>(&'s AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes percent-encoding out.
fn decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            out.push(u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap());
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).unwrap()
}

/// Keys that a test changes.
#[derive(Clone)]
pub(crate) struct ChangingKeys(Arc<Mutex<String>>);

impl ChangingKeys {
    pub(crate) fn new(api_key: &str) -> Self {
        Self(Arc::new(Mutex::new(api_key.to_owned())))
    }

    pub(crate) fn set(&self, api_key: &str) {
        api_key.clone_into(&mut self.0.lock().unwrap());
    }

    pub(crate) fn source(&self) -> CredentialsSource {
        let keys = Arc::clone(&self.0);
        Arc::new(move || Credentials::new(keys.lock().unwrap().clone(), "secret"))
    }
}
