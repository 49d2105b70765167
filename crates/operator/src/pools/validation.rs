//! Whether what a pool says makes sense.

use super::{find_ours, pool_of, say};
use crate::{
    conditions::{Status, VALIDATION_SUCCEEDED},
    context::Context,
    controller::{Controller, Next},
    index::pools::problem,
    trouble::Trouble,
    world::{Change, Key, World},
};

/// Says of each pool whether it makes sense.
#[derive(Debug)]
pub struct PoolValidation(pub Context);

impl Controller for PoolValidation {
    type Key = Key;

    const NAME: &'static str = "nodepool.validation";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        pool_of(change).into_iter().for_each(add);
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(pool) = find_ours(&self.0, key) else { return Ok(Next::Done) };
        let problem = problem(&pool, &self.0.providers.well_known());
        say(&self.0, &pool, |conditions| match &problem {
            None => conditions.set_true(VALIDATION_SUCCEEDED),
            Some(problem) => conditions.set(
                VALIDATION_SUCCEEDED,
                Status::False,
                "NodePoolValidationFailed",
                problem,
            ),
        })
        .await?;
        Ok(Next::Done)
    }
}
