//! Notebooks of claims that outlive processes, as the API server does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use joiner_core::label::Labels;
use tokio::sync::Notify;

use super::Mishap;
use crate::{
    CloudError,
    notebook::{ClaimAnnotations, Notebook},
    order::{ClaimId, Order},
};

/// The annotations of every claim of a bench. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Notebooks(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    kept: Mutex<BTreeMap<ClaimId, Labels>>,
    mishap: Mutex<Option<(Mishap, u32)>>,
    killed: Notify,
}

impl Notebooks {
    /// The order as a process is given it now: with what is kept for its claim, and its notebook.
    pub fn equip(&self, order: &Order) -> Order {
        let page = Page { notebooks: self.clone(), claim: order.claim.clone() };
        Order {
            kept: self.kept(&order.claim),
            notebook: Notebook::new(Arc::new(page)),
            ..order.clone()
        }
    }

    /// What is kept for a claim.
    pub fn kept(&self, claim: &ClaimId) -> Labels {
        lock(&self.0.kept).get(claim).cloned().unwrap_or_default()
    }

    /// Lets a write of a notebook go wrong, once so many have got through.
    pub(super) fn arm(&self, mishap: Mishap, after: u32) {
        *lock(&self.0.mishap) = Some((mishap, after));
    }

    /// Lets every write get through from now on. Says whether one had gone wrong.
    pub(super) fn disarm(&self) -> bool {
        lock(&self.0.mishap).take().is_none()
    }

    /// Ends when a mishap kills the process that writes.
    pub(super) async fn killed(&self) {
        self.0.killed.notified().await;
    }

    fn strike(&self) -> Option<Mishap> {
        let mut armed = lock(&self.0.mishap);
        match armed.as_mut() {
            Some((_, skip)) if *skip > 0 => {
                *skip -= 1;
                None
            }
            _ => armed.take().map(|(mishap, _)| mishap),
        }
    }
}

/// One claim's part of the notebooks.
struct Page {
    notebooks: Notebooks,
    claim: ClaimId,
}

impl Page {
    fn store(&self, annotations: Labels) {
        let mut kept = lock(&self.notebooks.0.kept);
        kept.entry(self.claim.clone()).or_default().extend(annotations);
    }

    async fn die<T>(&self) -> T {
        self.notebooks.0.killed.notify_one();
        std::future::pending().await
    }
}

#[async_trait]
impl ClaimAnnotations for Page {
    async fn write(&self, annotations: Labels) -> Result<(), CloudError> {
        let lost = || CloudError::Unknown("the API server did not answer".to_owned());
        match self.notebooks.strike() {
            None => {
                self.store(annotations);
                Ok(())
            }
            Some(Mishap::KilledBefore) => self.die().await,
            Some(Mishap::KilledAfter) => {
                self.store(annotations);
                self.die().await
            }
            Some(Mishap::AnswerLost) => {
                self.store(annotations);
                Err(lost())
            }
            Some(Mishap::NoAnswer | Mishap::Failed) => Err(lost()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
