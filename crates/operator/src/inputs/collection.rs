//! The deletion of tokens: each is deleted as soon as no claim needs it.

use std::time::Duration;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::bootstrap::token::{CLAIM_LABEL, CLAIM_UID_LABEL, ClaimState, Fate, fate};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Preconditions};

use super::tokens::{IssuedToken, secrets};
use crate::{
    claims::{is_deleting, uid},
    conditions::{Conditioned, REGISTERED},
    context::Context,
    controller::{Controller, Next},
    rounds::Rounds,
    trouble::Trouble,
    world::{Change, World},
};

/// How often to look for tokens that another process left. The value was chosen and not measured
/// separately.
const SWEEP_EVERY: Duration = Duration::from_hours(1);
/// How often to check whether a class uses tokens. The value was chosen and not measured
/// separately.
const LOOK_AGAIN: Duration = Duration::from_mins(5);

/// Deletes the token of each claim that no longer needs it. Its keys are claim UIDs.
#[derive(Debug)]
pub struct TokenCollection(pub Context);

impl Controller for TokenCollection {
    type Key = String;

    const NAME: &'static str = "nodeclaim.jointoken";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(String)) {
        let Change::NodeClaim(diff) = change else { return };
        let identity = uid(&diff.latest().metadata);
        let state = diff.new.as_deref().map_or(ClaimState::Gone, state_of);
        if self.0.inputs.0.issued.of(identity).is_some() && matches!(fate(state), Fate::Delete(_)) {
            add(identity.to_owned());
        }
    }

    async fn reconcile(&self, identity: &String) -> Result<Next, Trouble> {
        if let Some(token) = self.0.inputs.0.issued.of(identity) {
            settle(&self.0, identity, &token).await?;
        }
        Ok(Next::Done)
    }
}

/// Finds tokens that any process left behind.
#[derive(Debug)]
pub struct TokenSweep(pub Context);

impl Rounds for TokenSweep {
    const NAME: &'static str = "nodeclaim.jointoken.garbagecollection";

    async fn round(&self) -> Result<Duration, Trouble> {
        if !instances_join(&self.0) {
            return Ok(LOOK_AGAIN);
        }
        let what = || "list Secrets in kube-system".to_owned();
        let params = ListParams::default().labels(CLAIM_UID_LABEL);
        let call = secrets(&self.0);
        let listed = match self.0.cluster.call_if_allowed(what, call.list(&params)).await {
            Ok(listed) => listed,
            // A process without permission to list them creates none, or lets them expire.
            Err(trouble) if trouble.code() == Some(403) => {
                tracing::debug!("join tokens that were left behind are not looked for: {trouble}");
                return Ok(SWEEP_EVERY);
            }
            Err(trouble) => return Err(trouble),
        };
        // A failure with one token does not stop the others.
        let mut trouble = None;
        for (identity, token) in listed.items.iter().filter_map(made_by_us) {
            self.0.inputs.0.issued.remember(&identity, token.clone());
            if let Err(other) = settle(&self.0, &identity, &token).await {
                trouble.get_or_insert(other);
            }
        }
        trouble.map_or(Ok(SWEEP_EVERY), Err)
    }
}

/// Whether a class exists whose instances join with user data from Joiner.
fn instances_join(context: &Context) -> bool {
    let joins = |class: &joiner_cloud::class::NodeClass| {
        let provider = context.providers.serving(&class.group, &class.kind);
        provider.is_some_and(|provider| {
            let needs = provider.needs(class);
            // User data in a Secret may need a token.
            needs.joining.is_some() || !needs.secrets.is_empty()
        })
    };
    context.cache.read(|world| world.node_classes.values().any(|class| joins(class)))
}

/// The claim UID and token of a Secret, if Joiner created it for a claim.
fn made_by_us(secret: &Secret) -> Option<(String, IssuedToken)> {
    let name = secret.metadata.name.clone()?;
    let label = |key: &str| secret.metadata.labels.as_ref()?.get(key).cloned();
    name.starts_with("bootstrap-token-").then_some(())?;
    let token =
        IssuedToken { name, uid: uid(&secret.metadata).to_owned(), claim: label(CLAIM_LABEL)? };
    Some((label(CLAIM_UID_LABEL)?, token))
}

/// The progress of a token's claim.
fn state_of(claim: &NodeClaim) -> ClaimState {
    if claim.holds(REGISTERED) {
        ClaimState::Registered
    } else if is_deleting(claim) {
        ClaimState::Leaving
    } else {
        ClaimState::Joining
    }
}

/// Deletes a token's Secret if it is no longer needed; the UID protects a new Secret of the same
/// name.
async fn settle(context: &Context, identity: &str, token: &IssuedToken) -> Result<(), Trouble> {
    let Fate::Delete(why) = fate(claim_state(context, identity, &token.claim).await?) else {
        return Ok(());
    };
    let what = || format!("delete Secret kube-system/{}", token.name);
    let preconditions = Preconditions { uid: Some(token.uid.clone()), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let call = secrets(context);
    match context.cluster.call(what, call.delete(&token.name, &params)).await {
        Ok(_) => tracing::debug!(NodeClaim = token.claim, "deleted join token: {why}"),
        // It is gone, or another Secret has its name.
        Err(trouble) if trouble.is_not_found() || trouble.is_conflict() => {}
        Err(trouble) => return Err(trouble),
    }
    context.inputs.0.issued.forget(identity);
    Ok(())
}

/// The progress of a claim. A claim that the cache lacks is read from the API server, because a
/// watch may be slow.
async fn claim_state(context: &Context, identity: &str, name: &str) -> Result<ClaimState, Trouble> {
    let is_it = |claim: &NodeClaim| uid(&claim.metadata) == identity;
    let known = context.cache.read(|world| world.node_claims.named(name).cloned());
    if let Some(claim) = known.filter(|claim| is_it(claim)) {
        return Ok(state_of(&claim));
    }
    let found: Option<NodeClaim> = context.cluster.get(name).await?;
    Ok(found.filter(is_it).map_or(ClaimState::Gone, |claim| state_of(&claim)))
}
