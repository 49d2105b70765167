//! Whether existing and launched nodes fit the pods that they receive.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{
    pod::{AttachedVolume, Role},
    requirement::{Operator, Requirements},
    snapshot::{Daemon, Node},
    taint,
};

use crate::{
    amounts::{self, Room},
    compat,
    facts::Facts,
    finding::{Findings, Rule},
    ports::Ports,
};

/// Checks every node that receives pods.
pub(crate) fn check(facts: &Facts<'_>, findings: &mut Findings) {
    for (number, pods) in facts.placement.nodes.iter().enumerate() {
        if !pods.is_empty() {
            let node = &facts.snapshot.nodes[number];
            let labels = node.requirements();
            let one = OneNode { facts, number, node, labels, pods };
            one.check_labels_and_taints(findings);
            one.check_room(findings);
            one.check_ports(findings);
            one.check_volume_limits(findings);
        }
    }
}

/// Labels that a node lacks, but that Karpenter assumes on it after placing a pod there that excludes a value of
/// them.
fn assumed_labels(facts: &Facts<'_>, node: usize) -> BTreeSet<String> {
    let labels = facts.snapshot.nodes[node].requirements();
    let mut assumed = BTreeSet::new();
    for &pod in &facts.placement.nodes[node] {
        let spec = facts.spec(pod);
        let preferred = spec.spec.preferred_node_affinity.iter();
        let preferred = preferred.map(|each| Requirements::from_specs(&each.term.expressions));
        let volumes = facts.pod(pod).volumes.alternatives.iter().cloned();
        for wanted in spec.alternatives().iter().cloned().chain(preferred).chain(volumes) {
            let excluded = wanted.iter().filter(|(_, wanted)| wanted.operator() == Operator::NotIn);
            assumed.extend(excluded.map(|(key, _)| key.to_owned()));
        }
    }
    assumed.retain(|key| labels.get(key).is_none());
    assumed
}

struct OneNode<'c, 'a> {
    facts: &'c Facts<'a>,
    number: usize,
    node: &'a Node,
    labels: Requirements,
    pods: &'c [usize],
}

impl OneNode<'_, '_> {
    fn check_labels_and_taints(&self, findings: &mut Findings) {
        let name = self.node.name();
        for &number in self.pods {
            let pod = self.facts.pod(number);
            let spec = self.facts.spec(number);
            let taints = &self.node.taints;
            if let Some(taint) = compat::first_forbidding(taints, &spec.spec.tolerations) {
                let message = format!("it does not tolerate {taint} of node {name}");
                findings.add(Rule::Taint, pod.key(), message);
            }
            // Field selectors are not checked for a pod that moves.
            let alternatives = spec.alternatives().iter().enumerate().filter(|(alternative, _)| {
                let term = spec.spec.node_affinity.get(*alternative);
                pod.role == Role::Moving || !term.is_some_and(|term| term.has_fields)
            });
            let wanted = alternatives.map(|(_, wanted)| wanted);
            if let Some((rule, why)) = self.unmet(wanted, Rule::Requirement) {
                findings.add(rule, pod.key(), format!("node {name} does not suit it: {why}"));
            }
            let volumes = &pod.volumes.alternatives;
            if !volumes.is_empty()
                && let Some((rule, why)) = self.unmet(volumes, Rule::VolumeTopology)
            {
                let message = format!("node {name} is where its volumes are not: {why}");
                findings.add(rule, pod.key(), message);
            }
        }
    }

    /// The reason why the node's labels satisfy none of `alternatives`.
    fn unmet<'r>(
        &self,
        alternatives: impl IntoIterator<Item = &'r Requirements>,
        rule: Rule,
    ) -> Option<(Rule, String)> {
        let mut first = None;
        let mut refused = Vec::new();
        for wanted in alternatives {
            let error = self.labels.compatible(wanted, None).err()?;
            first.get_or_insert(error);
            refused.push(wanted);
        }
        let Some(error) = first else {
            return Some((rule, "it selects nodes by their fields".to_owned()));
        };
        let assumed = assumed_labels(self.facts, self.number);
        let met_by_assumption = |wanted: &&Requirements| {
            let mut known = (*wanted).clone();
            for key in &assumed {
                known.remove(key);
            }
            self.labels.is_compatible(&known, None)
        };
        let by_assumption = refused.iter().any(met_by_assumption);
        Some((if by_assumption { Rule::RequirementAssumed } else { rule }, error.to_string()))
    }

    /// Checks that everything fits, including daemons that are still missing.
    fn check_room(&self, findings: &mut Findings) {
        let columns = &self.facts.specs.columns;
        let mut daemons = columns.zeros();
        for daemon in &self.facts.snapshot.daemons {
            if self.expects(daemon) {
                amounts::add(&mut daemons, &columns.row(&daemon.spec.requests));
            }
        }
        let mut used = columns.zeros();
        for (pod, &spec) in self.node.pods.iter().zip(&self.facts.spec_of_bound[self.number]) {
            let requests = &self.facts.specs.all[spec].requests;
            amounts::add(&mut used, requests);
            if matches!(&pod.role, Role::Bound { daemon_set: Some(_), .. }) {
                for (left, taken) in daemons.iter_mut().zip(requests) {
                    *left -= taken;
                }
            }
        }
        for (used, left) in used.iter_mut().zip(&daemons) {
            *used += (*left).max(0);
        }
        let wanted = self.facts.requests(self.pods);
        let mut room = Room::of(&self.node.allocatable, columns);
        let mut overdrawn = None;
        for (column, name) in columns.names().iter().enumerate() {
            if self.node.allocatable.contains(name) {
                room.amounts[column] -= used[column];
                if room.amounts[column] < 0 {
                    overdrawn = Some(format!("more of {name} is taken than there is"));
                }
            }
        }
        if let Some(why) = columns.shortage(&wanted, &room).or(overdrawn) {
            findings.add(Rule::NodeOverfull, self.node.name(), why);
        }
    }

    /// Whether a daemon runs on this node under every interpretation of the rules.
    ///
    /// Karpenter reads one alternative of the daemon's node affinity, and which one depends on its earlier work.
    /// `PreferNoSchedule` may keep a daemon away or not.
    fn expects(&self, daemon: &Daemon) -> bool {
        let spec = &daemon.spec;
        !(self.facts.settings.ignore_dra && spec.uses_dra)
            && taint::first_untolerated(&self.node.taints, &spec.tolerations).is_none()
            && spec
                .requirement_alternatives()
                .iter()
                .all(|wanted| self.labels.is_compatible(wanted, None))
    }

    fn check_ports(&self, findings: &mut Findings) {
        let new = self.pods.iter().map(|&pod| self.facts.pod(pod));
        let mut ports = Ports::default();
        for pod in &self.node.pods {
            for port in &pod.spec.host_ports {
                ports.take(port, pod);
            }
        }
        for pod in new {
            for port in &pod.spec.host_ports {
                if let Some(other) = ports.take(port, pod) {
                    let message =
                        format!("{port} of node {} is {}'s", self.node.name(), other.key());
                    findings.add(Rule::HostPort, pod.key(), message);
                }
            }
        }
    }

    /// A driver's exceeded limit is a finding only if the new pods add volumes to it.
    fn check_volume_limits(&self, findings: &mut Findings) {
        let there: BTreeSet<&AttachedVolume> =
            self.node.pods.iter().flat_map(|pod| &pod.volumes.attached).collect();
        let new = self.pods.iter().flat_map(|&pod| &self.facts.pod(pod).volumes.attached);
        let new: BTreeSet<&AttachedVolume> = new.filter(|volume| !there.contains(volume)).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for volume in new.iter().chain(&there) {
            *counts.entry(&volume.driver).or_default() += 1;
        }
        for (driver, limit) in &self.node.volume_limits {
            let count = counts.get(driver.as_str()).copied().unwrap_or_default();
            let adds = new.iter().any(|volume| volume.driver == *driver);
            if adds && count > *limit as usize {
                let message = format!("{count} volumes of {driver}, and it attaches {limit}");
                findings.add(Rule::VolumeLimit, self.node.name(), message);
            }
        }
    }
}
