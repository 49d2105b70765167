//! stub
use crate::{body::Body, registry::Registry};
use bytes::Bytes;
use http::{Request, Response};
pub(crate) fn answer(
    _r: &Registry,
    _p: &str,
    _q: &Request<Bytes>,
    _a: Option<&str>,
) -> Option<Response<Body>> {
    None
}
