//! What an answer says besides its body.

use std::borrow::Cow;

use http::{HeaderMap, Response, header::DATE};
use hyper::ext::ReasonPhrase;
use jiff::Timestamp;

/// The words behind the status, as the server wrote them. A server that wrote none gets the usual
/// words of the status, or nothing where the status has none.
///
/// Some servers put their error message there. A server in the process does the same with
/// [`ReasonPhrase`] among the response's extensions.
pub fn reason<T>(response: &Response<T>) -> Cow<'_, str> {
    let written = response.extensions().get::<ReasonPhrase>().map(ReasonPhrase::as_bytes);
    match written {
        Some(written) if !written.is_empty() => String::from_utf8_lossy(written),
        _ => Cow::Borrowed(response.status().canonical_reason().unwrap_or_default()),
    }
}

/// The server's time by the header `Date`, to the second. None where the header is missing or
/// cannot be read.
pub fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(date).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(status: u16, written: Option<&'static [u8]>) -> String {
        let mut response = Response::builder().status(status).body(()).unwrap();
        if let Some(written) = written {
            response.extensions_mut().insert(ReasonPhrase::from_static(written));
        }
        reason(&response).into_owned()
    }

    #[test]
    fn the_reason_is_what_the_server_wrote_or_what_the_status_means() {
        assert_eq!(reason_of(500, Some(b"VM 100 not running")), "VM 100 not running");
        assert_eq!(reason_of(500, Some(b"")), "Internal Server Error");
        assert_eq!(reason_of(403, None), "Forbidden");
        assert_eq!(reason_of(596, None), "");
    }

    #[test]
    fn the_time_is_read_and_nonsense_is_no_time() {
        let time = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, http::HeaderValue::from_static(text));
            server_time(&headers).map(|time| time.to_string())
        };
        assert_eq!(time("Sun, 06 Nov 1994 08:49:37 GMT").as_deref(), Some("1994-11-06T08:49:37Z"));
        assert_eq!(time("yesterday"), None);
        assert_eq!(server_time(&HeaderMap::new()), None);
    }
}
