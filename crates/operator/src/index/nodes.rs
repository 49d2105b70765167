//! Joins each Node and its `NodeClaim` to one instance.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use joiner_api::{condition, node_claim::NodeClaim};
use joiner_core::{
    instance_type::Catalog,
    label::{self, Labels},
    quantity::Quantity,
    resources::Resources,
    snapshot,
    taint::{Effect, Taint},
};
use k8s_openapi::api::core::v1::Node;

use super::{convert, in_flight, pods::Sorted};
use crate::{claims, objects::Objects};

/// The taint of a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A Node, its claim, or both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instance<'o> {
    node: Option<&'o Node>,
    claim: Option<&'o NodeClaim>,
    /// Whether its claim is about to be deleted.
    is_intended_to_leave: bool,
}

/// Every existing or coming instance, ordered by name.
#[derive(Debug)]
pub(super) struct Instances<'o> {
    all: Vec<Instance<'o>>,
    leaving: HashMap<&'o str, bool>,
    volume_limits: HashMap<&'o str, BTreeMap<String, u32>>,
}

impl<'o> Instances<'o> {
    /// Joins Nodes and claims by provider ID. A Node without one keeps its own name; a claim
    /// without one belongs to the Node in its status.
    ///
    /// COMPAT: upstream omits a pool's Node without a provider ID, and an uninitialized one without
    /// an instance type label. Files may contain such nodes.
    pub(super) fn new(objects: &'o Objects, notes: &mut Vec<String>) -> Self {
        let mut claims: Vec<&NodeClaim> = objects.node_claims.iter().map(Arc::as_ref).collect();
        claims.sort_by_key(|claim| &claim.metadata.name);
        let named: HashSet<&str> =
            claims.iter().filter_map(|claim| claims::node_name(claim)).collect();
        let mut nodes: Vec<&Node> = objects.nodes.iter().map(Arc::as_ref).collect();
        // Of several Nodes with one provider ID, the one that a claim names is used.
        nodes.sort_by_key(|node| (!named.contains(node_name(node)), node_name(node)));

        let provider_ids: HashMap<&str, &str> =
            nodes.iter().map(|node| (node_name(node), provider_id(node))).collect();
        let instance = |node, claim: Option<&'o NodeClaim>| Instance {
            node,
            claim,
            is_intended_to_leave: claim.is_some_and(|it| objects.leaving.contains(claim_name(it))),
        };
        let canonical = |id: &'o str| objects.ids.canonical(id);
        let mut by_provider_id: HashMap<Cow<'o, str>, &NodeClaim> = HashMap::new();
        let mut instances = Vec::new();
        for claim in claims {
            let Some(id) = claim_provider_id(claim, &provider_ids) else {
                instances.push(instance(None, Some(claim)));
                continue;
            };
            if let Some(other) = by_provider_id.insert(canonical(id), claim) {
                notes.push(format!(
                    "NodeClaims {:?} and {:?} have the same provider ID {id:?}: the second counts; \
                     delete the one that is wrong",
                    claim_name(other),
                    claim_name(claim)
                ));
            }
        }
        let mut taken = HashSet::new();
        for node in nodes {
            let id = provider_id(node);
            if !taken.insert(canonical(id)) {
                notes.push(format!(
                    "Node {:?} has the same provider ID {id:?} as another: only one of them can be \
                     its NodeClaim's, and the instance stays meanwhile; delete the one that is wrong",
                    node_name(node)
                ));
                instances.push(instance(Some(node), None));
                continue;
            }
            instances.push(instance(Some(node), by_provider_id.remove(&canonical(id))));
        }
        let without_node = by_provider_id.into_values();
        instances.extend(without_node.map(|claim| instance(None, Some(claim))));
        instances.sort_by_key(Instance::name);

        let leaving = instances
            .iter()
            .filter_map(|instance| Some((node_name(instance.node?), instance.is_leaving())))
            .collect();
        Self { all: instances, leaving, volume_limits: volume_limits(objects) }
    }

    /// Whether a node is leaving; none if it does not exist.
    pub(super) fn is_leaving(&self, node: &str) -> Option<bool> {
        self.leaving.get(node).copied()
    }

    /// The instances as the planner's nodes, with the pods that stay on them.
    pub(super) fn into_nodes(
        mut self,
        catalog: &Catalog,
        pods: &mut Sorted,
    ) -> Vec<snapshot::Node> {
        let instances = std::mem::take(&mut self.all);
        let nodes = instances.into_iter().map(|instance| {
            let mut node = match instance.unlaunched() {
                Some(claim) => in_flight::node(claim, catalog),
                None => instance.node(),
            };
            node.leaving = instance.is_leaving();
            if let Some(name) = &node.node {
                node.pods = pods.staying.remove(name).unwrap_or_default();
                node.volume_limits = self.volume_limits.remove(name.as_str()).unwrap_or_default();
            }
            node
        });
        nodes.collect()
    }
}

/// The total resources of each pool's launched instances that are not leaving, with their number.
pub fn usage_by_pool(objects: &Objects) -> BTreeMap<String, Resources> {
    let mut usage: BTreeMap<String, Resources> = BTreeMap::new();
    let instances = Instances::new(objects, &mut Vec::new());
    for instance in &instances.all {
        if instance.is_leaving() || instance.unlaunched().is_some() {
            continue;
        }
        let node = instance.node();
        if let Some(pool) = &node.pool {
            usage.entry(pool.clone()).or_default().add(&node.counted_capacity());
        }
    }
    usage
}

pub(super) fn claim_name(claim: &NodeClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

fn node_name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

pub(super) fn provider_id(node: &Node) -> &str {
    let written = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    written.filter(|id| !id.is_empty()).unwrap_or(node_name(node))
}

fn claim_provider_id<'o>(
    claim: &'o NodeClaim,
    provider_ids: &HashMap<&str, &'o str>,
) -> Option<&'o str> {
    claims::provider_id(claim).or_else(|| provider_ids.get(claims::node_name(claim)?).copied())
}

/// Provider IDs that several Nodes have.
pub(super) fn shared_provider_ids(objects: &Objects) -> HashSet<Cow<'_, str>> {
    let mut known = HashSet::new();
    let ids = objects.nodes.iter().map(|node| provider_id(node)).filter(|id| !id.is_empty());
    let canonical = ids.map(|id| objects.ids.canonical(id));
    canonical.filter(|id| !known.insert(id.clone())).collect()
}

fn volume_limits(objects: &Objects) -> HashMap<&str, BTreeMap<String, u32>> {
    let limits = objects.csi_nodes.iter().map(|csi_node| {
        let drivers = csi_node.spec.drivers.iter().filter_map(|driver| {
            let count = driver.allocatable.as_ref()?.count?;
            Some((driver.name.clone(), u32::try_from(count).unwrap_or_default()))
        });
        (csi_node.metadata.name.as_deref().unwrap_or_default(), drivers.collect())
    });
    limits.collect()
}

impl<'o> Instance<'o> {
    /// The instance's name: its claim's name until its Node has registered.
    fn name(&self) -> &'o str {
        match (self.node, self.claim) {
            (Some(node), None) => node_name(node),
            (Some(node), Some(_)) if self.is_registered() => node_name(node),
            (_, Some(claim)) => claim_name(claim),
            (None, None) => "",
        }
    }

    /// The claim, if it has not been launched yet.
    fn unlaunched(&self) -> Option<&'o NodeClaim> {
        let claim = self.claim.filter(|_| self.node.is_none())?;
        let id = claim.status.as_ref().and_then(|status| status.provider_id.as_deref());
        id.is_none_or(str::is_empty).then_some(claim)
    }

    /// Whether a label of the Node shows the milestone; a foreign Node needs no label.
    fn has_come_to(&self, milestone: &str) -> bool {
        let Some(node) = self.node else { return false };
        let labels = node.metadata.labels.as_ref();
        let is_marked =
            labels.and_then(|labels| labels.get(milestone)).is_some_and(|v| v == "true");
        self.claim.is_none() || is_marked
    }

    fn is_registered(&self) -> bool {
        self.has_come_to(label::REGISTERED)
    }

    fn is_initialized(&self) -> bool {
        self.has_come_to(label::INITIALIZED)
    }

    fn is_leaving(&self) -> bool {
        let Some(claim) = self.claim else {
            return self.node.is_some_and(|node| node.metadata.deletion_timestamp.is_some());
        };
        let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice());
        let terminating = condition::find(conditions.unwrap_or_default(), "InstanceTerminating");
        self.is_intended_to_leave
            || claim.metadata.deletion_timestamp.is_some()
            || terminating.is_some_and(condition::Condition::is_true)
    }

    fn labels(&self) -> Labels {
        match (self.node, self.claim) {
            (Some(node), _) if self.is_registered() => convert::labels(&node.metadata),
            (_, Some(claim)) => convert::labels(&claim.metadata),
            (_, None) => Labels::new(),
        }
    }

    /// Taints that new pods must tolerate, without those that are removed by the initialization.
    fn taints(&self) -> Vec<Taint> {
        let taints = match (self.node, self.claim) {
            (Some(node), _) if self.is_registered() => node_taints(node),
            (_, Some(claim)) => convert::taints(&claim.spec.taints),
            (_, None) => Vec::new(),
        };
        match self.claim {
            Some(claim) if !self.is_initialized() => lasting_taints(taints, claim),
            _ => taints,
        }
    }

    /// The resources that the Node reports. Before initialization, the claim replaces zeros:
    /// kubelets report devices only after their plugins have started.
    fn amounts(
        &self,
        of_node: impl Fn(&Node) -> Resources,
        of_claim: impl Fn(&NodeClaim) -> Resources,
    ) -> Resources {
        let mut amounts = self.node.map(of_node).unwrap_or_default();
        if let Some(claim) = self.claim.filter(|_| !self.is_initialized()) {
            for (name, amount) in of_claim(claim).iter() {
                if amounts.get(name) == Quantity::ZERO {
                    amounts.set(name, amount);
                }
            }
        }
        amounts
    }

    fn node(&self) -> snapshot::Node {
        let labels = self.labels();
        let hostname = labels.get(label::HOSTNAME).filter(|name| !name.is_empty());
        snapshot::Node {
            node: self.node.map(|node| node_name(node).to_owned()),
            claim: self.claim.map(|claim| claim_name(claim).to_owned()),
            pool: labels.get(label::NODE_POOL).cloned(),
            hostname: hostname.cloned().unwrap_or_else(|| self.name().to_owned()),
            taints: self.taints(),
            object_taints: self.node.map(node_taints).unwrap_or_default(),
            allocatable: self.amounts(
                |node| {
                    let status = node.status.as_ref();
                    convert::resources(status.and_then(|status| status.allocatable.as_ref()))
                },
                |claim| convert::resources(claim.status.as_ref().map(|status| &status.allocatable)),
            ),
            capacity: self.amounts(
                |node| {
                    let status = node.status.as_ref();
                    convert::resources(status.and_then(|status| status.capacity.as_ref()))
                },
                |claim| convert::resources(claim.status.as_ref().map(|status| &status.capacity)),
            ),
            initialized: self.is_initialized(),
            labels,
            ..snapshot::Node::default()
        }
    }
}

/// The taints of a Node.
///
/// COMPAT: upstream ignores `unschedulable`, because a controller of the cluster converts it to a
/// taint. Files may lack that taint.
fn node_taints(node: &Node) -> Vec<Taint> {
    let Some(spec) = &node.spec else { return Vec::new() };
    let mut taints = convert::taints(spec.taints.iter().flatten());
    let cordoned =
        Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect: Effect::NoSchedule };
    if spec.unschedulable == Some(true) && !taints.iter().any(|taint| taint.matches(&cordoned)) {
        taints.push(cordoned);
    }
    taints
}

/// The taints that remain after the initialization of the claim's instance.
pub(super) fn lasting_taints(mut taints: Vec<Taint>, claim: &NodeClaim) -> Vec<Taint> {
    let startup = convert::taints(&claim.spec.startup_taints);
    taints.retain(|taint| {
        !taint.is_ephemeral() && !startup.iter().any(|startup| startup.matches(taint))
    });
    taints
}
