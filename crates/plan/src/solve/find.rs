//! Where a pod could go: a node, a claim of this pass, or a new claim.

use joiner_core::pod::Pod;

use super::{
    Refusal, Solver,
    bits::{Bits, ones},
    claims::{Joining, Turn},
    class::Variant,
    join::JoinRefusal,
    labels::{self, LabelSpace, ReqId},
    nodes::{Appeal, Nodes},
    topology::{self, Topology},
};

/// Among how many nodes that take a pod the scheduler chooses at least, where there are as many. In large clusters it does
/// not look at all of them, and the best of a hundred is hardly worse than that of more.
const SCHEDULER_COMPARES: usize = 100;

impl Solver<'_> {
    /// The first node in order that takes the pod; where the scheduler has its way, the one that appeals to it most.
    pub(super) fn find_node(
        &mut self,
        pod_index: u32,
        class_index: usize,
        variant_index: usize,
    ) -> Option<usize> {
        let pod = self.pods.get(pod_index);
        let respect_quiet = self.trial.respects_quiet() && !self.is_own(pod_index);
        let Self { nodes, labels, topology, classes, trial, .. } = self;
        let class = &mut classes.all[class_index];
        let (requests, alternatives) = (&class.requests, &class.volume_alternatives);
        let variant = &mut class.variants[variant_index];
        let mut domains_suit: Vec<Option<bool>> = Vec::new();
        let mut best: Option<(Appeal, usize)> = None;
        let (first, last) = (variant.first_node_word, nodes.len().div_ceil(64));
        let (start, mut enough) = if trial.is_scheduled() && first < last {
            (first + pod_index as usize % (last - first), SCHEDULER_COMPARES)
        } else {
            (first, 1)
        };
        for word in (start..last).chain(first..start) {
            let all = Bits::word_of_all(nodes.len(), word);
            let alive = all & !variant.dead_nodes.word(word);
            if alive == 0 {
                if word == variant.first_node_word {
                    variant.first_node_word += 1;
                }
                continue;
            }
            let open = alive & !nodes.closed(word, respect_quiet);
            for bit in ones(open & !refused_hosts(variant, topology, true, word)) {
                let position = word * 64 + bit;
                let candidate = nodes.candidate(position);
                if !nodes.fits(position, requests)
                    || !suits_sort(variant, alternatives, nodes, candidate.sort, labels)
                    || !candidate.ports_free(pod)
                {
                    variant.dead_nodes.insert(position);
                    if nodes.is_touched(position) {
                        trial.note_dead_node(class_index, variant_index, position);
                    }
                    continue;
                }
                if !candidate.can_attach(pod) {
                    continue;
                }
                domains_suit.resize(nodes.sorts.len(), None);
                let suits = *domains_suit[candidate.sort].get_or_insert_with(|| {
                    node_domains_suit(variant, candidate.requirements, topology, labels)
                });
                if !suits {
                    continue;
                }
                if !trial.is_scheduled() {
                    return Some(position);
                }
                let appeal = nodes.appeal(position, requests);
                if best.is_none_or(|(most, _)| appeal > most) {
                    best = Some((appeal, position));
                }
                enough -= 1;
                if enough == 0 {
                    return best.map(|(_, position)| position);
                }
            }
        }
        best.map(|(_, position)| position)
    }

    /// The claim with the fewest pods that takes the pod; of equals the one whose turn it is.
    pub(super) fn find_claim(
        &mut self,
        pod: &Pod,
        class_index: usize,
        variant_index: usize,
    ) -> Option<(usize, Joining)> {
        let mut best: Option<((u32, Turn), usize, Joining)> = None;
        for sort in 0..self.claims.sorts.len() {
            let Some(first) = self.claims.sorts[sort].by_pods.first_key_value() else { continue };
            let (first_pods, template) = (*first.0, self.claims.sorts[sort].template);
            let variant = &self.classes.all[class_index].variants[variant_index];
            if best.as_ref().is_some_and(|((pods, _), ..)| *pods < first_pods)
                || !variant.tolerates[template]
            {
                continue;
            }
            let requirements = self.claims.sorts[sort].requirements;
            let options = self.options(requirements, class_index, variant_index);
            if options.is_empty() {
                continue;
            }
            let limit = best.as_ref().map(|(rank, ..)| *rank);
            if let Some(found) =
                self.find_claim_of_sort(pod, class_index, variant_index, sort, &options, limit)
            {
                best = Some(found);
            }
        }
        best.map(|(_, claim, joining)| (claim, joining))
    }

    fn find_claim_of_sort(
        &mut self,
        pod: &Pod,
        class_index: usize,
        variant_index: usize,
        sort: usize,
        options: &[ReqId],
        limit: Option<(u32, Turn)>,
    ) -> Option<((u32, Turn), usize, Joining)> {
        let template = self.claims.sorts[sort].template;
        // The index is only read here; it is set aside so that the rest of the solver can be asked.
        let by_pods = std::mem::take(&mut self.claims.sorts[sort].by_pods);
        let mut found = None;
        'search: for (pods, level) in &by_pods {
            let mut cursor = 0;
            loop {
                let variant = &self.classes.all[class_index].variants[variant_index];
                let refused = |word: usize| {
                    variant.dead_claims.word(word)
                        | refused_hosts(variant, &self.topology, false, word)
                };
                let candidates = level.next(*pods, &mut cursor, &self.claims, refused);
                if candidates.is_empty() {
                    break;
                }
                for (turn, claim) in candidates {
                    let rank = (*pods, turn);
                    if limit.is_some_and(|best| rank > best) {
                        break 'search;
                    }
                    match self.join(pod, class_index, template, Some(claim), options) {
                        Ok(joining) => {
                            found = Some((rank, claim, joining));
                            break 'search;
                        }
                        Err(JoinRefusal { for_good: true, .. }) => {
                            let variant =
                                &mut self.classes.all[class_index].variants[variant_index];
                            variant.dead_claims.insert(claim);
                            self.trial.note_dead_claim(class_index, variant_index);
                        }
                        Err(_) => {}
                    }
                }
            }
            if limit.is_some_and(|(best, _)| *pods >= best) {
                break;
            }
        }
        self.claims.sorts[sort].by_pods = by_pods;
        found
    }

    /// The first template, in order of weight, that takes the pod.
    pub(super) fn find_template(
        &mut self,
        pod: &Pod,
        class_index: usize,
        variant_index: usize,
    ) -> Result<(usize, Joining), Refusal> {
        for template in 0..self.templates.len() {
            let variant = &self.classes.all[class_index].variants[variant_index];
            let host = |used: &topology::Use| {
                self.topology.group(used.group).allows_new_host(used.selects_self)
            };
            if !self.makes_machines(template)
                || !variant.tolerates[template]
                || !variant.host_uses.iter().all(host)
            {
                continue;
            }
            let options =
                self.options(self.templates[template].requirements, class_index, variant_index);
            match self.join(pod, class_index, template, None, &options) {
                Ok(joining) => return Ok((template, joining)),
                Err(JoinRefusal { reserved: true, .. }) => return Err(Refusal::Reserved),
                Err(_) => {}
            }
        }
        Err(Refusal::NoPlace)
    }
}

/// Which of 64 machines the pod's spread and affinity over hosts refuse.
#[inline]
fn refused_hosts(variant: &Variant, topology: &Topology, nodes: bool, word: usize) -> u64 {
    variant
        .host_uses
        .iter()
        .map(|used| topology.group(used.group).refused_hosts(used.selects_self, nodes, word))
        .fold(0, |all, refused| all | refused)
}

/// Whether nodes of a sort suit in labels, taints and volumes; the answer never changes.
fn suits_sort(
    variant: &mut Variant,
    alternatives: &[ReqId],
    nodes: &Nodes<'_>,
    sort: usize,
    labels: &mut LabelSpace,
) -> bool {
    if variant.node_sorts.is_empty() {
        variant.node_sorts = vec![None; nodes.sorts.len()];
    }
    *variant.node_sorts[sort].get_or_insert_with(|| {
        let (requirements, taint_set) = nodes.sorts[sort];
        joiner_core::taint::first_untolerated(nodes.taint_set(taint_set), &variant.tolerations)
            .is_none()
            && labels.compatible_strict(requirements, variant.wanted.all)
            && alternatives.iter().any(|volumes| labels.compatible_strict(requirements, *volumes))
    })
}

/// Whether a node's own domains are allowed to the pod. A node without a label is in no domain of it.
fn node_domains_suit(
    variant: &Variant,
    requirements: ReqId,
    topology: &Topology,
    labels: &LabelSpace,
) -> bool {
    variant.domain_uses.iter().all(|used| {
        let group = topology.group(used.group);
        let key = group.key();
        let Some(domain) = labels.get(requirements, key).and_then(labels::Req::single) else {
            return false;
        };
        let own = labels.get(variant.wanted.strict, key);
        group
            .allowed(used.selects_self, |d| labels.allows(key, own, d), |d| d == domain)
            .domains
            .contains(domain)
    })
}
