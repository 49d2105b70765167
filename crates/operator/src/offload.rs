//! Work that takes long and waits for nothing.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::spawn_blocking,
};

use crate::probes::Liveness;

/// Does work beside the threads that everything else runs on, so that leases are renewed and probes
/// answered meanwhile. Where there is one thread only, as in simulations, it is done at once: what
/// happens does not depend on how fast a thread is.
///
/// `name` is the part of the process that waits for it: `/healthz` says whose work does not end.
pub(crate) async fn offload<R: Send + 'static>(
    liveness: &Liveness,
    name: &'static str,
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    let calculation = liveness.calculates(name);
    // Who stops waiting does not stop the work.
    let work = move || {
        let _calculation = calculation;
        work()
    };
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => work(),
        _ => match spawn_blocking(work).await {
            Ok(done) => done,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        },
    }
}
