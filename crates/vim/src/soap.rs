//! Calls and their answers as SOAP writes them.

use std::fmt::{self, Debug, Formatter};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};

use crate::{
    Element, Fault, MoRef, VimError,
    xml::{Reader, Unreadable, Writer},
};

/// The service that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// The vCenter itself.
    Vim,
    /// The service for storage policies.
    Policies,
}

impl Service {
    /// Where requests to it go.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Vim => "/sdk",
            Self::Policies => "/pbm",
        }
    }

    /// The namespace of its words.
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::Vim => "urn:vim25",
            Self::Policies => "urn:pbm",
        }
    }
}

/// Where the body of a request begins.
const BODY: &str = "<soapenv:Body>";

/// A call: what is asked of which object.
pub(crate) struct Call {
    /// The service that is called.
    pub(crate) service: Service,
    /// The method's name.
    pub(crate) method: &'static str,
    /// The whole request, but for what the session adds to it.
    envelope: String,
}

impl Call {
    /// A method of an object, and what is said with it.
    pub(crate) fn new(
        object: &MoRef,
        method: &'static str,
        arguments: impl FnOnce(&mut Writer),
    ) -> Self {
        Self::to(Service::Vim, object, method, arguments)
    }

    /// The same of an object of another service.
    pub(crate) fn to(
        service: Service,
        object: &MoRef,
        method: &'static str,
        arguments: impl FnOnce(&mut Writer),
    ) -> Self {
        let mut xml = Writer::default();
        xml.piece(concat!(
            r#"<?xml version="1.0" encoding="UTF-8"?>"#,
            r#"<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/""#,
            r#" xmlns:xsd="http://www.w3.org/2001/XMLSchema""#,
            r#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#,
        ));
        xml.piece(&format!(r#" xmlns="{}">{BODY}"#, service.namespace()));
        xml.nested(method, |xml| {
            xml.reference("_this", object);
            arguments(xml);
        });
        xml.piece("</soapenv:Body></soapenv:Envelope>");
        Self { service, method, envelope: xml.finish() }
    }

    /// The whole request. Services beside the vCenter itself ignore cookies and require the session
    /// in the envelope.
    pub(crate) fn envelope(&self, cookie: Option<&HeaderValue>) -> String {
        let key = cookie.filter(|_| self.service != Service::Vim).and_then(|cookie| {
            let (_, key) = cookie.to_str().ok()?.split_once('=')?;
            Some(key.trim_matches('"'))
        });
        let Some(key) = key else { return self.envelope.clone() };
        let mut header = Writer::default();
        header.nested("soapenv:Header", |xml| xml.leaf("vcSessionCookie", key));
        self.envelope.replacen(BODY, &format!("{}{BODY}", header.finish()), 1)
    }
}

impl Debug for Call {
    /// Without the request, which may have a password or a join token in it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.method).finish_non_exhaustive()
    }
}

impl From<Unreadable> for VimError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Malformed(unreadable.to_string())
    }
}

/// What a server answered to a call that it did not refuse.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Bytes,
}

impl Answer {
    /// The answer, or the refusal that it is.
    pub(crate) fn of(response: Response<Bytes>) -> Result<Self, VimError> {
        let status = response.status();
        let answer = Self { body: response.into_body() };
        match status {
            StatusCode::OK => {
                // Some servers refuse with a status that says success.
                answer.inside().map(|_| ())?;
                Ok(answer)
            }
            StatusCode::INTERNAL_SERVER_ERROR => match answer.inside() {
                Err(VimError::Fault(fault)) => Err(VimError::Fault(fault)),
                // The failure happened before a fault could be written.
                _ => Err(VimError::Http(status.as_u16())),
            },
            other => Err(VimError::Http(other.as_u16())),
        }
    }

    /// A reader inside of the answer's element, before what is returned.
    pub(crate) fn inside(&self) -> Result<Reader<'_>, VimError> {
        let text = std::str::from_utf8(&self.body)
            .map_err(|error| VimError::Malformed(format!("it is not UTF-8: {error}")))?;
        let mut reader = Reader::new(text);
        if !reader.enter("Envelope")? || !reader.enter("Body")? {
            return Err(VimError::Malformed("it is no SOAP envelope".to_owned()));
        }
        let empty = || VimError::Malformed("the envelope is empty".to_owned());
        let element = reader.next_child()?.ok_or_else(empty)?;
        if &*element.name == "Fault" {
            return Err(VimError::Fault(Fault::soap(&reader.finish(element)?)));
        }
        Ok(reader)
    }

    /// All that is returned, as trees.
    pub(crate) fn returned_all(&self) -> Result<Vec<Element>, VimError> {
        let mut reader = self.inside()?;
        let mut returned = Vec::new();
        while let Some(element) = reader.next_child()? {
            if &*element.name == "returnval" {
                returned.push(reader.finish(element)?);
            } else {
                reader.skip()?;
            }
        }
        Ok(returned)
    }

    /// What is returned, where something is.
    pub(crate) fn returned(&self) -> Result<Option<Element>, VimError> {
        Ok(self.returned_all()?.into_iter().next())
    }

    /// The reference that is returned, where one is.
    pub(crate) fn returned_reference(&self) -> Result<Option<MoRef>, VimError> {
        Ok(self.returned()?.and_then(|element| element.reference()))
    }

    /// The reference that has to be returned.
    pub(crate) fn reference(&self) -> Result<MoRef, VimError> {
        let missing = || VimError::Malformed("no reference is returned".to_owned());
        self.returned_reference()?.ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests;
