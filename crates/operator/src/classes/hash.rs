//! Hashes of the settings that instances were created from, on the class and on its claims.

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::class::{Difference, SpecHash, differing};
use joiner_core::label::Labels;
use serde_json::json;

use super::{Part, find_served, patch};
use crate::{
    claims::refers_to,
    cluster::Lock,
    context::Context,
    controller::{Controller, Next},
    hashes,
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// Keeps the hashes on classes and on the objects that they refer to. If the hash version changes,
/// or another controller hashed before, claims take over the new hash first. Otherwise they would
/// drift because of the new version.
#[derive(Debug)]
pub struct ClassHashing(pub Context);

impl Controller for ClassHashing {
    type Key = Key;

    const NAME: &'static str = "nodeclass.hash";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodeClass(diff) = change {
            diff.new.iter().for_each(|class| add(class.key()));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some((class, provider)) = find_served(&self.0, key) else { return Ok(Next::Done) };
        let hashes = provider.hashes(&class);
        let kept = || hashes.iter().filter(|hash| hash.is_on_object());
        let marked: Labels = kept().flat_map(SpecHash::annotations).collect();
        if marked.iter().all(|(key, value)| class.annotations.get(key) == Some(value)) {
            return Ok(Next::Done);
        }
        let is_new = |hash: &&SpecHash| hash.is_on_claims() && !hash.is_current(&class.annotations);
        for hash in kept().filter(is_new) {
            // An unreadable claim would keep its old hash forever.
            self.0.sure_of::<NodeClaim>()?;
            let is_of_class =
                |claim: &NodeClaim| refers_to(claim.spec.node_class_ref.as_ref(), &class);
            // A claim may have drifted by another hash than this one.
            let has_drifted = |claim: &NodeClaim| {
                let own = claim.metadata.annotations.as_ref();
                own.is_some_and(|own| {
                    differing(&hashes, Difference::Drift, own, &class.annotations).is_some()
                })
            };
            hashes::take_over(&self.0, hash, is_of_class, has_drifted).await?;
        }
        let wanted = json!({"metadata": {"annotations": marked}});
        patch(&self.0, &**provider, &class, Part::Object, wanted, Lock::None).await?;
        Ok(Next::Done)
    }
}
