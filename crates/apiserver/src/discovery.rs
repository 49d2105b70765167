//! stub
use crate::{Server, body::Body, registry::Registry, route::Route};
use bytes::Bytes;
use http::{Request, Response};
pub(crate) fn answer(
    _s: &Server,
    _r: &Registry,
    _route: &Route<'_>,
    _q: &Request<Bytes>,
    _a: Option<&str>,
) -> Option<Response<Body>> {
    None
}
