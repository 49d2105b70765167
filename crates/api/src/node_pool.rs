//! `NodePool`: which nodes may be made, how many, and when they may be taken away.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::{
    ResourceList,
    condition::Condition,
    duration::{Duration, NillableDuration},
    node_class_reference::NodeClassReference,
    null,
    requirement::{self, Requirement},
    schema::{self, Rule},
};

/// Which nodes the pool may have, how many, and when they may be taken away.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodePool",
    status = "NodePoolStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "karpenter",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.nodes"),
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        json_path = ".spec.template.spec.nodeClassRef.name"
    ),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight", priority = 1),
    printcolumn(name = "CPU", type_ = "string", json_path = ".status.resources.cpu", priority = 1),
    printcolumn(
        name = "Memory",
        type_ = "string",
        json_path = ".status.resources.memory",
        priority = 1
    ),
    doc = "A pool of nodes that are made when pods need them and taken away when they do not."
)]
#[expect(clippy::duplicated_attributes, reason = "columns of the same type look like duplicates")]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend(
    "required" = ["template"],
    "x-kubernetes-validations" =
        schema::validations(&[&STATIC_FOR_EVER, &STATIC_LIMITS, &STATIC_WEIGHT]),
))]
pub struct NodePoolSpec {
    /// What the pool's claims start from; pods narrow it down further.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("default" = null))]
    pub template: NodeClaimTemplate,
    /// When nodes may be taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = { "consolidateAfter": "0s" }))]
    pub disruption: Option<Disruption>,
    /// How much of each resource the pool's nodes may have together. With `replicas`, only `nodes`
    /// can be limited.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub limits: ResourceList,
    /// Pools with a higher weight are tried first; without one, the weight is 0. Cannot be combined
    /// with `replicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 100))]
    pub weight: Option<i32>,
    /// Keeps this many nodes, whatever pods ask for; consolidation then leaves the pool alone.
    /// Cannot be added to or taken from a pool that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub replicas: Option<i64>,
}

/// What a claim starts from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["spec"]))]
pub struct NodeClaimTemplate {
    /// Labels and annotations that claims and nodes get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What nodes are made of.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("default" = null))]
    pub spec: NodeClaimTemplateSpec,
}

/// Labels and annotations that claims and nodes get.
///
/// An empty map and no map are told apart, because the hash of the template does so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateMetadata {
    /// Labels of claims and nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-kubernetes-map-type" = "atomic",
        "maxProperties" = 100,
        "additionalProperties" =
            { "type": "string", "maxLength": 63, "pattern": schema::LABEL_VALUE },
        "x-kubernetes-validations" =
            schema::validations(&[&LABEL_OWN_DOMAIN, &LABEL_NODE_POOL, &LABEL_HOSTNAME]),
    ))]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of claims and nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "granular"))]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// What nodes are made of.
///
/// Empty and absent lists of taints are told apart, because the hash of the template does so.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["nodeClassRef", "requirements"]))]
pub struct NodeClaimTemplateSpec {
    /// Taints of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::taints")]
    pub taints: Option<Vec<Taint>>,
    /// Taints that a node starts with and that something else, a daemon set for instance, takes off
    /// again. Pods need not tolerate them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::taints")]
    pub startup_taints: Option<Vec<Taint>>,
    /// What the labels of the nodes must be.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend(
        "maxItems" = 100,
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = requirement::list_validations(),
    ))]
    #[schemars(transform = without_node_pool_key)]
    pub requirements: Vec<Requirement>,
    /// The object that tells the provider how to make the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-kubernetes-validations" = schema::validations(&[&SAME_GROUP, &SAME_KIND])
    ))]
    pub node_class_ref: Option<NodeClassReference>,
    /// How long a node that goes away may take to be drained; after that, its pods are deleted
    /// whatever protects them. Without it, there is no end to waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<Duration>,
    /// How old a node may become before it is replaced, or `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "720h"))]
    pub expire_after: Option<NillableDuration>,
}

/// When nodes may be taken away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Disruption {
    /// How long no pod may have come to a node or left it before consolidation looks at it, or
    /// `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0s"))]
    pub consolidate_after: Option<NillableDuration>,
    /// Which nodes consolidation may look at: with `WhenEmpty`, those without pods; with
    /// `WhenEmptyOrUnderutilized`, all; with `Balanced`, those whose pods are worth the trouble of
    /// moving.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "default" = "WhenEmptyOrUnderutilized",
        "enum" = ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
    ))]
    pub consolidation_policy: Option<String>,
    /// How many nodes may go away at the same time. The strictest budget that is active counts; an
    /// empty list sets no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "default" = [{ "nodes": "10%" }],
        "maxItems" = 50,
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = schema::validations(&[&SCHEDULE_WITH_DURATION]),
    ))]
    pub budgets: Option<Vec<Budget>>,
}

/// A bound on how many nodes may go away at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["nodes"]))]
pub struct Budget {
    /// A number of nodes, or a percentage of the pool's nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "10%", "pattern" = "^((100|[0-9]{1,2})%|[0-9]+)$"))]
    pub nodes: Option<String>,
    /// The reasons for disruption that this budget is about; without them, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maxItems" = 50,
        "x-kubernetes-list-type" = "set",
        "items" = { "type": "string", "enum": ["Underutilized", "Empty", "Drifted", "Unhealthy"] },
    ))]
    pub reasons: Option<Vec<String>>,
    /// When the budget becomes active, in cron's syntax and UTC. Without it, it always is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = SCHEDULE))]
    pub schedule: Option<String>,
    /// How long the budget stays active after each time of `schedule`, in hours and minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"))]
    pub duration: Option<Duration>,
}

/// What has become of the pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePoolStatus {
    /// What the pool's nodes have together.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub resources: ResourceList,
    /// How many nodes the pool has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 0))]
    pub nodes: Option<i64>,
    /// The generation of the `NodeClass` that the health of registrations is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_class_observed_generation: Option<i64>,
    /// Whether the pool can be used, and why not.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The pattern of a schedule in cron's syntax, or one of its named schedules.
const SCHEDULE: &str =
    r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$";

const STATIC_FOR_EVER: Rule = Rule {
    message: "Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes",
    rule: "has(self.replicas) == has(oldSelf.replicas)",
};
const STATIC_LIMITS: Rule = Rule {
    message: "only 'limits.nodes' is supported on static NodePools",
    rule: "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits))",
};
const STATIC_WEIGHT: Rule = Rule {
    message: "'weight' is not supported on static NodePools",
    rule: "!has(self.replicas) || !has(self.weight)",
};
const LABEL_OWN_DOMAIN: Rule = Rule {
    message: r#"label domain "karpenter.sh" is restricted"#,
    rule: r#"self.all(x, x in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !x.find("^([^/]+)").endsWith("karpenter.sh"))"#,
};
const LABEL_NODE_POOL: Rule = Rule {
    message: r#"label "karpenter.sh/nodepool" is restricted"#,
    rule: r#"self.all(x, x != "karpenter.sh/nodepool")"#,
};
const LABEL_HOSTNAME: Rule = Rule {
    message: r#"label "kubernetes.io/hostname" is restricted"#,
    rule: r#"self.all(x, x != "kubernetes.io/hostname")"#,
};
const SAME_GROUP: Rule =
    Rule { message: "nodeClassRef.group is immutable", rule: "self.group == oldSelf.group" };
const SAME_KIND: Rule =
    Rule { message: "nodeClassRef.kind is immutable", rule: "self.kind == oldSelf.kind" };
const SCHEDULE_WITH_DURATION: Rule = Rule {
    message: "'schedule' must be set with 'duration'",
    rule: "self.all(x, has(x.schedule) == has(x.duration))",
};

/// A pool cannot require a label of a pool.
fn without_node_pool_key(requirements: &mut Schema) {
    requirements.ensure_object()["items"]["properties"]["key"]["x-kubernetes-validations"] =
        schema::validations(&[
            &requirement::OWN_DOMAIN,
            &requirement::NODE_POOL,
            &requirement::HOSTNAME,
        ]);
}
