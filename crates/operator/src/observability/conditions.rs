//! Conditions of objects, and how long objects take to go.

use jiff::Timestamp;
use joiner_api::{
    capacity_buffer::CapacityBuffer, condition::Condition, node_claim::NodeClaim,
    node_pool::NodePool,
};
use joiner_cloud::class::NodeClass;
use joiner_core::label;
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::Value;

use super::{Lines, Shown, ShownNode};
use crate::{
    claims::{self, name},
    conditions::Conditioned,
    context::Context,
    metrics::{ConditionMetrics, seconds},
    world::{Change, Diff},
};

/// Kinds whose conditions are shown a second time, under the names of old dashboards, with their
/// groups.
const SHOWN_TWICE: [(&str, &str); 3] = [
    ("karpenter.sh", "NodeClaim"),
    ("karpenter.sh", "NodePool"),
    ("autoscaling.x-k8s.io", "CapacityBuffer"),
];

/// An object as its conditions are shown.
struct Subject<'o> {
    kind: &'o str,
    namespace: &'o str,
    name: &'o str,
    labels: Vec<&'o str>,
    deleted: Option<Timestamp>,
    conditions: Vec<Said<'o>>,
}

/// One condition.
struct Said<'o> {
    type_: &'o str,
    status: &'o str,
    reason: &'o str,
    since: Option<Timestamp>,
}

/// Starts to count transitions of conditions and the starts of pods.
pub fn count_changes(context: &Context) {
    if context.settings.disable_cluster_state_observability {
        return;
    }
    let own = context.clone();
    context.cache.listen(move |_, change| {
        own.metrics.pod_changed(change, own.now());
        match change {
            Change::NodeClaim(diff) => count(&own, diff, |claim| of_claim(&own, claim)),
            Change::NodePool(diff) => count(&own, diff, |pool| of_pool(pool)),
            Change::Node(diff) => count(&own, diff, |node| of_node(&own, node)),
            Change::CapacityBuffer(diff) => count(&own, diff, |buffer| of_buffer(buffer)),
            Change::NodeClass(diff) => count(&own, diff, |class| of_class(class)),
            _ => {}
        }
    });
}

/// Says how all conditions are, and which objects are on their way out.
pub(super) fn work_out(context: &Context, shown: &Shown) {
    let mut page = Page::default();
    let nodes = shown.nodes.iter().map(|ShownNode { node, .. }| of_node(context, node));
    page.show(context, "Node", nodes, shown.now);
    let claims = shown.claims.iter().map(|claim| of_claim(context, claim));
    page.show(context, "NodeClaim", claims, shown.now);
    page.show(context, "NodePool", shown.pools.iter().map(|pool| of_pool(pool)), shown.now);
    let buffers = shown.buffers.iter().map(|buffer| of_buffer(buffer));
    page.show(context, "CapacityBuffer", buffers, shown.now);
    for kind in context.providers.kinds() {
        let own = shown.classes.iter().filter(|class| class.kind == kind.kind);
        page.show(context, kind.kind, own.map(|class| of_class(class)), shown.now);
    }
    page.twice.show_all(context.metrics.all_conditions());
}

/// What is said of all kinds.
#[derive(Default)]
struct Page {
    twice: OfKind,
}

/// What is said of one kind, or of several together.
#[derive(Default)]
struct OfKind {
    counts: Lines,
    seconds: Lines,
    leaving: Lines,
}

impl Page {
    fn show<'o>(
        &mut self,
        context: &Context,
        kind: &str,
        subjects: impl Iterator<Item = Subject<'o>>,
        now: Timestamp,
    ) {
        let Some(metrics) = context.metrics.conditions(kind) else { return };
        let mut of_kind = OfKind::default();
        let again = SHOWN_TWICE.iter().find(|(_, shown)| *shown == kind);
        for subject in subjects {
            of_kind.add(&subject, &subject.labels, now);
            if let Some((group, kind)) = again {
                self.twice.add(&subject, &[group, kind], now);
            }
        }
        of_kind.show_all(metrics);
    }
}

impl OfKind {
    fn add(&mut self, subject: &Subject<'_>, extra: &[&str], now: Timestamp) {
        let Subject { kind, namespace, name, .. } = subject;
        let key = format!("{kind}/{namespace}/{name}");
        for said in &subject.conditions {
            let own = [*namespace, *name, said.type_, said.status, said.reason];
            let labels = [&own[..], extra].concat();
            self.counts.add(&key, &labels, 1.0);
            if let Some(since) = said.since {
                self.seconds.add(&key, &labels, seconds(since, now));
            }
        }
        if let Some(deleted) = subject.deleted {
            let labels = [&[*namespace, *name], extra].concat();
            self.leaving.add(&key, &labels, seconds(deleted, now));
        }
    }

    fn show_all(self, metrics: &ConditionMetrics) {
        self.counts.show(&metrics.count);
        self.seconds.show(&metrics.current_status_seconds);
        self.leaving.show(&metrics.termination_current_time_seconds);
    }
}

/// Counts the conditions of an object that have another status than before, and how long an object
/// took to go that is gone.
fn count<'d, T>(context: &Context, diff: &'d Diff<T>, of: impl Fn(&'d T) -> Subject<'d>) {
    let (Some(old), now) = (&diff.old, context.now()) else { return };
    let old = of(old);
    let new = diff.new.as_deref().map(of);
    let each = |count: &dyn Fn(&ConditionMetrics, &[&str])| {
        if let Some(metrics) = context.metrics.conditions(old.kind) {
            count(metrics, &new.as_ref().unwrap_or(&old).labels);
        }
        if let Some((group, kind)) = SHOWN_TWICE.iter().find(|(_, kind)| *kind == old.kind) {
            count(context.metrics.all_conditions(), &[group, kind]);
        }
    };
    let Some(new) = &new else {
        if let Some(deleted) = old.deleted {
            let took = seconds(deleted, now);
            each(&|metrics, extra| metrics.termination_duration_seconds(extra).observe(took));
        }
        return;
    };
    for said in &new.conditions {
        let before = old.conditions.iter().find(|before| before.type_ == said.type_);
        if before.is_some_and(|before| before.status == said.status) {
            continue;
        }
        each(&|metrics, extra| {
            metrics.transitions(said.type_, said.status, said.reason, extra).inc();
        });
        let lasted = before.and_then(|before| Some((before.status, before.since?, said.since?)));
        if let Some((status, began, ended)) = lasted {
            let lasted = seconds(began, ended);
            each(&|metrics, extra| {
                metrics.transition_seconds(said.type_, status, extra).observe(lasted);
            });
        }
    }
}

fn of_claim<'o>(context: &'o Context, claim: &'o NodeClaim) -> Subject<'o> {
    let labels = shown_labels(context, claim).collect();
    subject("NodeClaim", &claim.metadata, labels, said(claim.conditions()))
}

fn of_pool(pool: &NodePool) -> Subject<'_> {
    subject("NodePool", &pool.metadata, Vec::new(), said(pool.conditions()))
}

fn of_buffer(buffer: &CapacityBuffer) -> Subject<'_> {
    let conditions = buffer.status.as_ref().map_or(&[][..], |status| &status.conditions);
    subject("CapacityBuffer", &buffer.metadata, Vec::new(), said(conditions))
}

fn of_node<'o>(context: &'o Context, node: &'o Node) -> Subject<'o> {
    let initialized = claims::label(node, label::INITIALIZED);
    let labels = shown_labels(context, node).chain([initialized]).collect();
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let said = |condition: &'o NodeCondition| Said {
        type_: &condition.type_,
        status: &condition.status,
        reason: condition.reason.as_deref().unwrap_or_default(),
        since: condition.last_transition_time.as_ref().map(|time| time.0),
    };
    subject("Node", &node.metadata, labels, conditions.map(said).collect())
}

fn of_class(class: &NodeClass) -> Subject<'_> {
    let conditions = class.status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    Subject {
        kind: &class.kind,
        namespace: "",
        name: &class.name,
        labels: Vec::new(),
        deleted: class.deleting,
        conditions: conditions.iter().map(said_by).collect(),
    }
}

fn said_by(condition: &Value) -> Said<'_> {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    Said {
        type_: text("type"),
        status: text("status"),
        reason: text("reason"),
        since: text("lastTransitionTime").parse().ok(),
    }
}

fn said(conditions: &[Condition]) -> Vec<Said<'_>> {
    let each = conditions.iter().map(|condition| Said {
        type_: &condition.type_,
        status: &condition.status,
        reason: &condition.reason,
        since: condition.last_transition_time.as_ref().map(|time| time.0),
    });
    each.collect()
}

fn subject<'o>(
    kind: &'o str,
    metadata: &'o ObjectMeta,
    labels: Vec<&'o str>,
    conditions: Vec<Said<'o>>,
) -> Subject<'o> {
    Subject {
        kind,
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: name(metadata),
        labels,
        deleted: metadata.deletion_timestamp.as_ref().map(|time| time.0),
        conditions,
    }
}

/// The pool of a claim or a node, and its class, by the label of each kind of class.
fn shown_labels<'o>(
    context: &'o Context,
    object: &'o impl kube::Resource,
) -> impl Iterator<Item = &'o str> {
    let classes = context.providers.class_kinds().map(|kind| claims::label(object, &kind.label()));
    [claims::label(object, label::NODE_POOL)].into_iter().chain(classes)
}
