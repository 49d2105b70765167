//! Work that clouds finish once a node is initialized, such as removing the image that configured
//! its guest.

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::progress::Progress;

use crate::{
    claims::{self, is_deleting, provider_id},
    cluster::Lock,
    conditions::{Conditioned, INITIALIZED},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// What a claim's mark says where the cloud does not say it itself.
const SETTLED: &str = "true";

/// Makes clouds finish their work for initialized nodes.
#[derive(Debug)]
pub struct Settlement(pub Context);

impl Controller for Settlement {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.settlement";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodeClaim(diff) = change
            && let Some(claim) = &diff.new
            && self.missing_mark(claim).is_some()
        {
            add(claim.key());
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let known = self.0.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = known else { return Ok(Next::Done) };
        let (Some(mark), Some(provider)) = (self.missing_mark(&claim), self.0.provider_of(&claim))
        else {
            return Ok(Next::Done);
        };
        let (named, Some(id)) = (claims::id(&claim), provider_id(&claim)) else {
            return Ok(Next::Done);
        };
        let settle = provider.settled(&named, id);
        match self.0.ask(Self::NAME, "Settled", provider.as_ref(), settle).await? {
            Progress::NotYet(wait) => Ok(Next::After(wait)),
            Progress::Done(annotations) => {
                let mut settled = NodeClaim::clone(&claim);
                let own = settled.metadata.annotations.get_or_insert_default();
                own.extend(annotations);
                own.entry(mark.to_owned()).or_insert_with(|| SETTLED.to_owned());
                // A claim that has changed meanwhile is settled once more.
                self.0.cluster.patch(&*claim, &settled, Lock::Version).await?;
                Ok(Next::Done)
            }
        }
    }
}

impl Settlement {
    /// The annotation that a claim gets when its cloud has nothing left to do; none where it has it,
    /// or gets none.
    fn missing_mark(&self, claim: &NodeClaim) -> Option<&'static str> {
        if is_deleting(claim) || !claim.holds(INITIALIZED) {
            return None;
        }
        let mark = self.0.provider_of(claim)?.settled_mark()?;
        let own = claim.metadata.annotations.as_ref();
        own.is_none_or(|own| !own.contains_key(mark)).then_some(mark)
    }
}
