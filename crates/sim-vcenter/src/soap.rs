//! SOAP: calls in envelopes, and answers to them.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use joiner_sim::Answered;
use quick_xml::escape::escape;

use crate::{
    collect::all_missing,
    fault::Fault,
    methods::{OPEN_TO_ALL, Request, returned, wrap},
    properties::service,
    reference::{Kind, Ref},
    session::{Refused, Standing, Viewer},
    trouble::TaskTrouble,
    wire::{element::Element, value::Value},
    world::World,
};

/// The cookie that sessions are known by.
const COOKIE: &str = "vmware_soap_session";

/// A call as it came.
#[derive(Debug)]
pub(crate) struct Call {
    /// The method with its arguments.
    pub(crate) element: Element,
    /// The session that is presented.
    pub(crate) session: Option<String>,
    /// The same where it stands in the envelope, as services beside the main one want it.
    pub(crate) session_in_envelope: Option<String>,
    /// The version of the interface that the client speaks, if it says so.
    version: Option<String>,
}

/// The errors inside of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inside {
    pub(crate) fault: Option<Fault>,
    pub(crate) task: Option<TaskTrouble>,
    pub(crate) all_missing: bool,
}

impl Call {
    /// Reads a call, or says why it is none.
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(body).map_err(|error| error.to_string())?;
        let mut envelope = Element::read(text)?;
        let header = envelope.child("Header").and_then(|header| header.text_of("vcSessionCookie"));
        let session_in_envelope = header.map(str::to_owned);
        let at = envelope.children.iter().position(|child| child.name == "Body");
        let at = at.filter(|_| envelope.name == "Envelope").ok_or("there is no envelope")?;
        let body = envelope.children.swap_remove(at);
        let Ok([element]) = <[Element; 1]>::try_from(body.children) else {
            return Err("the body of the envelope is not exactly one call".to_owned());
        };
        let action = headers.get("soapaction").and_then(|value| value.to_str().ok());
        let action = action.map(|action| action.trim_matches('"'));
        let version = action.and_then(|action| action.strip_prefix("urn:vim25/"));
        let version = version.map(str::to_owned);
        Ok(Self { element, session: cookie(headers), session_in_envelope, version })
    }

    /// Everything that the object of the call could be called by.
    pub(crate) fn object_names(&self, world: &World) -> Vec<String> {
        let mut names = Vec::new();
        if let Ok(this) = crate::methods::named(self.element.child("_this")) {
            names.push(this.id());
            names.push(world.estate.name(this).to_owned());
        }
        if self.element.name == "CloneVM_Task" {
            names.extend(self.element.text_of("name").map(str::to_owned));
        }
        names
    }

    /// The object of the call, for the log.
    pub(crate) fn object(&self) -> String {
        let this = crate::methods::named(self.element.child("_this"));
        this.map(|this| this.to_string()).unwrap_or_default()
    }
}

/// The session in a cookie. Servers quote it, and clients send it back as they got it, or not.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, key) = pairs.find(|(name, _)| name.trim() == COOKIE)?;
    Some(key.trim().trim_matches('"').to_owned())
}

impl World {
    /// The session of the caller, or the fault for a caller without access.
    pub(crate) fn admit(&mut self, call: &Call) -> Result<Viewer, Answered> {
        let name = &call.element.name;
        if let Some(version) = &call.version {
            let known =
                *version == self.about.api_version || self.about.prior_versions.contains(version);
            if !known {
                let message = format!("Unsupported version URI \"urn:vim25/{version}\"");
                return Err(failed(&Fault::new("UnsupportedVersion", message)));
            }
        }
        if !self.schema.has(name) {
            let message = format!("there is no method {name}");
            return Err(failed(&Fault::new("InvalidRequest", message)));
        }
        if let Err(problem) = self.schema.check_call(&call.element) {
            return Err(failed(&Fault::new("InvalidRequest", problem)));
        }
        let key = call.session.as_deref();
        let standing = self.sessions.standing(key, false, self.agenda.now(), &self.behaviour);
        self.forget_ended_sessions();
        match standing {
            Standing::Live(viewer) => Ok(viewer),
            _ if OPEN_TO_ALL.contains(&name.as_str()) => Ok(Viewer::default()),
            Standing::Expired
                if name == "RetrievePropertiesEx"
                    && self.behaviour.expired_sessions_read_nothing =>
            {
                Err(self.read_nothing(call))
            }
            Standing::Expired | Standing::Unknown => Err(failed(&Fault::not_authenticated())),
        }
    }

    fn read_nothing(&self, call: &Call) -> Answered {
        match all_missing(self, &call.element) {
            Ok(objects) => succeeded(&call.element.name, &wrap(&objects)),
            // What the session had made is gone with it.
            Err(_) => failed(&Fault::not_authenticated()),
        }
    }

    /// Answers a call.
    pub(crate) fn answer_soap(&mut self, call: &Call, inside: Inside) -> Answered {
        let viewer = match self.admit(call) {
            Ok(viewer) => viewer,
            Err(refusal) => return refusal,
        };
        if let Some(fault) = inside.fault {
            return failed(&fault);
        }
        if inside.all_missing {
            return self.read_nothing(call);
        }
        let element = &call.element;
        let this = match self.present(element.child("_this")) {
            Ok(this) => this,
            Err(fault) => return failed(&fault),
        };
        if element.name == "Login" && this == Ref::only(Kind::SessionManager) {
            return self.log_in(element);
        }
        if !self.sessions.may_see(&viewer, &self.estate, this) {
            return failed(&Fault::no_permission(this, "System.View"));
        }
        let request = Request { call: element, this, viewer: &viewer, trouble: inside.task };
        match self.perform(&request) {
            Ok(content) => succeeded(&element.name, &content),
            Err(fault) => failed(&fault),
        }
    }

    fn log_in(&mut self, call: &Element) -> Answered {
        let text = |name| call.text_of(name).unwrap_or_default();
        let (user, password) = (text("userName"), text("password"));
        match self.sessions.log_in(user, password, false, self.agenda.now(), &self.behaviour) {
            Ok(session) => {
                let viewer = Viewer { session: session.key.clone(), account: session.account };
                let content = returned(&service::session(self, &viewer));
                let mut answered = succeeded("Login", &content);
                let cookie = format!("{COOKIE}=\"{}\"; Path=/; HttpOnly; Secure;", session.key);
                if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                    answered.response.headers_mut().insert(header::SET_COOKIE, cookie);
                }
                answered
            }
            Err(Refused::Login(fault)) => failed(&fault),
            Err(Refused::TooMany) => unavailable(503),
        }
    }
}

/// The answer to a call that went well.
pub(crate) fn succeeded(method: &str, content: &str) -> Answered {
    succeeded_in("urn:vim25", method, content)
}

/// The same in the words of another service.
pub(crate) fn succeeded_in(namespace: &str, method: &str, content: &str) -> Answered {
    let body = format!("<{method}Response xmlns=\"{namespace}\">{content}</{method}Response>");
    Answered { response: envelope(StatusCode::OK, &body), outcome: "ok".to_owned() }
}

/// The answer to a call that failed.
pub(crate) fn failed(fault: &Fault) -> Answered {
    let mut detail = String::new();
    let kind = &fault.kind;
    let message = escape(&fault.message);
    fault.value().write(&mut detail, &format!("{kind}Fault"));
    // The detail speaks another language than the envelope around it.
    let detail = detail.replacen(" xsi:type", " xmlns=\"urn:vim25\" xsi:type", 1);
    let body = format!(
        "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>{message}</faultstring>\
         <detail>{detail}</detail></soapenv:Fault>"
    );
    let response = envelope(StatusCode::INTERNAL_SERVER_ERROR, &body);
    Answered { response, outcome: kind.to_string() }
}

/// What something in front of the server answers when it is not there.
pub(crate) fn unavailable(status: u16) -> Answered {
    let mut response = Response::new(Bytes::from_static(b"the service is not there"));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Answered { response, outcome: status.to_string() }
}

fn envelope(status: StatusCode, body: &str) -> Response<Bytes> {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\
         <soapenv:Body>{body}</soapenv:Body></soapenv:Envelope>"
    );
    xml(status, text)
}

fn xml(status: StatusCode, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/xml; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The answer to a request that is not a call.
pub(crate) fn unreadable(problem: &str) -> Answered {
    failed(&Fault::new("InvalidRequest", problem))
}

/// The versions of the interface, for clients that ask before they speak.
pub(crate) fn versions(world: &World) -> Response<Bytes> {
    let version = |text: &String| Value::text(text.clone());
    let mut prior = String::new();
    for text in &world.about.prior_versions {
        version(text).write(&mut prior, "version");
    }
    let mut newest = String::new();
    version(&world.about.api_version).write(&mut newest, "version");
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<namespaces version=\"1.0\"><namespace>\
         <name>urn:vim25</name>{newest}<priorVersions>{prior}</priorVersions>\
         </namespace></namespaces>"
    );
    xml(StatusCode::OK, text)
}
