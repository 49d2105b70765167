//! Bootstrap tokens, one for each claim.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_cloud::{
    CloudError,
    bootstrap::{
        Facts, Secret,
        token::{
            self, Claim, FoundSecret, Lifetime, Token, TokenGroup, TokenSecret, TokenSource,
            TokenStep, next_step,
        },
    },
    order::ClaimId,
};
use k8s_openapi::{ByteString, api::core::v1, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, api::PostParams};

use crate::{claims::uid, context::Context, trouble::Trouble};

/// How often a write may conflict before the token is left for a later try. The value was chosen
/// and not measured separately.
const SURPRISES_MAX: u32 = 32;

/// Tokens whose claims may still need them, by claim UID. Clones share the same map.
#[derive(Debug, Clone, Default)]
pub(super) struct IssuedTokens(Arc<Mutex<BTreeMap<String, IssuedToken>>>);

/// The Secret of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssuedToken {
    /// Its name.
    pub(super) name: String,
    /// Its UID.
    pub(super) uid: String,
    /// The name of its claim.
    pub(super) claim: String,
}

impl IssuedTokens {
    pub(super) fn of(&self, claim_uid: &str) -> Option<IssuedToken> {
        self.lock().get(claim_uid).cloned()
    }

    pub(super) fn remember(&self, claim_uid: &str, token: IssuedToken) {
        self.lock().insert(claim_uid.to_owned(), token);
    }

    pub(super) fn forget(&self, claim_uid: &str) {
        self.lock().remove(claim_uid);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, IssuedToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The API of Secrets in the namespace of bootstrap tokens.
pub(super) fn secrets(context: &Context) -> Api<v1::Secret> {
    Api::namespaced(context.cluster.client().clone(), token::NAMESPACE)
}

/// The token of a claim's instance; none if it needs none.
pub(super) async fn token(
    context: &Context,
    claim: &ClaimId,
    facts: &Facts,
    group: Option<TokenGroup>,
    lifetime: Lifetime,
) -> Result<Option<Token>, CloudError> {
    match &facts.token {
        None => Ok(None),
        Some(TokenSource::Given(text)) => Ok(Some(Token::Given(text.clone()))),
        Some(TokenSource::Mint) => {
            let group = group.unwrap_or(TokenGroup::Distro(facts.distro));
            minted(context, claim, group, lifetime).await.map(Some)
        }
    }
}

/// The claim's own token, created if it does not exist. The Secret's name follows from the claim,
/// so a restarted process finds it.
async fn minted(
    context: &Context,
    claim: &ClaimId,
    group: TokenGroup,
    lifetime: Lifetime,
) -> Result<Token, CloudError> {
    let owner = Claim { name: &claim.name, uid: &claim.uid };
    let mut n = 0;
    for _ in 0..SURPRISES_MAX {
        let name = owner.secret_name(n);
        let what = || format!("get Secret {}/{name}", token::NAMESPACE);
        let found = context.cluster.call(what, secrets(context).get_opt(&name)).await;
        let found = found.map_err(|trouble| failed(&trouble))?;
        let random = context.random.secret().map_err(|error| CloudError::Create {
            reason: "JoinTokenFailed",
            message: format!(
                "no token can be made, since there is no chance to draw it by: {error}"
            ),
        })?;
        let seen = found.as_ref().map(as_found);
        let step =
            next_step(owner, n, seen.as_ref(), group, lifetime, random).map_err(|error| {
                CloudError::Create { reason: error.kind.reason(), message: error.to_string() }
            })?;
        let (issued, written) = match step {
            TokenStep::Reuse(token) => {
                if let Some(found) = &found {
                    remember(context, claim, found);
                }
                return Ok(Token::Minted(token));
            }
            TokenStep::Next(next) => {
                n = next;
                continue;
            }
            TokenStep::Create(issued) => {
                let what = || format!("create Secret {}/{name}", token::NAMESPACE);
                let (params, object) = (PostParams::default(), as_object(&issued.secret, None));
                let call = secrets(context);
                let written = context.cluster.call(what, call.create(&params, &object)).await;
                (issued, written)
            }
            TokenStep::Renew(issued) => {
                let what = || format!("update Secret {}/{name}", token::NAMESPACE);
                let object = as_object(&issued.secret, found.as_ref());
                let (params, call) = (PostParams::default(), secrets(context));
                let written =
                    context.cluster.call(what, call.replace(&name, &params, &object)).await;
                (issued, written)
            }
        };
        match written {
            Ok(written) => {
                remember(context, claim, &written);
                return Ok(Token::Minted(issued.token));
            }
            // Another process wrote first: its Secret is read next.
            Err(trouble) if trouble.is_conflict() || trouble.is_not_found() => {}
            Err(trouble) => return Err(failed(&trouble)),
        }
    }
    Err(CloudError::Create {
        reason: "JoinTokenFailed",
        message: format!(
            "the Secret of the token of NodeClaim {} changes all the time; look who writes Secrets \
             named bootstrap-token-… in {}",
            claim.name,
            token::NAMESPACE
        ),
    })
}

fn failed(trouble: &Trouble) -> CloudError {
    CloudError::Create { reason: "JoinTokenFailed", message: trouble.told() }
}

fn remember(context: &Context, claim: &ClaimId, secret: &v1::Secret) {
    let issued = IssuedToken {
        name: secret.metadata.name.clone().unwrap_or_default(),
        uid: uid(&secret.metadata).to_owned(),
        claim: claim.name.clone(),
    };
    context.inputs.0.issued.remember(&claim.uid, issued);
}

fn as_found(secret: &v1::Secret) -> FoundSecret {
    let data = secret.data.iter().flatten().filter_map(|(key, value)| {
        let text = String::from_utf8(value.0.clone()).ok()?;
        Some((key.clone(), Secret::new(text)))
    });
    FoundSecret { labels: secret.metadata.labels.clone().unwrap_or_default(), data: data.collect() }
}

/// The Secret to write; it replaces this one, if that exists.
fn as_object(secret: &TokenSecret, instead_of: Option<&v1::Secret>) -> v1::Secret {
    let data = secret
        .data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), ByteString(value.reveal().clone().into_bytes())));
    v1::Secret {
        metadata: ObjectMeta {
            name: Some(secret.name.clone()),
            namespace: Some(token::NAMESPACE.to_owned()),
            labels: Some(secret.labels.clone()),
            resource_version: instead_of.and_then(|old| old.metadata.resource_version.clone()),
            ..ObjectMeta::default()
        },
        type_: Some(secret.secret_type.to_owned()),
        data: Some(data.collect()),
        ..v1::Secret::default()
    }
}
