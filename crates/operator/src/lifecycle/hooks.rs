//! What else has to happen before a node counts as registered.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::join_all;
use joiner_api::node_claim::NodeClaim;
use joiner_core::label::Labels;

use crate::trouble::Trouble;

/// Something that a provider has to do between a node's joining and its use.
#[async_trait]
pub trait RegistrationHook: std::fmt::Debug + Send + Sync {
    /// What the claim's condition calls it while it is waited for.
    fn name(&self) -> &str;

    /// Does what there is to do for a claim whose node has joined. It is asked again until it is
    /// done, also after it was.
    async fn registered(&self, claim: &NodeClaim) -> Result<Hooked, Trouble>;
}

/// How far a hook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hooked {
    /// Done. The claim and its node get these labels.
    Done(Labels),
    /// Not yet; ask again after this long.
    NotYet(Duration),
}

/// What all hooks together have to say.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Labels that the claim gets.
    pub(super) labels: Labels,
    /// Hooks that are not done.
    pub(super) pending: Vec<String>,
    /// When to ask again.
    pub(super) again: Option<Duration>,
    /// What went wrong.
    pub(super) trouble: Option<Trouble>,
}

/// Asks all hooks at once.
pub(super) async fn ask(hooks: &[Arc<dyn RegistrationHook>], claim: &NodeClaim) -> Heard {
    let answers = join_all(hooks.iter().map(|hook| hook.registered(claim))).await;
    let mut heard = Heard::default();
    for (hook, answer) in hooks.iter().zip(answers) {
        match answer {
            Ok(Hooked::Done(labels)) => heard.labels.extend(labels),
            Ok(Hooked::NotYet(again)) => {
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
