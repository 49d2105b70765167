//! A server that says what a test tells it to say.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, header::COOKIE};
use joiner_clock::Clock;
use joiner_vim::{Credentials, Transport, Vim, VimSettings, transport::TransportError};

/// What a test wants to be answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// What is inside of the response's element.
    Returned(String),
    /// A fault of a type, with what is inside of it.
    Fault(&'static str, String),
    /// A status and a body as they are.
    Status(u16, String),
    /// The connection breaks.
    Broken,
    /// Another reply, later.
    Later(Duration, Box<Reply>),
    /// Nothing, ever.
    Silence,
}

pub(crate) fn returned(inside: &str) -> Reply {
    Reply::Returned(inside.to_owned())
}

pub(crate) fn fault(kind: &'static str) -> Reply {
    Reply::Fault(kind, String::new())
}

pub(crate) fn json(value: &serde_json::Value) -> Reply {
    Reply::Status(200, value.to_string())
}

impl Reply {
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self::Later(Duration::from_secs(seconds), Box::new(self))
    }
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The method of a SOAP call, or method and path of another request.
    pub(crate) what: String,
    pub(crate) body: String,
    pub(crate) headers: http::HeaderMap,
}

#[derive(Default)]
struct Script {
    /// Replies in order; the last one stays.
    replies: HashMap<String, VecDeque<Reply>>,
    log: Vec<Asked>,
    /// The session that counts, where one does.
    session: Option<usize>,
    logins: usize,
    password: String,
}

/// The server.
#[derive(Clone, Default)]
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    in_flight: Arc<AtomicUsize>,
    most_in_flight: Arc<AtomicUsize>,
}

const CONTENT: &str = r#"<returnval>
 <rootFolder type="Folder">group-d1</rootFolder>
 <propertyCollector type="PropertyCollector">propertyCollector</propertyCollector>
 <viewManager type="ViewManager">ViewManager</viewManager>
 <about><fullName>Scripted 8.0.3</fullName><version>8.0.3</version><build>1</build>
  <apiType>VirtualCenter</apiType><apiVersion>8.0.3.0</apiVersion></about>
 <sessionManager type="SessionManager">SessionManager</sessionManager>
 <authorizationManager type="AuthorizationManager">AuthorizationManager</authorizationManager>
 <searchIndex type="SearchIndex">SearchIndex</searchIndex>
</returnval>"#;

impl Server {
    pub(crate) fn new() -> Self {
        let server = Self::default();
        server.set_password("right");
        server.reply("RetrieveServiceContent", returned(CONTENT));
        server.reply("CurrentTime", returned("<returnval>2026-01-01T12:00:00.5Z</returnval>"));
        server
    }

    /// Answers a question like this, after what was said about it before; the last reply is
    /// repeated.
    pub(crate) fn reply(&self, what: &str, reply: Reply) -> &Self {
        let mut script = self.script.lock().unwrap();
        script.replies.entry(what.to_owned()).or_default().push_back(reply);
        self
    }

    /// Forgets what was to be answered to a question.
    pub(crate) fn forget(&self, what: &str) -> &Self {
        self.script.lock().unwrap().replies.remove(what);
        self
    }

    /// The password that is accepted from now on.
    pub(crate) fn set_password(&self, password: &str) {
        password.clone_into(&mut self.script.lock().unwrap().password);
    }

    /// Ends the session that counts.
    pub(crate) fn end_session(&self) {
        self.script.lock().unwrap().session = None;
    }

    /// What was asked, in order.
    pub(crate) fn log(&self) -> Vec<Asked> {
        self.script.lock().unwrap().log.clone()
    }

    /// How often something was asked.
    pub(crate) fn times(&self, what: &str) -> usize {
        self.log().iter().filter(|asked| asked.what == what).count()
    }

    /// What was asked, by name, in order.
    pub(crate) fn story(&self) -> Vec<String> {
        self.log().into_iter().map(|asked| asked.what).collect()
    }

    /// How many requests were there at the same time, at most.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.most_in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn client(&self) -> Vim {
        self.client_with(VimSettings::new(Credentials::new("joiner", "right")))
    }

    pub(crate) fn client_with(&self, settings: VimSettings) -> Vim {
        let noon = "2026-01-01T12:00:00Z".parse().unwrap();
        Vim::new(settings, Arc::new(self.clone()), Clock::following_runtime(noon))
    }

    /// What is answered to a request. Logins and sessions are the server's own.
    fn answer(&self, asked: &Asked) -> Reply {
        let mut script = self.script.lock().unwrap();
        script.log.push(asked.clone());
        let scripted = match script.replies.get_mut(&asked.what) {
            Some(replies) if replies.len() > 1 => replies.pop_front(),
            Some(replies) => replies.front().cloned(),
            None => None,
        };
        if let Some(reply @ (Reply::Broken | Reply::Status(..) | Reply::Silence)) = scripted {
            return reply;
        }
        match &*asked.what {
            "GET /sdk/vimServiceVersions.xml" => Reply::Status(
                200,
                "<namespaces><namespace><name>urn:vim25</name><version>8.0.3.0</version>\
                 </namespace></namespaces>"
                    .to_owned(),
            ),
            "RetrieveServiceContent" => scripted.unwrap_or(Reply::Broken),
            "Login" => {
                let right = format!("<password>{}</password>", script.password);
                if !asked.body.contains(&right) {
                    return fault("InvalidLogin");
                }
                script.logins += 1;
                script.session = Some(script.logins);
                let session = "<returnval><key>k</key><userName>LAB\\joiner</userName></returnval>";
                match scripted {
                    Some(Reply::Later(time, _)) => Reply::Later(time, Box::new(returned(session))),
                    _ => returned(session),
                }
            }
            _ => {
                let cookie = asked.headers.get(COOKIE).and_then(|cookie| cookie.to_str().ok());
                let valid =
                    script.session.map(|number| format!("vmware_soap_session=\"s{number}\""));
                if asked.what.contains(' ') || (cookie.is_some() && cookie == valid.as_deref()) {
                    scripted.unwrap_or_else(|| fault("MethodNotFound"))
                } else {
                    fault("NotAuthenticated")
                }
            }
        }
    }

    fn logins(&self) -> usize {
        self.script.lock().unwrap().logins
    }
}

#[async_trait]
impl Transport for Server {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let what = if request.uri().path() == "/sdk" {
            let (_, call) = body.split_once("<soapenv:Body><").unwrap();
            call.split(['>', ' ']).next().unwrap().to_owned()
        } else {
            let path = request.uri().path_and_query().unwrap();
            format!("{} {path}", request.method())
        };
        let asked = Asked { what, body, headers: request.headers().clone() };
        let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_in_flight.fetch_max(now, Ordering::Relaxed);
        let _leaves = Leaves(&self.in_flight);
        let mut reply = self.answer(&asked);
        while let Reply::Later(time, then) = reply {
            tokio::time::sleep(time).await;
            reply = *then;
        }
        let (status, body) = match reply {
            Reply::Returned(inside) => {
                let what = &asked.what;
                (
                    200,
                    envelope(&format!(
                        "<{what}Response xmlns=\"urn:vim25\">{inside}</{what}Response>"
                    )),
                )
            }
            Reply::Fault(kind, inside) => (
                500,
                envelope(&format!(
                    "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>No: {kind}.\
                     </faultstring><detail><{kind}Fault xmlns=\"urn:vim25\" xsi:type=\"{kind}\">\
                     {inside}</{kind}Fault></detail></soapenv:Fault>"
                )),
            ),
            Reply::Status(status, body) => (status, body),
            Reply::Broken => return Err(TransportError::NoAnswer("connection reset".to_owned())),
            Reply::Silence | Reply::Later(..) => std::future::pending().await,
        };
        let mut response = Response::builder().status(status);
        if asked.what == "Login" {
            let cookie = format!("vmware_soap_session=\"s{}\"; Path=/; HttpOnly", self.logins());
            response = response.header("set-cookie", cookie);
        }
        Ok(response.body(Bytes::from(body)).unwrap())
    }
}

struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn envelope(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><soapenv:Envelope \
         xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>{body}\
         </soapenv:Body></soapenv:Envelope>"
    )
}
