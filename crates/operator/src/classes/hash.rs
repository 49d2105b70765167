//! Which settings the machines of a class were made from: a hash on the class and on its claims.

use std::sync::Arc;

use joiner_api::{condition::find as find_condition, node_claim::NodeClaim};
use joiner_cloud::class::{ClassHash, NodeClass};
use joiner_core::label::Labels;
use serde_json::json;

use super::{Part, find_served, patch};
use crate::{
    claims::refers_to,
    cluster::Lock,
    conditions::{Conditioned, DRIFTED},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// Keeps the hash of each class on the class. When the way of hashing changes, or another controller
/// hashed before, claims take over the new hash first: they did not drift because of it.
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
        let Some(hash) = provider.class_hash(&class) else { return Ok(Next::Done) };
        let marked = hash.annotations();
        if marked.iter().all(|(key, value)| class.annotations.get(key) == Some(value)) {
            return Ok(Next::Done);
        }
        if !hash.is_current(&class.annotations) {
            // One that cannot be read would keep its old hash for ever.
            self.0.sure_of::<NodeClaim>()?;
            for claim in self.claims_of_other_versions(&class, &hash) {
                let adopted = adopted(&claim, &hash);
                self.0.cluster.patch(&*claim, &adopted, Lock::None).await?;
            }
        }
        let wanted = json!({"metadata": {"annotations": marked}});
        patch(&self.0, &**provider, &class, Part::Object, wanted, Lock::None).await?;
        Ok(Next::Done)
    }
}

impl ClassHashing {
    fn claims_of_other_versions(&self, class: &NodeClass, hash: &ClassHash) -> Vec<Arc<NodeClaim>> {
        let none = Labels::new();
        self.0.cache.read(|world| {
            let claims = world.node_claims.values();
            let others = claims.filter(|claim| {
                let annotations = claim.metadata.annotations.as_ref().unwrap_or(&none);
                refers_to(claim.spec.node_class_ref.as_ref(), class)
                    && !hash.is_current(annotations)
            });
            others.cloned().collect()
        })
    }
}

/// The claim with the version of the new hash, and with the hash itself unless it has drifted: what
/// it was made from is known to be something else then.
fn adopted(claim: &NodeClaim, hash: &ClassHash) -> NodeClaim {
    let mut adopted = NodeClaim::clone(claim);
    let mut marks = hash.annotations();
    if find_condition(claim.conditions(), DRIFTED).is_some() {
        marks.remove(hash.key);
    }
    adopted.metadata.annotations.get_or_insert_default().extend(marks);
    adopted
}
