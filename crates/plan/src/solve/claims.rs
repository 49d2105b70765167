//! Claims that this pass has opened.

use std::collections::BTreeMap;

use joiner_core::pod::{HostPort, Pod};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    amounts,
    bits::SparseBits,
    labels::ReqId,
    template::RowSetId,
};

/// A claim in the making.
#[derive(Debug)]
pub(crate) struct Claim<'s> {
    pub(crate) template: usize,
    pub(crate) requirements: ReqId,
    /// Rows of the template that are left, before requirements and requests are looked at.
    pub(crate) rows: RowSetId,
    pub(crate) pods: Vec<u32>,
    pub(crate) ports: Vec<&'s HostPort>,
    /// Claims to attach, by driver.
    pub(crate) volumes: FxHashMap<&'s str, FxHashSet<&'s str>>,
    /// Reservations it holds.
    pub(crate) reserved: Vec<usize>,
    /// Whether `minValues` had to be lowered for it.
    pub(crate) min_values_relaxed: bool,
    /// Where it stands in the index; `None` once it is closed.
    place: Option<(usize, u32)>,
}

/// All claims of a pass, in the order they were opened.
#[derive(Debug)]
pub(crate) struct Claims<'s> {
    all: Vec<Claim<'s>>,
    /// What the pods of each claim request, claim after claim.
    requests: Vec<i64>,
    width: usize,
    /// Claims of one template and one set of requirements are of one sort.
    pub(crate) sorts: Vec<Sort>,
    sort_lookup: FxHashMap<(usize, ReqId), usize>,
}

/// Claims that agree in template and requirements, by number of pods.
#[derive(Debug)]
pub(crate) struct Sort {
    pub(crate) template: usize,
    pub(crate) requirements: ReqId,
    pub(crate) by_pods: BTreeMap<u32, SparseBits>,
}

/// How a pod joins a claim.
#[derive(Debug, Clone)]
pub(crate) struct Joining {
    pub(crate) requirements: ReqId,
    pub(crate) rows: RowSetId,
    pub(crate) reserved: Vec<usize>,
    pub(crate) min_values_relaxed: bool,
}

impl<'s> Claims<'s> {
    pub(crate) fn new(width: usize) -> Self {
        Self { all: Vec::new(), requests: Vec::new(), width, sorts: Vec::new(), sort_lookup: FxHashMap::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, claim: usize) -> &Claim<'s> {
        &self.all[claim]
    }

    #[inline]
    pub(crate) fn requests(&self, claim: usize) -> &[i64] {
        &self.requests[claim * self.width..(claim + 1) * self.width]
    }

    /// Opens a claim without pods.
    pub(crate) fn open(&mut self, template: usize, joining: &Joining) -> usize {
        self.all.push(Claim {
            template,
            requirements: joining.requirements,
            rows: joining.rows,
            pods: Vec::new(),
            ports: Vec::new(),
            volumes: FxHashMap::default(),
            reserved: Vec::new(),
            min_values_relaxed: joining.min_values_relaxed,
            place: None,
        });
        self.requests.resize(self.all.len() * self.width, 0);
        self.all.len() - 1
    }

    /// Puts a pod on a claim.
    pub(crate) fn add(
        &mut self,
        claim: usize,
        pod: &'s Pod,
        pod_index: u32,
        requests: &[i64],
        joining: Joining,
    ) {
        amounts::add(&mut self.requests[claim * self.width..(claim + 1) * self.width], requests);
        let entry = &mut self.all[claim];
        entry.pods.push(pod_index);
        entry.ports.extend(&pod.spec.host_ports);
        for volume in &pod.volumes.attached {
            entry.volumes.entry(&volume.driver).or_default().insert(&volume.claim);
        }
        entry.requirements = joining.requirements;
        entry.rows = joining.rows;
        entry.reserved = joining.reserved;
        self.close(claim);
        let entry = &self.all[claim];
        let (template, requirements, pods) = (entry.template, entry.requirements, entry.pods.len() as u32);
        let sort = *self.sort_lookup.entry((template, requirements)).or_insert_with(|| {
            self.sorts.push(Sort { template, requirements, by_pods: BTreeMap::new() });
            self.sorts.len() - 1
        });
        self.sorts[sort].by_pods.entry(pods).or_default().insert(claim);
        self.all[claim].place = Some((sort, pods));
    }

    /// Takes a claim out of the search.
    pub(crate) fn close(&mut self, claim: usize) {
        let Some((sort, pods)) = self.all[claim].place.take() else { return };
        let by_pods = &mut self.sorts[sort].by_pods;
        if let Some(claims) = by_pods.get_mut(&pods) {
            claims.remove(claim);
            if claims.is_empty() {
                by_pods.remove(&pods);
            }
        }
    }
}

impl Claim<'_> {
    pub(crate) fn ports_free(&self, pod: &Pod) -> bool {
        !pod.spec.host_ports.iter().any(|port| self.ports.iter().any(|taken| taken.conflicts(port)))
    }

    /// How many volumes of each driver would be attached with those of `pod`; a claim that is shared counts once.
    pub(crate) fn attached_with<'v>(&'v self, pod: &'v Pod) -> BTreeMap<&'v str, usize> {
        let mut counts: BTreeMap<&str, usize> =
            self.volumes.iter().map(|(driver, claims)| (*driver, claims.len())).collect();
        for volume in &pod.volumes.attached {
            let known = self.volumes.get(volume.driver.as_str());
            if known.is_none_or(|claims| !claims.contains(volume.claim.as_str())) {
                *counts.entry(&volume.driver).or_default() += 1;
            }
        }
        counts
    }
}
