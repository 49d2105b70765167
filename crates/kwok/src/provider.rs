//! KWOK as a cloud: an instance is a Node object, made and removed through the API server.
//!
//! Nodes get the same labels and annotations as from Karpenter's KWOK provider, so that either
//! provider can take over. There are two additions. The name of a node is derived from its claim, so
//! that the instance of a claim is found again after a crash. An annotation names that claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudError, CloudProvider, Deletion, InstanceTypes, RepairPolicy,
    choice::{self, Choice},
    class::{ClassKind, ClassStatus, NodeClass, Role},
    homes::{Going, Homes},
    inputs::ClassInputs,
    instance::Instance,
    listing::Listing,
    order::{ClaimId, Order},
    types::TypeSource,
};
use joiner_core::{
    label::{self, Labels, WellKnown},
    resources::Resources,
    taint,
};
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, NodeStatus, Taint},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams, Preconditions},
};

use crate::{KwokTypes, NODE_CLASS_GROUP, NODE_CLASS_KIND};

/// The scheme of provider ids.
const PREFIX: &str = "kwok://";
/// Label and annotation by which KWOK recognizes the nodes that it simulates a kubelet for.
const KWOK_NODE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");
/// Label by which several KWOKs could share the nodes.
const KWOK_PARTITION: (&str, &str) = ("kwok-partition", "a");
/// Label that eks-node-viewer shows as the price.
const PRICE_LABEL: &str = "eks-node-viewer/instance-price";
/// Annotation: the identity of the claim that the node was made for.
const CLAIM_UID: &str = "joiner.sh/nodeclaim-uid";
/// Annotation: the name of the claim that the node was made for.
const CLAIM_NAME: &str = "joiner.sh/nodeclaim";
/// How long the API server may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);
/// How many nodes are listed at once.
const PAGE_SIZE: u32 = 500;

/// KWOK's class.
pub const NODE_CLASS: ClassKind = ClassKind {
    role: Role::NodeClass,
    group: NODE_CLASS_GROUP,
    version: "v1alpha1",
    kind: NODE_CLASS_KIND,
    plural: "kwoknodeclasses",
};

const REPAIR_POLICIES: &[RepairPolicy] = &[
    RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(10) },
    RepairPolicy { condition: "Ready", status: "Unknown", toleration: Duration::from_mins(10) },
];

/// Nodes without instances.
pub struct Kwok {
    nodes: Api<Node>,
    clock: Clock,
    types: KwokTypes,
    /// Which zones the nodes of pools are in.
    homes: Homes,
    repair: &'static [RepairPolicy],
}

impl std::fmt::Debug for Kwok {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kwok").finish_non_exhaustive()
    }
}

impl Kwok {
    /// Nodes of the types that Karpenter's KWOK provider is built with.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self::with_types(client, clock, KwokTypes::built_in())
    }

    /// Nodes of these types.
    pub fn with_types(client: Client, clock: Clock, types: KwokTypes) -> Self {
        Self {
            nodes: Api::all(client),
            clock,
            types,
            homes: Homes::default(),
            repair: REPAIR_POLICIES,
        }
    }

    /// The same, with nodes that are tolerated for another time when they are unhealthy.
    pub fn repaired_by(self, repair: &'static [RepairPolicy]) -> Self {
        Self { repair, ..self }
    }

    async fn call<R>(
        &self,
        what: &str,
        call: impl Future<Output = kube::Result<R>>,
    ) -> Result<Result<R, kube::core::Status>, CloudError> {
        match self.clock.within(DEADLINE, call).await {
            Some(Ok(answer)) => Ok(Ok(answer)),
            Some(Err(kube::Error::Api(status))) if status.code < 500 => Ok(Err(*status)),
            Some(Err(error)) => Err(CloudError::Unknown(format!("{what}: {error}"))),
            None => Err(CloudError::Unknown(format!("{what}: the API server did not answer"))),
        }
    }

    async fn find(&self, name: &str) -> Result<Option<Node>, CloudError> {
        let what = format!("get node {name}");
        match self.call(&what, self.nodes.get_opt(name)).await? {
            Ok(node) => Ok(node),
            Err(status) => Err(CloudError::Unknown(format!("{what}: {}", status.message))),
        }
    }
}

#[async_trait]
impl CloudProvider for Kwok {
    fn name(&self) -> &'static str {
        "kwok"
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        TypeSource::well_known(&self.types)
    }

    fn predecessor_lease(&self) -> Option<&'static str> {
        Some("karpenter-leader-election")
    }

    fn launch_timeout(&self) -> Duration {
        Duration::from_mins(5)
    }

    async fn resolve_class(
        &self,
        _class: &NodeClass,
        _inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        // KWOK's classes are always valid.
        Ok(ClassStatus::default())
    }

    fn instance_types(&self, pool: &str, _class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        Ok(self.types.of_pool(pool))
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        if let Some((false, _, message)) = order.class.ready() {
            return Err(CloudError::NodeClassNotReady(message.to_owned()));
        }
        let name = node_name(&order.claim);
        if let Some(node) = self.find(&name).await? {
            return own(node, &order.claim);
        }
        let types = self.types.of_pool(order.node_pool.as_deref().unwrap_or_default());
        let Some((choice, going)) = self.choose(order, &types) else {
            return Err(CloudError::InsufficientCapacity(format!(
                "no available instance type serves NodeClaim {}: {} and {}",
                order.claim.name, order.requirements, order.requests
            )));
        };
        // As an instance takes its time to start. The wait is part of the launch: after a crash in the
        // middle of it, the node is still made.
        self.clock.sleep(registration_delay(&order.class)?).await;
        let node = node(&name, order, &choice);
        let what = format!("create node {name}");
        match self.call(&what, self.nodes.create(&PostParams::default(), &node)).await? {
            Ok(created) => {
                going.arrived();
                own(created, &order.claim)
            }
            Err(status) if status.code == 409 => match self.find(&name).await? {
                Some(node) => own(node, &order.claim),
                None => Err(CloudError::Unknown(format!("{what}: it came and went"))),
            },
            Err(status) => Err(CloudError::Create {
                reason: "NodeRefused",
                message: format!("{what}: {}", status.message),
            }),
        }
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let name = match provider_id {
            Some(id) => id.strip_prefix(PREFIX).unwrap_or_default().to_owned(),
            None => node_name(claim),
        };
        if name.is_empty() {
            return Ok(Deletion::Gone);
        }
        let Some(node) = self.find(&name).await? else { return Ok(Deletion::Gone) };
        // An instance of another claim with this name does not match.
        if !is_ours(&node) || marked(&node).is_some_and(|other| other.uid != claim.uid) {
            return Ok(Deletion::Gone);
        }
        // The Node object is the whole instance, and its deletion waits for our finalizer.
        if node.metadata.deletion_timestamp.is_some() {
            return Ok(Deletion::Gone);
        }
        let what = format!("delete node {name}");
        let preconditions = Some(Preconditions { uid: node.metadata.uid, resource_version: None });
        let params = DeleteParams { preconditions, ..DeleteParams::default() };
        match self.call(&what, self.nodes.delete(&name, &params)).await? {
            Ok(_) => Ok(Deletion::Requested),
            Err(status) if status.code == 404 => Ok(Deletion::Gone),
            Err(status) => Err(CloudError::Unknown(format!("{what}: {}", status.message))),
        }
    }

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let Some(name) = provider_id.strip_prefix(PREFIX) else { return Ok(None) };
        let node = self.find(name).await?;
        Ok(node
            .filter(|node| is_ours(node) && node.metadata.deletion_timestamp.is_none())
            .map(instance)
            .filter(|instance| instance.may_be_of(claim)))
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        let mut instances = Vec::new();
        let mut params = ListParams::default().limit(PAGE_SIZE);
        loop {
            let page = match self.call("list nodes", self.nodes.list(&params)).await? {
                Ok(page) => page,
                Err(status) => {
                    return Err(CloudError::Unknown(format!("list nodes: {}", status.message)));
                }
            };
            instances.extend(page.items.into_iter().filter(is_ours).map(instance));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
        let mut uids = BTreeSet::new();
        for instance in &instances {
            let label = |key: &str| instance.labels.get(key).map_or("", String::as_str);
            let Some(claim) = instance.claim.as_ref().filter(|_| !instance.deleting) else {
                continue;
            };
            self.homes.know(&claim.uid, label(label::NODE_POOL), label(label::ZONE));
            uids.insert(claim.uid.as_str());
        }
        self.homes.keep(&uids);
        Ok(instances.into())
    }

    async fn drift(
        &self,
        _instance: &Instance,
        _class: &NodeClass,
    ) -> Result<Option<String>, CloudError> {
        Ok(None)
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        self.repair
    }
}

impl Kwok {
    /// The cheapest way to serve an order. Among offerings of the same type and price it is the zone
    /// with fewest nodes of the pool.
    fn choose<'t>(
        &self,
        order: &Order,
        types: &'t InstanceTypes,
    ) -> Option<(Choice<'t>, Going<'_>)> {
        let well_known = self.well_known();
        let cheapest = choice::cheapest(order, types, &well_known)?;
        let is_equal = |other: &Choice<'t>| {
            Arc::ptr_eq(other.instance_type, cheapest.instance_type)
                && other.price.total_cmp(&cheapest.price).is_eq()
        };
        let mut equals: Vec<Choice<'t>> =
            choice::every(order, types, &well_known).filter(is_equal).collect();
        self.homes.choose(order, |instances| {
            choice::in_order(&mut equals, |_| None, instances);
            let first = equals.first()?;
            Some((*first, first.zone().to_owned()))
        })
    }
}

/// The name of a claim's node: the same whenever it is asked for.
fn node_name(claim: &ClaimId) -> String {
    let digest = digest(&claim.uid);
    let (word, number) = ((digest >> 32) as u32, digest as u32);
    format!("kwok-{}-{word:08x}-{number}", claim.name)
}

/// FNV-1a, 64 bits: the same on every computer and in every version.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn registration_delay(class: &NodeClass) -> Result<Duration, CloudError> {
    let Some(text) = class.spec["nodeRegistrationDelay"].as_str() else {
        return Ok(Duration::ZERO);
    };
    let delay: joiner_api::duration::Duration = text.parse().map_err(|error| {
        CloudError::NodeClassNotReady(format!(
            "KWOKNodeClass {:?}: spec.nodeRegistrationDelay {text:?}: {error}",
            class.name
        ))
    })?;
    Ok(Duration::from_nanos(u64::try_from(delay.nanos()).unwrap_or_default()))
}

fn node(name: &str, order: &Order, choice: &Choice<'_>) -> Node {
    let mut labels = order.labels.clone();
    labels.extend(order.requirements.single_values());
    labels.extend(choice.labels());
    labels.insert(PRICE_LABEL.to_owned(), format!("{:.6}", choice.offering.price));
    labels.insert(label::HOSTNAME.to_owned(), order.claim.name.clone());
    for (key, value) in [KWOK_NODE, KWOK_PARTITION] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let mut annotations = order.annotations.clone();
    annotations.insert(KWOK_NODE.0.to_owned(), KWOK_NODE.1.to_owned());
    annotations.insert(CLAIM_NAME.to_owned(), order.claim.name.clone());
    annotations.insert(CLAIM_UID.to_owned(), order.claim.uid.clone());
    let allocatable = choice.instance_type.allocatable(choice.offering);
    let unregistered = taint::Taint::unregistered();
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            provider_id: Some(format!("{PREFIX}{name}")),
            taints: Some(vec![Taint {
                key: unregistered.key,
                effect: unregistered.effect.into(),
                ..Taint::default()
            }]),
            ..NodeSpec::default()
        }),
        status: Some(NodeStatus {
            // COMPAT: a KWOK node has what was asked for, and offers what its type has.
            capacity: Some(amounts(&order.requests)),
            allocatable: Some(amounts(&order.requests.overlaid(&allocatable))),
            phase: Some("Pending".to_owned()),
            ..NodeStatus::default()
        }),
    }
}

fn amounts(resources: &Resources) -> BTreeMap<String, Quantity> {
    resources.iter().map(|(name, amount)| (name.to_owned(), Quantity(amount.to_string()))).collect()
}

/// Whether a node is one that this provider, or Karpenter's, has made.
fn is_ours(node: &Node) -> bool {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
    let labels = node.metadata.labels.as_ref();
    let is_of_class = labels.is_some_and(|labels| labels.contains_key(&NODE_CLASS.label()));
    id.starts_with(PREFIX) && is_of_class && !is_copy(node)
}

/// Whether a node carries another node's mark, because it was created from that node's manifest. The
/// name of a node is derived from its claim, and names are unique.
fn is_copy(node: &Node) -> bool {
    let annotated = annotated(node).map(|claim| node_name(&claim));
    annotated.is_some_and(|name| node.metadata.name.as_deref() != Some(&name))
}

/// The claim in a node's mark.
fn annotated(node: &Node) -> Option<ClaimId> {
    let annotation = |key: &str| node.metadata.annotations.as_ref()?.get(key).cloned();
    Some(ClaimId { name: annotation(CLAIM_NAME)?, uid: annotation(CLAIM_UID)? })
}

/// The claim of a node: from its mark, or from its owner for nodes that Karpenter made.
fn marked(node: &Node) -> Option<ClaimId> {
    if let Some(claim) = annotated(node) {
        return Some(claim);
    }
    let mut owners = node.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == "NodeClaim")?;
    Some(ClaimId { name: owner.name.clone(), uid: owner.uid.clone() })
}

/// The node as the claim's instance. A foreign node with this name is an error.
fn own(node: Node, claim: &ClaimId) -> Result<Instance, CloudError> {
    if marked(&node).is_some_and(|marked| marked == *claim) {
        return Ok(instance(node));
    }
    Err(CloudError::Create {
        reason: "NameTaken",
        message: format!(
            "node {:?} exists and was not made for NodeClaim {}: delete or rename it",
            node.metadata.name.unwrap_or_default(),
            claim.name
        ),
    })
}

fn instance(node: Node) -> Instance {
    let claim = marked(&node);
    let resources = |amounts: Option<BTreeMap<String, Quantity>>| {
        let read = |(name, amount): (String, Quantity)| Some((name, amount.0.parse().ok()?));
        amounts.into_iter().flatten().filter_map(read).collect()
    };
    let status = node.status.unwrap_or_default();
    let mut annotations: Labels = node.metadata.annotations.unwrap_or_default();
    annotations.insert(KWOK_NODE.0.to_owned(), KWOK_NODE.1.to_owned());
    Instance {
        provider_id: node.spec.and_then(|spec| spec.provider_id).unwrap_or_default(),
        claim,
        image_id: None,
        labels: node.metadata.labels.unwrap_or_default(),
        annotations,
        capacity: resources(status.capacity),
        allocatable: resources(status.allocatable),
        created: node.metadata.creation_timestamp.map(|time| time.0),
        deleting: node.metadata.deletion_timestamp.is_some(),
        ..Instance::default()
    }
}
