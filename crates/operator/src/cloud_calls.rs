//! Calls to clouds, timed and counted, and the removal of a claim's instance.

use std::time::Duration;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudError, CloudProvider, Deletion};

use crate::{
    attempts::Attempts,
    claims::{self, provider_id, uid},
    context::Context,
    queue::Backoff,
};

/// How long to wait before a cloud is asked again whether an instance is gone.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How long to wait before a removal that the cloud has refused is tried again.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// When clouds may be asked again to remove the instance of a claim. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Removals(Attempts);

impl Removals {
    /// The claim with this identity is gone.
    pub(crate) fn forget(&self, identity: &str) {
        self.0.forget(identity);
    }
}

/// How far the removal of a claim's instance has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The cloud was asked a moment ago, and is asked again after this time.
    Waits(Duration),
    /// The cloud has agreed, and is asked again after this time whether the instance is gone.
    Requested(Duration),
    /// There is no instance any more.
    Gone,
}

impl Context {
    /// Makes a call to a cloud on behalf of a controller. Karpenter's dashboards show how long each
    /// method takes and how often it fails.
    pub async fn ask<R>(
        &self,
        controller: &str,
        method: &str,
        provider: &dyn CloudProvider,
        call: impl Future<Output = Result<R, CloudError>>,
    ) -> Result<R, CloudError> {
        let began = self.clock.running();
        let answer = call.await;
        let took = self.clock.running().saturating_sub(began);
        let name = provider.name();
        let duration = self.metrics.cloudprovider_duration(controller, method, name);
        duration.observe(took.as_secs_f64());
        if let Err(error) = &answer {
            let kind = error.metric_name();
            self.metrics.cloudprovider_errors(controller, method, name, kind).inc();
        }
        answer
    }

    /// Has the instance of a claim removed, on behalf of a controller. This is the only place where
    /// the instance of a known claim is removed, so that all controllers share one pace for it.
    pub(crate) async fn remove_instance(
        &self,
        controller: &str,
        provider: &dyn CloudProvider,
        claim: &NodeClaim,
    ) -> Result<Removal, CloudError> {
        let (attempts, identity) = (&self.removals.0, uid(&claim.metadata));
        if let Some(left) = attempts.wait(identity) {
            return Ok(Removal::Waits(left));
        }
        let id = claims::id(claim);
        let delete = provider.delete(&id, provider_id(claim));
        match self.ask(controller, "Delete", provider, delete).await {
            Ok(Deletion::Requested) => {
                attempts.again(identity, self.clock.instant_after(ASK_AGAIN));
                Ok(Removal::Requested(ASK_AGAIN))
            }
            Ok(Deletion::Gone) => {
                attempts.forget(identity);
                Ok(Removal::Gone)
            }
            Err(error) => {
                attempts.failed(identity, BACKOFF, |wait| self.clock.instant_after(wait));
                Err(error)
            }
        }
    }
}
