//! Finding a place for a pod: a node, a claim of this pass, or a new claim.

use joiner_core::{
    pod::Pod,
    taint::{Toleration, first_untolerated},
};

use super::{
    Refusal, Solver,
    bits::{Bits, ones},
    claims::{Joining, Turn},
    class::{Form, Parts, Uses, Variant},
    join::JoinRefusal,
    labels::{self, LabelSpace, ReqId},
    nodes::{Appeal, Candidate, Nodes},
    topology::{self, Standing, Topology},
};

/// How many feasible nodes the scheduler compares at least. The scheduler's constant `minFeasibleNodesToFind`: in
/// large clusters it stops searching after a share of the nodes.
const SCHEDULER_COMPARES: usize = 100;

impl Solver<'_> {
    /// The first node in order that takes the pod. In a trial with the scheduler's placement, the node with the
    /// highest score.
    pub(super) fn find_node(&mut self, pod_index: u32, variant: &Variant) -> Option<usize> {
        let pod = self.pods.get(pod_index);
        let respect_quiet = self.trial.respects_quiet() && !self.is_own(pod_index);
        let Self { nodes, labels, topology, classes, trial, .. } = self;
        let Parts { requests, volume_alternatives: alternatives, tolerations, form } =
            classes.all[variant.class].parts(variant.form, labels);
        let mut domains = NodeDomains::new(variant, form.wanted.strict, nodes.sorts.len());
        let mut best: Option<(Appeal, usize)> = None;
        let (first, last) = (form.first_node_word, nodes.len().div_ceil(64));
        let (start, mut enough) = if trial.is_scheduled() && first < last {
            (first + pod_index as usize % (last - first), SCHEDULER_COMPARES)
        } else {
            (first, 1)
        };
        for word in (start..last).chain(first..start) {
            let all = Bits::word_of_all(nodes.len(), word);
            let alive = all & !form.dead_nodes.word(word);
            if alive == 0 {
                if word == form.first_node_word {
                    form.first_node_word += 1;
                }
                continue;
            }
            labels.work.count(1 + variant.uses.hosts.len());
            let open = alive & !nodes.closed(word, respect_quiet);
            for bit in ones(open & !refused_hosts(&variant.uses, topology, true, word)) {
                let position = word * 64 + bit;
                let candidate = nodes.candidate(position);
                labels.work.count(1 + pod.spec.host_ports.len() + pod.volumes.attached.len());
                if !nodes.fits(position, requests)
                    || !suits_sort(form, &tolerations, alternatives, nodes, candidate.sort, labels)
                    || !candidate.ports_free(pod)
                {
                    form.dead_nodes.insert(position);
                    if nodes.is_touched(position) {
                        trial.note_dead_node(variant.class, variant.form, position);
                    }
                    continue;
                }
                if !candidate.can_attach(pod) {
                    continue;
                }
                if !domains.suit(candidate, topology, labels) {
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

    /// The claim with the fewest pods that takes the pod. Among equals, the rule for choices decides.
    pub(super) fn find_claim(&mut self, pod: &Pod, variant: &Variant) -> Option<(usize, Joining)> {
        let mut best: Option<((u32, Turn), usize, Joining)> = None;
        for sort in 0..self.claims.sorts.len() {
            let Some(first) = self.claims.sorts[sort].by_pods.first_key_value() else { continue };
            let (first_pods, template) = (*first.0, self.claims.sorts[sort].template);
            let tolerance = self.classes.all[variant.class].tolerance(variant.form);
            if best.as_ref().is_some_and(|((pods, _), ..)| *pods < first_pods)
                || !tolerance.tolerates[template]
            {
                continue;
            }
            let requirements = self.claims.sorts[sort].requirements;
            let options = self.options(requirements, variant);
            if options.is_empty() {
                continue;
            }
            let limit = best.as_ref().map(|(rank, ..)| *rank);
            if let Some(found) = self.find_claim_of_sort(pod, variant, sort, &options, limit) {
                best = Some(found);
            }
        }
        best.map(|(_, claim, joining)| (claim, joining))
    }

    fn find_claim_of_sort(
        &mut self,
        pod: &Pod,
        variant: &Variant,
        sort: usize,
        options: &[ReqId],
        limit: Option<(u32, Turn)>,
    ) -> Option<((u32, Turn), usize, Joining)> {
        let template = self.claims.sorts[sort].template;
        // The index is only read here. It is moved out so that the rest of the solver can be borrowed.
        let by_pods = std::mem::take(&mut self.claims.sorts[sort].by_pods);
        let mut found = None;
        'search: for (pods, level) in &by_pods {
            let mut cursor = 0;
            loop {
                let form = &*self.classes.all[variant.class].form(variant.form, &mut self.labels);
                let work = &self.labels.work;
                let refused = |word: usize| {
                    work.count(1 + variant.uses.hosts.len());
                    form.dead_claims.word(word)
                        | refused_hosts(&variant.uses, &self.topology, false, word)
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
                    match self.join(pod, variant.class, template, Some(claim), options) {
                        Ok(joining) => {
                            found = Some((rank, claim, joining));
                            break 'search;
                        }
                        Err(JoinRefusal { for_good: true, .. }) => {
                            let class = &mut self.classes.all[variant.class];
                            class.form(variant.form, &mut self.labels).dead_claims.insert(claim);
                            self.trial.note_dead_claim(variant.class, variant.form);
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
        variant: &Variant,
    ) -> Result<(usize, Joining), Refusal> {
        let new_host = |used: &topology::Use| {
            self.topology.group(used.group).allows_new_host(used.selects_self)
        };
        self.labels.work.count(variant.uses.hosts.len());
        if !variant.uses.hosts.iter().all(new_host) {
            return Err(Refusal::NoPlace);
        }
        for template in 0..self.templates.len() {
            let tolerance = self.classes.all[variant.class].tolerance(variant.form);
            if !self.makes_instances(template) || !tolerance.tolerates[template] {
                continue;
            }
            let options = self.options(self.templates[template].requirements, variant);
            match self.join(pod, variant.class, template, None, &options) {
                Ok(joining) => return Ok((template, joining)),
                Err(JoinRefusal { reserved: true, .. }) => return Err(Refusal::Reserved),
                Err(_) => {}
            }
        }
        Err(Refusal::NoPlace)
    }
}

/// Which of 64 instances the pod's constraints over hosts refuse.
#[inline]
fn refused_hosts(uses: &Uses, topology: &Topology, nodes: bool, word: usize) -> u64 {
    uses.hosts
        .iter()
        .map(|used| topology.group(used.group).refused_hosts(used.selects_self, nodes, word))
        .fold(0, |all, refused| all | refused)
}

/// Whether nodes of a sort fit by labels, taints and volumes. The answer never changes.
fn suits_sort(
    form: &mut Form,
    tolerations: &[Toleration],
    alternatives: &[ReqId],
    nodes: &Nodes<'_>,
    sort: usize,
    labels: &mut LabelSpace,
) -> bool {
    if form.node_sorts.is_empty() {
        form.node_sorts = vec![None; nodes.sorts.len()];
    }
    let wanted = form.wanted.all;
    labels.work.count(1);
    *form.node_sorts[sort].get_or_insert_with(|| {
        let (requirements, taint_set) = nodes.sorts[sort];
        labels.work.count(tolerations.len());
        first_untolerated(nodes.taint_set(taint_set), tolerations).is_none()
            && labels.compatible_strict(requirements, wanted)
            && alternatives.iter().any(|volumes| labels.compatible_strict(requirements, *volumes))
    })
}

/// Whether a variant of a pod may go to the domains of nodes, in an unchanged state.
struct NodeDomains<'v> {
    variant: &'v Variant,
    /// The pod's requirements without its preferences.
    strict: ReqId,
    /// For each group, the facts that are equal for all its domains.
    standing: Vec<Standing>,
    of_sort: Vec<Option<bool>>,
}

impl<'v> NodeDomains<'v> {
    fn new(variant: &'v Variant, strict: ReqId, sorts: usize) -> Self {
        let any = !variant.uses.domains.is_empty();
        let of_sort = if any { vec![None; sorts] } else { Vec::new() };
        Self { variant, strict, standing: Vec::new(), of_sort }
    }

    /// Whether the pod may go to a node's domains. A node without a label is in no domain of it.
    fn suit(
        &mut self,
        candidate: &Candidate<'_>,
        topology: &Topology,
        labels: &LabelSpace,
    ) -> bool {
        let Self { variant, strict, standing, of_sort } = self;
        let Some(known) = of_sort.get_mut(candidate.sort) else { return true };
        *known.get_or_insert_with(|| {
            variant.uses.domains.iter().enumerate().all(|(at, used)| {
                let group = topology.group(used.group);
                let key = group.key();
                labels.work.count(1);
                let domain = labels.get(candidate.requirements, key);
                let Some(domain) = domain.and_then(labels::Req::single) else { return false };
                let required = labels.get(*strict, key);
                let pod = |domain| labels.allows(key, required, domain);
                if standing.len() == at {
                    labels.work.count(group.domain_count());
                    standing.push(group.standing(used.selects_self, pod));
                }
                group.allows(standing[at], used.selects_self, pod, domain)
            })
        })
    }
}
