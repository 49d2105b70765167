//! The devices that drivers publish for a node, if a claim waits for them.

use std::collections::BTreeMap;

use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::{core::v1::Node, resource::v1::ResourceSlice};

use super::initialization::Lack;
use crate::{claims::name, marks::REQUESTED_DRA_DRIVERS};

/// The published devices.
#[derive(Debug, Default)]
pub(super) struct Devices(pub(super) Vec<ResourceSlice>);

/// The drivers that a claim waits for.
pub(super) fn awaited(claim: &NodeClaim) -> impl Iterator<Item = &str> {
    let annotation =
        claim.metadata.annotations.as_ref().and_then(|all| all.get(REQUESTED_DRA_DRIVERS));
    let drivers = annotation.into_iter().flat_map(|drivers| drivers.split(','));
    drivers.map(str::trim).filter(|driver| !driver.is_empty())
}

impl Devices {
    /// The first driver that has not published all devices of a pool of the node.
    pub(super) fn lacks(&self, claim: &NodeClaim, node: &Node) -> Option<Lack> {
        let driver = awaited(claim).find(|driver| !self.has_complete_pool(driver, node))?;
        let message = format!("DRA driver \"{driver}\" has not published a complete resource pool");
        Some(Lack::new("DRADriverPoolsNotPublished", message))
    }

    /// Whether a driver has published every slice of the newest generation of some pool.
    fn has_complete_pool(&self, driver: &str, node: &Node) -> bool {
        let mut pools: BTreeMap<&str, Pool> = BTreeMap::new();
        let own = self.0.iter().filter(|slice| is_of(slice, node));
        for slice in own.filter(|slice| slice.spec.driver == driver) {
            let published = &slice.spec.pool;
            let pool = pools.entry(&published.name).or_default();
            if published.generation > pool.generation {
                *pool = Pool { generation: published.generation, ..Pool::default() };
            }
            if published.generation == pool.generation {
                pool.seen += 1;
                pool.expected = published.resource_slice_count;
            }
        }
        pools.values().any(|pool| pool.expected > 0 && pool.seen == pool.expected)
    }
}

/// The newest generation of a device pool.
#[derive(Debug, Default)]
struct Pool {
    generation: i64,
    seen: i64,
    expected: i64,
}

fn is_of(slice: &ResourceSlice, node: &Node) -> bool {
    let node = name(&node.metadata);
    let mut owners = slice.metadata.owner_references.iter().flatten();
    slice.spec.node_name.as_deref() == Some(node)
        || owners.any(|owner| owner.kind == "Node" && owner.name == node)
}
