//! A word to everybody that it is time to end.

use std::sync::Arc;

use tokio::sync::watch;

/// Whether it is time to end; clones hear the same word.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

/// Who can say that it is time to end.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Somebody who can say so, and those who hear it.
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
    /// Nobody will ever say so.
    pub fn never() -> Self {
        Stopper::new().1
    }

    /// Waits for the word.
    pub async fn asked(&self) {
        let mut heard = self.0.clone();
        // Where nobody is left who could say it, it is never said.
        if heard.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
