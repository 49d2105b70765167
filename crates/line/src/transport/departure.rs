//! Whether a request may have reached its server, and whether it may be sent again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use http::Request;

/// When a request may be sent again. It travels among the request's extensions; without it the
/// request's method decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// The request changes nothing, or changes it once however often it is sent.
    Always,
    /// The request changes something: it is sent again only where no byte of it left.
    WhereUnsent,
}

impl Repeat {
    /// What is known of a request.
    pub fn of(request: &Request<Bytes>) -> Self {
        let by_method = if request.method().is_safe() { Self::Always } else { Self::WhereUnsent };
        request.extensions().get().copied().unwrap_or(by_method)
    }
}

/// Tells, of a request whose sender gave up, whether a byte of it may have left.
///
/// It travels among the request's extensions. A transport that knows better says that the request
/// is held; any other leaves it as it is: the request may have left.
#[derive(Debug, Clone, Default)]
pub struct Departure(Arc<AtomicBool>);

impl Departure {
    /// The request is certain to be held back until [`Departure::leaves`].
    pub fn holds(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// From now on bytes of the request may leave.
    pub fn leaves(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether no byte of the request has left.
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
