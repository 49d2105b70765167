//! Calls to clouds, timed and counted.

use joiner_cloud::{CloudError, CloudProvider};

use crate::context::Context;

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
}
