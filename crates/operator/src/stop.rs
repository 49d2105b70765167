//! The signal to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Whether it is time to end; clones hear the same word.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

/// The sender of the signal.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// A sender and its receiver.
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(Arc::new(sender)), Stop(receiver))
    }

    /// It is time to end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// A signal that never comes.
    pub fn never() -> Self {
        Stopper::new().1
    }

    /// Waits for the word.
    pub async fn asked(&self) {
        let mut heard = self.0.clone();
        // Without a sender the signal never comes.
        if heard.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
