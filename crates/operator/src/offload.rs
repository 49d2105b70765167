//! Work that takes long and waits for nothing.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::spawn_blocking,
};

use crate::probes::Liveness;

/// Runs work on another thread, so that leases are renewed and probes answered meanwhile. With a
/// single-threaded runtime, as in simulations, it runs at once: the result must not depend on a
/// thread's speed.
///
/// `name` is the part of the process that waits. `/healthz` names it if the work does not end.
pub(crate) async fn offload<R: Send + 'static>(
    liveness: &Liveness,
    name: &'static str,
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    let calculation = liveness.calculates(name);
    // The work continues even if its caller stops waiting.
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
