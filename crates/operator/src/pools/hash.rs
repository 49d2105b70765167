//! Which template the claims of a pool were made from: a hash on the pool and on its claims.

use std::sync::Arc;

use joiner_api::{
    condition::find as find_condition,
    hash::{NODE_POOL_HASH_VERSION, node_pool_hash},
    node_claim::NodeClaim,
};
use joiner_core::label::{self, Labels};

use super::{find_ours, pool_of};
use crate::{
    cluster::Lock,
    conditions::{Conditioned, DRIFTED},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Key, World},
};

/// Keeps the hash of each pool's template on the pool. When the way of hashing changes, claims that
/// were made under the old way take over the new hash first: they did not drift because of it.
#[derive(Debug)]
pub struct PoolHash(pub Context);

impl Controller for PoolHash {
    type Key = Key;

    const NAME: &'static str = "nodepool.hash";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        pool_of(change).into_iter().for_each(add);
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(pool) = find_ours(&self.0, key) else { return Ok(Next::Done) };
        let hash = node_pool_hash(&pool.spec.template).to_string();
        if !is_current(pool.metadata.annotations.as_ref()) {
            for claim in self.claims_of_other_versions(key.name()) {
                let mut adopted = NodeClaim::clone(&claim);
                let has_drifted = find_condition(claim.conditions(), DRIFTED).is_some();
                let annotations = adopted.metadata.annotations.get_or_insert_default();
                mark(annotations, (!has_drifted).then_some(&hash));
                self.0.cluster.patch(&*claim, &adopted, Lock::None).await?;
            }
        }
        let mut marked = (*pool).clone();
        mark(marked.metadata.annotations.get_or_insert_default(), Some(&hash));
        self.0.cluster.patch(&*pool, &marked, Lock::None).await?;
        Ok(Next::Done)
    }
}

impl PoolHash {
    fn claims_of_other_versions(&self, pool: &str) -> Vec<Arc<NodeClaim>> {
        let is_of_pool = |claim: &NodeClaim| {
            let labels = claim.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(label::NODE_POOL)).is_some_and(|name| name == pool)
        };
        self.0.cache.read(|world| {
            let claims = world.node_claims.values();
            let others = claims.filter(|claim| {
                is_of_pool(claim) && !is_current(claim.metadata.annotations.as_ref())
            });
            others.cloned().collect()
        })
    }
}

fn is_current(annotations: Option<&Labels>) -> bool {
    let version = annotations.and_then(|all| all.get(label::NODE_POOL_HASH_VERSION));
    version.is_some_and(|version| version == NODE_POOL_HASH_VERSION)
}

fn mark(annotations: &mut Labels, hash: Option<&String>) {
    let version = NODE_POOL_HASH_VERSION.to_owned();
    annotations.insert(label::NODE_POOL_HASH_VERSION.to_owned(), version);
    if let Some(hash) = hash {
        annotations.insert(label::NODE_POOL_HASH.to_owned(), hash.clone());
    }
}
