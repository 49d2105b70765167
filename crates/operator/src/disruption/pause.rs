//! Somebody has asked that machines be left alone.

use std::{sync::Arc, time::Duration};

use joiner_core::disruption::Paused;

use crate::{index::fleet::pause, world::World};

/// How often it is looked whether a pause is over, by those to whom nobody tells it.
pub(crate) const LOOK_EVERY: Duration = Duration::from_mins(1);

/// Who may pause the removal of machines: a pool's owner for the pool, and whoever may write to one namespace for all.
#[derive(Debug, Clone)]
pub struct Pause {
    /// The namespace that the lease lives in.
    namespace: Arc<str>,
}

impl Pause {
    /// An annotation of this namespace pauses everything.
    pub fn by(namespace: &str) -> Self {
        Self { namespace: namespace.into() }
    }

    /// The namespace whose annotation pauses everything.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Who has paused the removal of machines of one of these pools, or of all, if somebody has.
    pub(crate) fn of<'p>(
        &self,
        world: &World,
        pools: impl IntoIterator<Item = &'p str>,
    ) -> Option<Paused> {
        let namespace = world.namespaces.named(&self.namespace);
        let everywhere = namespace.and_then(|it| pause("Namespace", &it.metadata));
        let mut pools = pools.into_iter().filter_map(|pool| world.node_pools.named(pool));
        everywhere.or_else(|| pools.find_map(|pool| pause("NodePool", &pool.metadata)))
    }
}
