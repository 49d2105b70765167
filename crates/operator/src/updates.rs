//! Instances whose class has changed in a way that they follow in place.
//!
//! A cloud says by a hash which changes these are. The hash that an instance is up to date with is
//! kept on its claim.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudProvider,
    class::{Difference, NodeClass, SpecHash, differing},
    progress::Progress,
};
use joiner_core::label::Labels;

use crate::{
    claims::{self, is_deleting, provider_id, refers_to},
    cluster::Lock,
    conditions::{Conditioned, LAUNCHED},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// Has instances updated in place.
#[derive(Debug)]
pub struct ClaimUpdate(pub Context);

/// An instance that is not up to date, as it is before each try.
struct Outdated {
    claim: Arc<NodeClaim>,
    class: Arc<NodeClass>,
    provider: Arc<dyn CloudProvider>,
    /// The hash that it is to be up to date with.
    hash: SpecHash,
}

impl Controller for ClaimUpdate {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.update";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodeClaim(diff) => diff.new.iter().for_each(|claim| add(claim.key())),
            Change::NodeClass(diff) => {
                let class = diff.latest();
                let claims = world.node_claims.values();
                claims
                    .filter(|claim| refers_to(claim.spec.node_class_ref.as_ref(), class))
                    .for_each(|claim| add(claim.key()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(outdated) = self.outdated(key) else { return Ok(Next::Done) };
        let Outdated { claim, class, provider, hash } = outdated;
        let (named, Some(id)) = (claims::id(&claim), provider_id(&claim)) else {
            return Ok(Next::Done);
        };
        let get = provider.get(&named, id);
        let found = self.0.ask(Self::NAME, "Get", provider.as_ref(), get).await?;
        // Garbage collection handles a claim without an instance.
        let Some(instance) = found else { return Ok(Next::Done) };
        let update = provider.update(&instance, &class);
        match self.0.ask(Self::NAME, "Update", provider.as_ref(), update).await {
            Ok(Progress::NotYet(wait)) => Ok(Next::After(wait)),
            Ok(Progress::Done(annotations)) => {
                self.write(key, &named.uid, annotations, &hash).await?;
                Ok(Next::Done)
            }
            Err(error) => {
                let about = Subject::of(&*claim);
                self.0.events.tell(Event::update_failed(&about, &error.to_string()));
                Err(error.into())
            }
        }
    }
}

impl ClaimUpdate {
    /// The claim and its class as they are now, if the instance is not up to date.
    fn outdated(&self, key: &Key) -> Option<Outdated> {
        let claim = self.0.cache.read(|world| world.node_claims.get(key).cloned())?;
        if is_deleting(&*claim) || !claim.holds(LAUNCHED) {
            return None;
        }
        let provider = Arc::clone(self.0.provider_of(&claim)?);
        let class = self.0.class_of(&claim).filter(|class| class.deleting.is_none())?;
        let own = claim.metadata.annotations.as_ref()?;
        let hashes = provider.hashes(&class);
        let hash = differing(&hashes, Difference::Update, own, &class.annotations)?.clone();
        Some(Outdated { claim, class, provider, hash })
    }

    /// Writes what came of an update: what the cloud says, and what the instance is up to date with.
    async fn write(
        &self,
        key: &Key,
        uid: &str,
        annotations: Labels,
        hash: &SpecHash,
    ) -> Result<(), Trouble> {
        let known = self.0.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = known.filter(|known| claims::uid(&known.metadata) == uid) else {
            return Ok(());
        };
        let mut updated = NodeClaim::clone(&claim);
        let own = updated.metadata.annotations.get_or_insert_default();
        own.extend(hash.annotations());
        own.extend(annotations);
        self.0.cluster.patch(&*claim, &updated, Lock::Version).await?;
        tracing::info!(NodeClaim = %key, "updated the instance of the nodeclaim in place");
        Ok(())
    }
}
