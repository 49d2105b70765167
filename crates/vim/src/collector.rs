//! A property collector: reads properties of objects, and reports their changes.

use std::{sync::Arc, time::Duration};

use crate::{
    MoRef, VimError,
    client::Seat,
    properties::{self, Of, PAGE, Updates},
    soap::Call,
};

/// How long it takes at least to be told that nothing happened.
const PAUSE: Duration = Duration::from_secs(1);

/// A separate collector of changes in the server, so that other waits never block it.
#[derive(Debug)]
pub(crate) struct Collector {
    seat: Seat,
    reference: MoRef,
    paths: Vec<Arc<str>>,
    /// The state that was told last; empty before the first.
    version: String,
    /// Whether the answer to a query was dropped. Its changes are lost then, so such a collector must
    /// be replaced.
    asked: bool,
}

impl Collector {
    /// Makes a collector in the server.
    pub(crate) async fn new(seat: &Seat, of: Of<'_>, paths: &[Arc<str>]) -> Result<Self, VimError> {
        let root = &seat.content().property_collector;
        let made = seat.call(&Call::new(root, "CreatePropertyCollector", |_| {})).await?;
        let collector = Self {
            seat: seat.clone(),
            reference: made.reference()?,
            paths: paths.to_vec(),
            version: String::new(),
            asked: false,
        };
        let filter = Call::new(&collector.reference, "CreateFilter", |xml| {
            properties::filter(xml, "spec", of, paths);
            xml.leaf("partialUpdates", false);
        });
        match seat.call(&filter).await {
            Ok(_) => Ok(collector),
            Err(error) => {
                if error.fault().is_some() {
                    collector.destroy().await;
                }
                Err(error)
            }
        }
    }

    /// Waits until there is something new, or for as long as the server waits. The first time all
    /// there is is new.
    pub(crate) async fn wait(&mut self) -> Result<Option<Updates>, VimError> {
        let call = Call::new(&self.reference, "WaitForUpdatesEx", |xml| {
            xml.leaf("version", &self.version);
            xml.nested("options", |xml| {
                xml.leaf("maxWaitSeconds", self.seat.long_poll().as_secs());
                xml.leaf("maxObjectUpdates", PAGE);
            });
        });
        let began = self.seat.clock().running();
        self.asked = true;
        let updates = properties::updates(&self.seat.long_call(&call).await?, &self.paths)?;
        self.asked = false;
        if let Some(updates) = &updates {
            self.version.clone_from(&updates.version);
        }
        if updates.as_ref().is_none_or(|updates| updates.objects.is_empty()) {
            // A server that does not wait must not be asked without a pause.
            let took = self.seat.clock().running().saturating_sub(began);
            self.seat.clock().sleep(PAUSE.saturating_sub(took)).await;
        }
        Ok(updates)
    }

    /// Whether it can be asked again.
    pub(crate) fn is_of_use(&self) -> bool {
        !self.asked
    }

    /// Ends the collector in the server. Best effort: it ends with the session at the latest.
    pub(crate) async fn destroy(self) {
        let call = Call::new(&self.reference, "DestroyPropertyCollector", |_| {});
        if let Err(error) = self.seat.call(&call).await {
            tracing::debug!(%error, "a collector in vCenter is left to its session");
        }
    }

    /// Records an error: the next query starts with a new collector.
    pub(crate) fn failed(&mut self, error: &VimError) {
        self.asked = true;
        if error.session_ended() {
            self.seat.ended();
        }
    }
}
