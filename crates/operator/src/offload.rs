//! Work that takes long and waits for nothing.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::spawn_blocking,
};

/// Does work beside the threads that everything else runs on, so that leases are renewed and probes
/// answered meanwhile. Where there is one thread only, as in simulations, it is done at once: what
/// happens does not depend on how fast a thread is.
pub(crate) async fn offload<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => work(),
        _ => match spawn_blocking(work).await {
            Ok(done) => done,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        },
    }
}
