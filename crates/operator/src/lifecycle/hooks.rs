//! Registration hooks: conditions of clouds that delay the registration of a node.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudError,
    progress::Progress,
    registration::{JoinedClaim, RegistrationHook},
};
use joiner_core::label::Labels;
use k8s_openapi::api::core::v1::Node;

use crate::claims::{self, name};

/// The combined result of all hooks.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Labels to add to the claim.
    pub(super) labels: Labels,
    /// Hooks that are still pending.
    pub(super) pending: Vec<String>,
    /// When to call them again.
    pub(super) again: Option<Duration>,
    /// The first error.
    pub(super) trouble: Option<CloudError>,
}

/// Calls all hooks concurrently for a claim and its node.
pub(super) async fn ask(
    hooks: &[Arc<dyn RegistrationHook>],
    claim: &NodeClaim,
    node: &Node,
) -> Heard {
    let joined = JoinedClaim {
        claim: claims::id(claim),
        provider_id: claims::provider_id(claim).unwrap_or_default().to_owned(),
        node: name(&node.metadata).to_owned(),
        labels: claim.metadata.labels.clone().unwrap_or_default(),
        annotations: claim.metadata.annotations.clone().unwrap_or_default(),
    };
    let answers = join_all(hooks.iter().map(|hook| hook.registered(&joined))).await;
    let mut heard = Heard::default();
    for (hook, answer) in hooks.iter().zip(answers) {
        match answer {
            Ok(Progress::Done(labels)) => heard.labels.extend(labels),
            Ok(Progress::NotYet(again)) => {
                heard.pending.push(hook.name().to_owned());
                heard.again = Some(heard.again.map_or(again, |sooner| sooner.min(again)));
            }
            Err(trouble) => {
                heard.pending.push(hook.name().to_owned());
                heard.trouble.get_or_insert(trouble);
            }
        }
    }
    heard
}
