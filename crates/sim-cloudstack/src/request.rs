//! A request as it came: parameters of the query and of the form.

pub(crate) mod signature;

use http::{Method, Request};
use percent_encoding::percent_decode_str;

/// How long a request line may be; the header block of the real server has 8 KiB.
const URI_MAX: usize = 8_192;

/// A parameter as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// With the case of its letters, which the signature depends on.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The parameters of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) sent: Vec<Sent>,
    pub(crate) is_get: bool,
    /// Names that were sent more than once.
    pub(crate) repeated: Vec<String>,
}

/// Why a request does not reach the command layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotApi {
    /// Another path.
    NotFound,
    /// Neither GET nor POST.
    Method,
    /// A request line that is too long.
    UriTooLong,
}

impl NotApi {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Method => 405,
            Self::UriTooLong => 414,
        }
    }
}

impl Asked {
    /// Reads the parameters of a request to the API.
    pub(crate) fn read<B: AsRef<[u8]>>(request: &Request<B>) -> Result<Self, NotApi> {
        let uri = request.uri();
        if uri.path() != "/client/api" {
            return Err(NotApi::NotFound);
        }
        if uri.path_and_query().is_some_and(|all| all.as_str().len() > URI_MAX) {
            return Err(NotApi::UriTooLong);
        }
        let is_get = request.method() == Method::GET;
        if !is_get && request.method() != Method::POST {
            return Err(NotApi::Method);
        }
        let mut asked = Self { sent: Vec::new(), is_get, repeated: Vec::new() };
        // Of a name that is in the query several times the last one counts, in a form the first.
        for sent in pairs(uri.query().unwrap_or_default()) {
            match asked.sent.iter_mut().find(|known| known.name == sent.name) {
                Some(known) => {
                    asked.repeated.push(sent.name);
                    known.value = sent.value;
                }
                None => asked.sent.push(sent),
            }
        }
        let form = if is_get { "" } else { str::from_utf8(request.body().as_ref()).unwrap_or("") };
        for sent in pairs(form) {
            if asked.sent.iter().any(|known| known.name == sent.name) {
                asked.repeated.push(sent.name);
            } else {
                asked.sent.push(sent);
            }
        }
        Ok(asked)
    }

    /// The value of a parameter, whose name is compared without case.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let sent = self.sent.iter().find(|sent| sent.name.eq_ignore_ascii_case(name));
        sent.map(|sent| sent.value.as_str())
    }
}

fn pairs(text: &str) -> impl Iterator<Item = Sent> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Sent { name: decoded(name), value: decoded(value) }
    })
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
