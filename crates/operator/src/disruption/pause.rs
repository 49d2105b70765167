//! Somebody has asked that instances be left alone.

use std::{fmt, sync::Arc, time::Duration};

use joiner_api::node_pool::NodePool;
use joiner_core::disruption::Paused;
use k8s_openapi::api::core::v1::Namespace;

use crate::{context::Context, index::fleet::pause, trouble::Trouble, world::World};

/// How often it is looked whether a pause is over, by those to whom nobody tells it.
pub(crate) const LOOK_EVERY: Duration = Duration::from_mins(1);

/// Whether a pause would be known; otherwise says so of who has to wait. An instance that is to go can wait, and what was
/// deleted against a pause does not come back.
pub(crate) fn sure_of_pauses(context: &Context, waits: impl fmt::Display) -> Result<(), Trouble> {
    if let Some(missing) = context.feeds.missing_of(&["nodepools", "namespaces"]) {
        return Err(Trouble::Object(format!("{waits} because of stale facts: {missing}")));
    }
    context.sure_of::<NodePool>()?;
    context.sure_of::<Namespace>()
}

/// Who may pause the removal of instances: a pool's owner for the pool, and whoever may write to one namespace for all.
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

    /// Who has paused the removal of instances of one of these pools, or of all, if somebody has.
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
