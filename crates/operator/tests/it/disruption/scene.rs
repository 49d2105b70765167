//! Instances of a pool, and commands about them written by hand.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use joiner_core::{
    disruption::{Candidate, Command, Decision, Method},
    label,
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
};
use joiner_operator::{
    claims::uid,
    conditions::{Conditioned, DISRUPTION_REASON, INITIALIZED},
    disruption::{
        CommandQueue, Disruption, DisruptionLoop,
        pause::Pause,
        record::{Going, Record, id_on},
    },
    disruption_conditions::DisruptionConditions,
    lifecycle::Lifecycle,
    marks::{DISRUPTION_COMMAND, is_disrupted},
    pod_events::LastPodEvents,
    pools::{PoolReadiness, PoolValidation},
    provisioning::Provisioner,
    registration_health::RegistrationHealth,
    static_pools::Reservations,
};
use serde_json::{Value, json};

use crate::{
    play::{node, pool_claim},
    stage::Stage,
};

/// The namespace of the lease.
pub(super) const NAMESPACE: &str = "kube-system";

/// A stage with a pool whose claims live, and commands that are carried out.
pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) disruption: Disruption,
}

impl Scene {
    /// A pool that is ready, and nobody who looks for instances to remove.
    pub(super) async fn new() -> Self {
        Self::new_on(|stage| stage).await
    }

    /// The same on a stage that was changed before anything was there.
    pub(super) async fn new_on(change: impl FnOnce(Stage) -> Stage) -> Self {
        let mut scene = Self::on(change(Stage::bare()));
        scene.stage.create_pool("general");
        scene.stage.pass(1).await;
        scene
    }

    /// The same with some instances that are ready.
    pub(super) async fn with_instances(names: &[&str]) -> Self {
        let mut scene = Self::new().await;
        for name in names {
            scene.instance(name).await;
        }
        scene
    }

    fn on(stage: Stage) -> Self {
        let reservations = Reservations::default();
        let disruption = Disruption::new(&stage.context.clock, Pause::by(NAMESPACE), reservations);
        let queue = disruption.clone();
        let stage = stage
            .with(|context| Lifecycle::new(context, RegistrationHealth::default()))
            .with(PoolReadiness)
            .with(PoolValidation)
            .with(|context| CommandQueue::new(context, queue));
        Self { stage, disruption }
    }

    /// A new process, in which somebody also looks what was begun before.
    pub(super) fn restarted(self) -> Self {
        let Self { stage, disruption } = Self::on(self.stage.restarted());
        let looking = disruption.clone();
        let stage = stage.with(|context| DisruptionLoop::new(context, looking));
        Self { stage, disruption }
    }

    /// A pool whose instances may all go at once, and somebody who looks which ones can.
    pub(super) async fn looked_after() -> Self {
        Self::looked_after_on(|stage| stage).await
    }

    /// The same on a stage that was changed before anything was there.
    pub(super) async fn looked_after_on(change: impl FnOnce(Stage) -> Stage) -> Self {
        let Self { stage, disruption } = Self::on(change(Stage::bare()));
        let looking = disruption.clone();
        let stage = stage
            .with(|context| DisruptionConditions::new(context, LastPodEvents::default()))
            .with(|context| DisruptionLoop::new(context, looking));
        let mut scene = Self { stage, disruption };
        scene.stage.create_pool("general");
        scene.allow("100%");
        scene.stage.pass(1).await;
        scene
    }

    /// So many instances of the pool may go at once.
    pub(super) fn allow(&self, nodes: &str) {
        let budgets = json!({"spec": {"disruption": {"budgets": [{"nodes": nodes}]}}});
        self.stage.merge("karpenter.sh", "nodepools", "general", None, budgets);
    }

    /// An instance of the pool whose node is ready; both go by one name.
    pub(super) async fn instance(&mut self, name: &str) {
        self.instance_of(name, "test-4x").await;
    }

    /// The cheapest instance there is.
    pub(super) async fn cheapest_instance(&mut self, name: &str) {
        let pool = self.general();
        self.instance_like(&pool, name, "test-2x", label::CAPACITY_TYPE_SPOT).await;
    }

    /// An instance of a type, at the price of one that is always there.
    pub(super) async fn instance_of(&mut self, name: &str, kind: &str) {
        let pool = self.general();
        self.instance_like(&pool, name, kind, label::CAPACITY_TYPE_ON_DEMAND).await;
    }

    fn general(&self) -> Value {
        serde_json::to_value(self.stage.pool("general")).unwrap()
    }

    /// An instance of another pool, whether it is there or not.
    pub(super) async fn instance_in(&mut self, pool: &str, name: &str) {
        let found = self.stage.find::<Value>("karpenter.sh", "nodepools", pool);
        let pool = found.unwrap_or_else(|| json!({"metadata": {"name": pool, "uid": pool}}));
        self.instance_like(&pool, name, "test-4x", label::CAPACITY_TYPE_ON_DEMAND).await;
    }

    async fn instance_like(&mut self, pool: &Value, name: &str, kind: &str, capacity_type: &str) {
        let mut claim = pool_claim(name, pool);
        let one_of =
            |key: &str, value: &str| json!({"key": key, "operator": "In", "values": [value]});
        claim["spec"]["requirements"] = json!([
            one_of(label::INSTANCE_TYPE, kind),
            one_of(label::CAPACITY_TYPE, capacity_type),
        ]);
        self.stage.create_claim_as(claim);
        self.stage.pass(1).await;
        self.join(name).await;
    }

    /// A pod of a workload that nobody has found a node for.
    pub(super) fn waiting_pod(&self, name: &str) {
        self.stage.create(
            "",
            "pods",
            json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [{
                    "name": "app", "image": "app", "resources": {"requests": {"cpu": "500m"}},
                }]},
            }),
        );
        let status = json!({"status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        }]}});
        self.stage.merge("", "pods", &format!("default/{name}"), Some("status"), status);
    }

    /// Plans once for pods that need a place, and creates what is missing.
    pub(super) async fn provision(&self) {
        Provisioner::new(self.stage.context.clone()).pass().await.unwrap();
    }

    /// A pod of a workload that runs on an instance.
    pub(super) fn pod(&self, name: &str, node: &str) {
        self.stage.create(
            "",
            "pods",
            json!({
                "metadata": {
                    "name": name, "namespace": "default", "labels": {"app": "web"},
                    "ownerReferences": [{
                        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web",
                        "controller": true,
                    }],
                },
                "spec": {"nodeName": node, "containers": [{
                    "name": "app", "image": "app", "resources": {"requests": {"cpu": "500m"}},
                }]},
            }),
        );
        let status = json!({"status": {"phase": "Running"}});
        self.stage.merge("", "pods", &format!("default/{name}"), Some("status"), status);
    }

    /// How often somebody has looked.
    pub(super) fn looks(&self) -> f64 {
        let name = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count";
        self.stage.metric(&format!("{name}{{consolidation_type=\"empty\""))
    }

    /// What was proposed and waits.
    pub(super) fn proposed(&self) -> Vec<Command> {
        let proposed = self.disruption.commands.proposed();
        proposed.into_iter().map(|proposal| proposal.command).collect()
    }

    /// The node of a claim joins and becomes ready.
    pub(super) async fn join(&mut self, claim: &str) {
        self.stage.join(node(claim, claim));
        self.stage.pass(2).await;
        assert!(self.stage.claim(claim).holds(INITIALIZED), "{claim} is not initialized");
    }

    /// Begins a command about these instances that makes so many others first.
    pub(super) fn begin(&self, method: Method, instances: &[&str], replacements: usize) -> Record {
        let candidate = |name: &&str| Candidate {
            node_claim: (*name).to_owned(),
            node: (*name).to_owned(),
            node_pool: "general".to_owned(),
            pods: Vec::new(),
        };
        let command = Command {
            method,
            decision: if replacements == 0 { Decision::Delete } else { Decision::Replace },
            candidates: instances.iter().map(candidate).collect(),
            replacements: vec![planned(); replacements],
            destinations: Vec::new(),
            reason: Reason::new(ReasonId::PoolNone, "written by hand"),
            savings: 0.1,
            score: 0.0,
            scores: Vec::new(),
        };
        let going = instances.iter().map(|name| Going {
            node_claim: (*name).to_owned(),
            uid: uid(&self.stage.claim(name).metadata).to_owned(),
            node: (*name).to_owned(),
        });
        let (context, commands) = (&self.stage.context, &self.disruption.commands);
        let record =
            commands.begin(command, going.collect(), Vec::new(), context.now(), &context.random);
        record.expect("no instance is part of another command")
    }

    /// Whether an instance carries all marks of a command, or some, or none.
    pub(super) fn marks(&self, instance: &str) -> &'static str {
        let claim = self.stage.claim(instance);
        let tainted = self.stage.find_node(instance).is_some_and(|node| is_disrupted(&node));
        match (id_on(&claim).is_some(), claim.holds(DISRUPTION_REASON), tainted) {
            (true, true, true) => "all",
            (false, false, false) => "none",
            _ => "some",
        }
    }

    /// Whether a claim is there and nobody is deleting it.
    pub(super) fn stays(&self, claim: &str) -> bool {
        self.stage.find_claim(claim).is_some_and(|it| it.metadata.deletion_timestamp.is_none())
    }

    /// Whether no command is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.disruption.commands.begun().is_empty()
    }

    /// Whether a claim says that it is part of a command.
    pub(super) fn is_in_command(&self, claim: &str) -> bool {
        let annotations = self.stage.claim(claim).metadata.annotations.unwrap_or_default();
        annotations.contains_key(DISRUPTION_COMMAND)
    }

    /// Claims that are there, in order of name.
    pub(super) fn claims(&self) -> Vec<String> {
        let resource = joiner_apiserver::Resource::new("karpenter.sh", "nodeclaims");
        let claims = self.stage.lab.caller("admin").list(&resource, None);
        let claims = claims.iter().map(|claim| claim.value());
        let staying = claims.filter(|claim| claim["metadata"]["deletionTimestamp"].is_null());
        staying.map(|claim| claim["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Names of claims that provisioning counts as leaving although they do not say so.
    pub(super) fn counted_as_leaving(&self) -> Vec<String> {
        let cache = &self.stage.context.cache;
        cache.read(|world| world.intended.leaving().iter().cloned().collect())
    }

    /// Sets annotations of the pool.
    pub(super) fn annotate_pool(&self, annotations: &Value) {
        let patch = json!({"metadata": {"annotations": annotations}});
        self.stage.merge("karpenter.sh", "nodepools", "general", None, patch);
    }
}

/// A claim that takes whatever the cloud has.
pub(super) fn planned() -> PlannedClaim {
    let labels = [(label::NODE_POOL.to_owned(), "general".to_owned())];
    PlannedClaim {
        node_pool: "general".to_owned(),
        labels: Arc::new(labels.into()),
        ..PlannedClaim::default()
    }
}

/// A claim that nobody has made, as one of the process's own writes would have told of it.
pub(super) fn unreal(name: &str, record: &Record) -> NodeClaim {
    let mut claim = NodeClaim::default();
    claim.metadata.name = Some(name.to_owned());
    claim.metadata.resource_version = Some("1".to_owned());
    let command = (DISRUPTION_COMMAND.to_owned(), record.text());
    claim.metadata.annotations = Some([command].into());
    claim
}
