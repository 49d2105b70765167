//! Pods and daemon sets for tests.

use std::sync::Arc;

use super::{affinity_term, quantity, requirement, resources, spread_constraint};
use crate::{
    label::Labels,
    pod::{
        AffinityTerm, AttachedVolume, HostPort, NodeTerm, Pod, PodSpec, PodVolumes, Role,
        SpreadConstraint, Weighted, WhenUnsatisfiable,
    },
    requirement::{Operator, Requirements},
    resources::{CPU, MEMORY, PODS},
    selector::LabelSelector,
    snapshot::Daemon,
    taint::{Toleration, TolerationOperator},
};

/// A pending pod in namespace `default` without requests and constraints.
pub fn pod(name: &str) -> PodBuilder {
    PodBuilder {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        created: 0,
        labels: Labels::new(),
        spec: PodSpec { requests: resources([(PODS, "1")]), ..PodSpec::default() },
        volumes: PodVolumes::default(),
        role: Role::Pending,
    }
}

/// Builds a [`Pod`], or several pods of one workload.
#[derive(Debug, Clone)]
pub struct PodBuilder {
    namespace: String,
    name: String,
    created: i64,
    labels: Labels,
    spec: PodSpec,
    volumes: PodVolumes,
    pub(super) role: Role,
}

impl PodBuilder {
    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Seconds since 1970.
    pub fn created(mut self, seconds: i64) -> Self {
        self.created = seconds;
        self
    }

    /// Requests CPU.
    pub fn cpu(self, amount: &str) -> Self {
        self.request(CPU, amount)
    }

    /// Requests memory.
    pub fn mem(self, amount: &str) -> Self {
        self.request(MEMORY, amount)
    }

    /// Requests any resource.
    pub fn request(mut self, resource: &str, amount: &str) -> Self {
        self.spec.requests.set(resource, quantity(amount));
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a label to the node selector.
    pub fn on_node_selector(mut self, key: &str, value: &str) -> Self {
        self.spec.node_selector.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an expression to the first required node affinity term.
    pub fn require<const N: usize>(
        mut self,
        key: &str,
        operator: Operator,
        values: [&str; N],
    ) -> Self {
        if self.spec.node_affinity.is_empty() {
            self.spec.node_affinity.push(NodeTerm::default());
        }
        self.spec.node_affinity[0].expressions.push(requirement(key, operator, values));
        self
    }

    /// Adds one more required node affinity alternative.
    pub fn or_require<const N: usize>(
        mut self,
        key: &str,
        operator: Operator,
        values: [&str; N],
    ) -> Self {
        let expressions = vec![requirement(key, operator, values)];
        self.spec.node_affinity.push(NodeTerm { expressions, has_fields: false });
        self
    }

    /// Adds a preferred node affinity term.
    pub fn prefer<const N: usize>(
        mut self,
        weight: i32,
        key: &str,
        operator: Operator,
        values: [&str; N],
    ) -> Self {
        let term =
            NodeTerm { expressions: vec![requirement(key, operator, values)], has_fields: false };
        self.spec.preferred_node_affinity.push(Weighted { weight, term });
        self
    }

    /// Must be near the pods that `selector` selects.
    pub fn affinity(self, topology_key: &str, selector: LabelSelector) -> Self {
        self.affinity_term(affinity_term(topology_key, selector))
    }

    /// Adds a required pod affinity term.
    pub fn affinity_term(mut self, term: AffinityTerm) -> Self {
        self.spec.affinity.push(term);
        self
    }

    /// Would rather be near the pods that `selector` selects.
    pub fn prefer_affinity(
        mut self,
        weight: i32,
        topology_key: &str,
        selector: LabelSelector,
    ) -> Self {
        self.spec
            .preferred_affinity
            .push(Weighted { weight, term: affinity_term(topology_key, selector) });
        self
    }

    /// Must be away from the pods that `selector` selects.
    pub fn anti_affinity(self, topology_key: &str, selector: LabelSelector) -> Self {
        self.anti_affinity_term(affinity_term(topology_key, selector))
    }

    /// Adds a required pod anti-affinity term.
    pub fn anti_affinity_term(mut self, term: AffinityTerm) -> Self {
        self.spec.anti_affinity.push(term);
        self
    }

    /// Would rather be away from the pods that `selector` selects.
    pub fn prefer_anti_affinity(
        mut self,
        weight: i32,
        topology_key: &str,
        selector: LabelSelector,
    ) -> Self {
        self.spec
            .preferred_anti_affinity
            .push(Weighted { weight, term: affinity_term(topology_key, selector) });
        self
    }

    /// Must be spread among the pods that `selector` selects.
    pub fn spread(self, topology_key: &str, max_skew: i32, selector: LabelSelector) -> Self {
        self.spread_constraint(spread_constraint(topology_key, max_skew, selector))
    }

    /// Would rather be spread among the pods that `selector` selects.
    pub fn spread_anyway(self, topology_key: &str, max_skew: i32, selector: LabelSelector) -> Self {
        self.spread_constraint(SpreadConstraint {
            when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
            ..spread_constraint(topology_key, max_skew, selector)
        })
    }

    /// Adds a spread constraint.
    pub fn spread_constraint(mut self, constraint: SpreadConstraint) -> Self {
        self.spec.spread.push(constraint);
        self
    }

    /// Tolerates taints with this key, whatever their value and effect.
    pub fn tolerate(self, key: &str) -> Self {
        self.toleration(Toleration {
            key: key.to_owned(),
            operator: TolerationOperator::Exists,
            value: String::new(),
            effect: None,
        })
    }

    /// Adds a toleration.
    pub fn toleration(mut self, toleration: Toleration) -> Self {
        self.spec.tolerations.push(toleration);
        self
    }

    /// Uses a TCP port on every address of its node.
    pub fn host_port(mut self, port: i32) -> Self {
        self.spec.host_ports.insert(HostPort {
            ip: "0.0.0.0".to_owned(),
            port,
            protocol: "TCP".to_owned(),
        });
        self
    }

    /// Mounts a claim of its namespace that uses one of `driver`'s attachment slots.
    pub fn volume(mut self, driver: &str, claim: &str) -> Self {
        let claim = format!("{}/{claim}", self.namespace);
        self.volumes.attached.insert(AttachedVolume { driver: driver.to_owned(), claim });
        self
    }

    /// Adds one alternative of the labels that its volumes require.
    pub fn volume_in<const N: usize>(mut self, key: &str, values: [&str; N]) -> Self {
        self.volumes.alternatives.push(Requirements::from_specs(&[requirement(
            key,
            Operator::In,
            values,
        )]));
        self
    }

    /// Must wait for its volumes.
    pub fn waits_for_volume(mut self, sentence: &str) -> Self {
        self.volumes.waiting = Some(sentence.to_owned());
        self
    }

    /// Requests devices through Dynamic Resource Allocation.
    pub fn dra(mut self) -> Self {
        self.spec.uses_dra = true;
        self
    }

    /// Gives it another role.
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Makes it a pod that stands for spare capacity.
    pub fn buffer(self) -> Self {
        self.role(Role::Buffer)
    }

    /// Makes it a running pod that stays on its node.
    pub fn bound(self) -> Self {
        self.role(Role::Bound { daemon_set: None, terminating: false })
    }

    /// Makes it a terminating pod on a node.
    pub fn terminating(self) -> Self {
        self.role(Role::Bound { daemon_set: None, terminating: true })
    }

    /// Makes it a running pod of the DaemonSet `namespace/name`.
    pub fn of_daemon(self, daemon_set: &str) -> Self {
        self.role(Role::Bound { daemon_set: Some(daemon_set.into()), terminating: false })
    }

    /// The pod.
    pub fn build(self) -> Pod {
        let mut pods = self.replicas_named(|name, _| name.to_owned(), 1);
        pods.remove(0)
    }

    /// `count` pods of one workload, named `<name>-0` and so on, that share all common fields.
    pub fn replicas(self, count: usize) -> Vec<Pod> {
        self.replicas_named(|name, index| format!("{name}-{index}"), count)
    }

    fn replicas_named(self, name: impl Fn(&str, usize) -> String, count: usize) -> Vec<Pod> {
        let (namespace, labels) = (Arc::<str>::from(self.namespace), Arc::new(self.labels));
        let (spec, volumes) = (Arc::new(self.spec), Arc::new(self.volumes));
        (0..count)
            .map(|index| {
                let name = name(&self.name, index);
                Pod {
                    uid: format!("{namespace}/{name}").into(),
                    name: name.into(),
                    namespace: namespace.clone(),
                    created: self.created,
                    labels: labels.clone(),
                    spec: spec.clone(),
                    volumes: volumes.clone(),
                    role: self.role.clone(),
                }
            })
            .collect()
    }

    /// A DaemonSet with this pod.
    pub fn daemon(self) -> Daemon {
        Daemon {
            key: format!("{}/{}", self.namespace, self.name).into(),
            spec: Arc::new(self.spec),
            volumes: Arc::new(self.volumes),
        }
    }
}

impl From<PodBuilder> for Pod {
    fn from(builder: PodBuilder) -> Self {
        builder.build()
    }
}
