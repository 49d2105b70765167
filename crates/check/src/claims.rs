//! Whether the instances of a claim fit the claim's pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use joiner_core::{
    label,
    pod::{AttachedVolume, PodVolumes, Role},
    quantity::Quantity,
    resources::Resources,
};

use crate::{
    amounts, compat,
    facts::{Facts, SpecFacts},
    finding::{Findings, Rule},
    metadata, pools,
    ports::Ports,
    shape::Shape,
};

/// The largest difference of prices that writing and parsing can explain. It is far below any price.
const PRICE_TOLERANCE: f64 = 1e-9;

/// Checks claim number `number`.
pub(crate) fn check(facts: &Facts<'_>, number: usize, shape: &Shape<'_>, findings: &mut Findings) {
    let claim = &facts.plan.claims[number];
    let name = facts.claim_name(number);
    for (rule, message) in &shape.problems {
        findings.add(*rule, &name, message);
    }
    metadata::check(&name, claim, shape, &facts.snapshot.catalog.well_known, findings);
    if let Some(price) = shape.price
        && (price - claim.price).abs() > PRICE_TOLERANCE * price.abs().max(1.0)
    {
        let message = format!("its price is {} and its cheapest type costs {price}", claim.price);
        findings.add(Rule::TypePrice, &name, message);
    }
    let one = OneClaim { facts, shape, name, pods: &facts.placement.claims[number] };
    one.check_labels_and_taints(findings);
    one.check_volumes(findings);
    one.check_requests(&claim.requests, findings);
    one.check_room(findings);
    one.check_ports(findings);
    one.check_volume_limits(findings);
}

struct OneClaim<'c, 'a> {
    facts: &'c Facts<'a>,
    shape: &'c Shape<'a>,
    name: String,
    pods: &'c [usize],
}

impl OneClaim<'_, '_> {
    /// Pods with equal specifications have the same problems, so only one of them is reported.
    fn check_labels_and_taints(&self, findings: &mut Findings) {
        let mut seen = BTreeSet::new();
        for &pod in self.pods {
            if !seen.insert(self.facts.spec_of[&pod]) {
                continue;
            }
            let spec = self.facts.spec(pod);
            let taints = &self.shape.pool.pool.taints;
            if let Some(taint) = compat::first_forbidding(taints, &spec.spec.tolerations) {
                let message = format!("it does not tolerate {taint} of {}", self.name);
                findings.add(Rule::Taint, self.facts.pod(pod).key(), message);
            }
            if let Some(why) = self.unsuitable(pod, spec) {
                let message = format!("{} does not suit it: {why}", self.name);
                findings.add(Rule::Requirement, self.facts.pod(pod).key(), message);
            }
        }
    }

    /// The reason why none of a pod's alternatives is certain to be satisfied.
    fn unsuitable(&self, pod: usize, spec: &SpecFacts<'_>) -> Option<String> {
        let well_known = &self.facts.snapshot.catalog.well_known;
        let shortfalls = self.shape.left.shortfalls(self.facts.spec_of[&pod], spec, well_known);
        // The fields of a future node cannot be promised. They are not checked for pods that move.
        let promised = |alternative: usize| {
            self.facts.pod(pod).role == Role::Moving
                || !spec.spec.node_affinity.get(alternative).is_some_and(|term| term.has_fields)
        };
        let mut first = None;
        for (alternative, wanted) in spec.alternatives().iter().enumerate() {
            let why = match &shortfalls[alternative] {
                Some(why) => why.clone(),
                None if !promised(alternative) => "it selects nodes by their fields".to_owned(),
                None => {
                    let of_type = wanted.get(label::INSTANCE_TYPE);
                    let refused = |name: &&str| of_type.is_some_and(|wanted| !wanted.has(name));
                    let name = self.shape.allowed_types.iter().copied().find(refused)?;
                    format!("it may become a {name}")
                }
            };
            first.get_or_insert(why);
        }
        first
    }

    fn check_volumes(&self, findings: &mut Findings) {
        let well_known = &self.facts.snapshot.catalog.well_known;
        let mut seen: BTreeSet<*const PodVolumes> = BTreeSet::new();
        for &pod in self.pods {
            let pod = self.facts.pod(pod);
            let alternatives = &pod.volumes.alternatives;
            if alternatives.is_empty() || !seen.insert(Arc::as_ptr(&pod.volumes)) {
                continue;
            }
            let left = &self.shape.left.requirements;
            let whys: Option<Vec<String>> =
                alternatives.iter().map(|at| compat::shortfall(left, at, well_known)).collect();
            if let Some(why) = whys.and_then(|whys| whys.into_iter().next()) {
                let message = format!("{} may be where its volumes are not: {why}", self.name);
                findings.add(Rule::VolumeTopology, pod.key(), message);
            }
        }
    }

    /// Requests must be at least those of the pods, and at most those of the pods and their daemons.
    ///
    /// In Karpenter, the counted part of the daemons depends on the order of types.
    fn check_requests(&self, requests: &Resources, findings: &mut Findings) {
        let columns = &self.facts.specs.columns;
        let least = self.facts.requests(self.pods);
        let mut daemons = columns.zeros();
        // Daemons of types that were truncated from a long list may count too.
        let cut = self.shape.types.len() >= self.facts.settings.instance_types_max;
        let all = 0..self.shape.pool.types.len();
        let types: Box<dyn Iterator<Item = usize>> =
            if cut { Box::new(all) } else { Box::new(self.shape.types.iter().copied()) };
        let mut loads = BTreeSet::new();
        for load in types.map(|number| &self.shape.pool.types[number].daemons) {
            if loads.insert(Rc::as_ptr(load)) {
                for (most, possible) in daemons.iter_mut().zip(&load.possible) {
                    *most = (*most).max(*possible);
                }
            }
        }
        let stated = columns.row(requests);
        for (column, resource) in columns.names().iter().enumerate() {
            if stated[column] < least[column] || stated[column] > least[column] + daemons[column] {
                let [stated, least, daemons] = [stated[column], least[column], daemons[column]]
                    .map(|nanos| columns.quantity(column, nanos));
                let message = format!(
                    "its requests say {stated} of {resource}; its pods ask for {least}, and \
                     daemons for up to {daemons}"
                );
                findings.add(Rule::ClaimRequests, &self.name, message);
            }
        }
        for (resource, quantity) in requests.iter() {
            if quantity > Quantity::ZERO && !columns.names().contains(&resource) {
                let message =
                    format!("its requests say {quantity} of {resource}; no pod asks for it");
                findings.add(Rule::ClaimRequests, &self.name, message);
            }
        }
    }

    fn check_room(&self, findings: &mut Findings) {
        let columns = &self.facts.specs.columns;
        let requests = self.facts.requests(self.pods);
        for (each, offer) in self.shape.listed() {
            let daemons = &each.daemons.certain;
            let holds = offer.rooms.iter().any(|room| room.holds(&requests, daemons));
            let Some(room) = offer.rooms.first().filter(|_| !holds) else { continue };
            let mut added = each
                .of
                .offerings
                .iter()
                .filter_map(|offering| pools::room_if_added(each.of, offering, columns));
            let rule = if added.any(|room| room.holds(&requests, daemons)) {
                Rule::TypeTooSmallAsOffered
            } else {
                Rule::TypeTooSmall
            };
            let mut wanted = requests.clone();
            amounts::add(&mut wanted, daemons);
            let why = columns.shortage(&wanted, room).unwrap_or_default();
            findings.add(rule, &self.name, format!("type {} is too small: {why}", each.of.name));
        }
    }

    fn check_ports(&self, findings: &mut Findings) {
        let mut ports = Ports::default();
        for &pod in self.pods {
            let pod = self.facts.pod(pod);
            for port in &pod.spec.host_ports {
                if let Some(other) = ports.take(port, pod) {
                    let message =
                        format!("{port} is also wanted by {} on {}", other.key(), self.name);
                    findings.add(Rule::HostPort, pod.key(), message);
                }
            }
        }
        if ports.is_empty() {
            return;
        }
        let mut loads = BTreeSet::new();
        for (each, _) in self.shape.listed() {
            if !loads.insert(Rc::as_ptr(&each.daemons)) {
                continue;
            }
            for &port in &each.daemons.ports {
                if let Some(pod) = ports.holder(port) {
                    let message = format!("a daemon of type {} has {port}", each.of.name);
                    findings.add(Rule::HostPort, pod.key(), message);
                }
            }
        }
    }

    fn check_volume_limits(&self, findings: &mut Findings) {
        let attached: BTreeSet<&AttachedVolume> =
            self.pods.iter().flat_map(|&pod| &self.facts.pod(pod).volumes.attached).collect();
        if attached.is_empty() {
            return;
        }
        for (each, _) in self.shape.listed().filter(|(each, _)| !each.of.volume_limits.is_empty()) {
            let all = attached.union(&each.daemons.volumes);
            let counts = all.fold(BTreeMap::<&str, u32>::new(), |mut counts, volume| {
                *counts.entry(&volume.driver).or_default() += 1;
                counts
            });
            for (driver, limit) in &each.of.volume_limits {
                let count = counts.get(driver.as_str()).copied().unwrap_or_default();
                if count > *limit {
                    let message = format!(
                        "{count} volumes of {driver}, and a {} attaches {limit}",
                        each.of.name
                    );
                    findings.add(Rule::VolumeLimitOfType, &self.name, message);
                }
            }
        }
    }
}
