//! Which template the claims of a pool were made from: a hash on the pool and on its claims.

use joiner_api::{
    hash::{NODE_POOL_HASH_VERSION, node_pool_hash},
    node_claim::NodeClaim,
};
use joiner_cloud::class::SpecHash;
use joiner_core::label;

use super::{find_ours, pool_of};
use crate::{
    claims,
    cluster::Lock,
    context::Context,
    controller::{Controller, Next},
    hashes,
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
        let hash = SpecHash::of_drift(
            label::NODE_POOL_HASH,
            label::NODE_POOL_HASH_VERSION,
            NODE_POOL_HASH_VERSION,
            node_pool_hash(&pool.spec.template).to_string(),
        );
        let mut marked = (*pool).clone();
        let annotations = marked.metadata.annotations.get_or_insert_default();
        if !hash.is_current(annotations) {
            // One that cannot be read would keep its old hash for ever.
            self.0.sure_of::<NodeClaim>()?;
            let is_of_pool =
                |claim: &NodeClaim| claims::label(claim, label::NODE_POOL) == key.name();
            hashes::take_over(&self.0, &hash, is_of_pool, |_| false).await?;
        }
        annotations.extend(hash.annotations());
        self.0.cluster.patch(&*pool, &marked, Lock::None).await?;
        Ok(Next::Done)
    }
}
