//! Whether nodes are about as large as their claims.
//!
//! This controller only reports. A node that is much smaller than its claim makes plans fail, and
//! the event shows users why.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_core::{quantity::Quantity, resources::Resources};
use k8s_openapi::api::core::v1::Node;

use crate::{
    claims::{is_deleting, provider_id},
    cluster::Lock,
    conditions::{CONSISTENT_STATE_FOUND, Conditioned, INITIALIZED, Status},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    index::{orders, resources},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// How often a claim is checked. The value is Karpenter's.
const PERIOD: Duration = Duration::from_mins(10);
/// The smallest tolerated share of the claim's resources. The value is Karpenter's.
const TOLERATED: f64 = 0.90;

/// Compares nodes with their claims.
#[derive(Debug)]
pub struct Consistency {
    context: Context,
    /// When each claim was last checked.
    looked: Mutex<BTreeMap<Key, Timestamp>>,
}

impl Consistency {
    /// A controller without earlier checks.
    pub fn new(context: Context) -> Self {
        Self { context, looked: Mutex::default() }
    }

    fn looked(&self) -> MutexGuard<'_, BTreeMap<Key, Timestamp>> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for Consistency {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.consistency";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodeClaim(diff) => match &diff.new {
                Some(claim) => add(claim.key()),
                None => {
                    self.looked().remove(&diff.latest().key());
                }
            },
            Change::Node(diff) => {
                let id = diff.new.as_ref().and_then(|node| node.spec.as_ref()?.provider_id.clone());
                let claims = id.iter().flat_map(|id| world.claims_of(id));
                claims.for_each(|claim| add(claim.key()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let found = self.context.cache.read(|world| {
            let claim = world.node_claims.get(key)?;
            let nodes: Vec<_> = world.nodes_of(provider_id(claim)?).cloned().collect();
            let [node] = nodes.as_slice() else { return None };
            Some((claim.clone(), node.clone()))
        });
        let Some((claim, node)) = found else { return Ok(Next::Done) };
        let is_meant = self.context.provider_of(&claim).is_some();
        if !is_meant || is_deleting(&*claim) || !claim.holds(INITIALIZED) {
            return Ok(Next::Done);
        }
        let now = self.context.now();
        let due = self.looked().get(key).and_then(|looked| due(*looked, now));
        if let Some(wait) = due {
            return Ok(Next::After(wait));
        }
        let mut next = NodeClaim::clone(&claim);
        let mut conditions = next.conditions_mut(now);
        match misshapen(&claim, &node) {
            None => conditions.set_true(CONSISTENT_STATE_FOUND),
            Some(problem) => {
                tracing::error!(NodeClaim = %key, "consistency check failed: {problem}");
                let about = Subject::of(&*claim);
                self.context.events.tell(Event::failed_consistency_check(&about, &problem));
                conditions.set(
                    CONSISTENT_STATE_FOUND,
                    Status::False,
                    "ConsistencyCheckFailed",
                    &problem,
                );
            }
        }
        self.context.cluster.patch_status(&*claim, &next, Lock::Version).await?;
        self.looked().insert(key.clone(), now);
        Ok(Next::After(PERIOD))
    }
}

/// The time until the next check of a claim; none if it is due.
fn due(looked: Timestamp, now: Timestamp) -> Option<Duration> {
    let passed = now.duration_since(looked);
    // A clock that was set back delays no check.
    let passed = Duration::try_from(passed).ok()?;
    PERIOD.checked_sub(passed).filter(|left| !left.is_zero())
}

/// The first resource of which the node has much less than its claim.
fn misshapen(claim: &NodeClaim, node: &Node) -> Option<String> {
    let expected = resources(claim.status.as_ref().map(|status| &status.capacity));
    let found = resources(node.status.as_ref().and_then(|status| status.capacity.as_ref()));
    let requests = orders::requests(claim);
    let problems: Vec<String> = requests
        .iter()
        .filter(|(_, requested)| *requested != Quantity::ZERO)
        .filter_map(|(name, _)| shortage(name, &expected, &found))
        .collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

fn shortage(name: &str, expected: &Resources, found: &Resources) -> Option<String> {
    let (expected, found) = (expected.get(name), found.get(name));
    if expected == Quantity::ZERO {
        return None;
    }
    let share = found.as_f64() / expected.as_f64();
    let percent = share * 100.0;
    (share < TOLERATED).then(|| {
        format!(
            "expected {expected} of resource {name}, but found {found} ({percent:.1}% of expected)"
        )
    })
}
