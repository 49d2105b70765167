//! Which cluster this is. Names of clusters may be given twice; the UID of the namespace `kube-system`
//! is each cluster's own for as long as it lives.

use std::{sync::Arc, time::Duration};

use joiner_clock::Clock;
use k8s_openapi::api::core::v1::Namespace;
use tokio::sync::watch;

use crate::{
    cluster::Cluster,
    probes::{NotReady, Readiness},
    trouble::Trouble,
};

/// The part of readiness that is about knowing which cluster this is.
pub const IDENTITY: &str = "identity";
/// The namespace that every cluster has from its first start on.
const NAMESPACE: &str = "kube-system";
/// When it is asked for again. An API server that starts anew is back within seconds.
const AGAIN: Duration = Duration::from_secs(5);

/// Which cluster this is, once it is known. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Identity(Arc<watch::Sender<Option<String>>>);

impl Identity {
    /// One that is known already.
    pub fn of(uid: impl Into<String>) -> Self {
        Self(Arc::new(watch::Sender::new(Some(uid.into()))))
    }

    /// Asks until it is known, and says in `readiness` what is in the way.
    pub(crate) async fn learn(&self, cluster: &Cluster, clock: &Clock, readiness: &Readiness) {
        let mut told = String::new();
        loop {
            let trouble = match read(cluster).await {
                Ok(uid) => {
                    self.0.send_replace(Some(uid));
                    return readiness.ready(IDENTITY);
                }
                Err(trouble) => trouble.told(),
            };
            let missing = NotReady::Other {
                problem: format!(
                    "it is not known which cluster this is, so nothing is done: {trouble}"
                ),
                remedy: format!(
                    "it is tried again; it takes the namespace {NAMESPACE}, and the verb get on it"
                ),
            };
            if told != trouble {
                tracing::error!("{missing}");
                told = trouble;
            }
            readiness.set(IDENTITY, vec![missing]);
            clock.sleep(AGAIN).await;
        }
    }

    /// The UID, once it is known.
    pub(crate) async fn known(&self) -> String {
        let mut watching = self.0.subscribe();
        loop {
            if let Some(uid) = watching.borrow_and_update().clone() {
                return uid;
            }
            // The sender lives as long as `self`.
            if watching.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Confirms that the API server still belongs to the same cluster. Another cluster may have
    /// taken its address, and it has no record of this cluster's instances.
    pub(crate) async fn confirm(&self, cluster: &Cluster) -> Result<(), Trouble> {
        let now = read(cluster).await?;
        match &*self.0.borrow() {
            Some(known) if *known != now => Err(Trouble::Object(format!(
                "the namespace {NAMESPACE} has the UID {now}, and had {known} when this process \
                 started: the API server is another cluster's now, so nothing is removed; start this \
                 process anew, if that is meant"
            ))),
            _ => Ok(()),
        }
    }
}

async fn read(cluster: &Cluster) -> Result<String, Trouble> {
    let namespace: Option<Namespace> = cluster.get(NAMESPACE).await?;
    let uid = namespace.and_then(|found| found.metadata.uid).filter(|uid| !uid.is_empty());
    uid.ok_or_else(|| Trouble::Object(format!("there is no namespace {NAMESPACE} with a UID")))
}
