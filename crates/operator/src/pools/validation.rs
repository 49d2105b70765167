//! Whether what a pool says makes sense.

use joiner_api::node_pool::NodePool;

use super::{budgets, find_ours, pool_of, say};
use crate::{
    claims::name,
    conditions::{BUDGETS_VALID, Status, VALIDATION_SUCCEEDED},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    index::{self, fleet::min_score},
    repair::breaker::max_unhealthy_of,
    trouble::Trouble,
    world::{Change, Key, World},
};

/// Says of each pool whether it makes sense, and warns of what makes sense but hardly the one its
/// author had in mind.
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
        for doubt in doubts(&pool) {
            let generation = pool.metadata.generation.unwrap_or_default();
            let about = Subject::of(&*pool);
            self.0.events.tell(Event::questionable(&about, generation, &doubt));
        }
        let problem = index::pools::problem(&pool, &self.0.providers.well_known());
        let of_budgets = budgets::problem(&pool, self.0.now());
        say(&self.0, &pool, |conditions| {
            match &problem {
                None => conditions.set_true(VALIDATION_SUCCEEDED),
                Some(problem) => conditions.set(
                    VALIDATION_SUCCEEDED,
                    Status::False,
                    "NodePoolValidationFailed",
                    problem,
                ),
            }
            // Pods that wait get instances whatever budgets say.
            match &of_budgets {
                None => conditions.clear(BUDGETS_VALID),
                Some(problem) => {
                    conditions.set(BUDGETS_VALID, Status::False, "BudgetUnreadable", problem);
                }
            }
        })
        .await?;
        Ok(Next::Done)
    }
}

/// What its author may not have meant.
fn doubts(pool: &NodePool) -> Vec<String> {
    let of_repair = max_unhealthy_of(pool).err();
    let of_moves = min_score(pool).and_then(|asked| asked.problem());
    let of_moves =
        of_moves.map(|problem| format!("NodePool {:?}: {problem}", name(&pool.metadata)));
    of_repair.into_iter().chain(of_moves).chain(budgets::doubts(pool)).collect()
}
