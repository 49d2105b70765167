//! Claims that this pass has opened.

use std::collections::BTreeMap;

use joiner_core::pod::Pod;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    amounts,
    bits::{SparseBits, ones},
    labels::ReqId,
    ports::Ports,
    template::RowSetId,
};

/// A claim that is still open for pods.
#[derive(Debug, Clone)]
pub(crate) struct Claim<'s> {
    pub(crate) template: usize,
    pub(crate) requirements: ReqId,
    /// The rows of the template that are left, before requirements and requests are applied.
    pub(crate) rows: RowSetId,
    pub(crate) pods: Vec<u32>,
    pub(crate) ports: Ports<'s>,
    /// Volume claims to attach, by driver.
    pub(crate) volumes: FxHashMap<&'s str, FxHashSet<&'s str>>,
    /// The reservations it holds.
    pub(crate) reserved: Vec<usize>,
    /// Whether `minValues` had to be lowered for it.
    pub(crate) min_values_relaxed: bool,
    /// Its position in the index; `None` once it is closed.
    place: Option<(usize, u32)>,
}

/// All claims of a pass, in the order they were opened.
#[derive(Debug, Clone)]
pub(crate) struct Claims<'s> {
    all: Vec<Claim<'s>>,
    /// The requests of the pods of each claim, claim after claim.
    requests: Vec<i64>,
    width: usize,
    order: ClaimOrder,
    turns: Vec<Turn>,
    joined: i64,
    /// The sorts of claims. Claims of one sort have the same template and requirements.
    pub(crate) sorts: Vec<Sort>,
    sort_lookup: FxHashMap<(usize, ReqId), usize>,
    /// The number of settled claims, which take no more pods.
    settled: usize,
}

/// Claims with equal template and requirements, by number of pods.
#[derive(Debug, Clone)]
pub(crate) struct Sort {
    pub(crate) template: usize,
    pub(crate) requirements: ReqId,
    pub(crate) by_pods: BTreeMap<u32, Level>,
}

/// Claims of one sort with the same number of pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    members: SparseBits,
    count: usize,
    /// The members in order of arrival. Claims that have left are removed later, when they slow down the search.
    arrivals: Vec<u32>,
}

/// The order among claims with the same number of pods; the lowest is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn(i64);

/// Which of the claims with equally many pods is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClaimOrder {
    /// The one opened first.
    #[default]
    Opening,
    /// The one that got its last pod last. New claims queue up behind each other.
    ///
    /// COMPAT: upstream leaves the order open. Sorting its list again for every pod results in this order as long
    /// as the list is short.
    LastJoined,
    /// The one opened last, which was opened for the smallest pods.
    Newest,
}

/// Up to this many claims are all sorted. Among more claims, one of the first usually takes the pod. The value was
/// chosen and not measured separately: a larger one sorts more claims that are never tried.
const FEW: usize = 64;

/// How many claims are read at a time if there are many. The value was chosen and not measured separately.
const BATCH: usize = 8;

impl Level {
    fn insert(&mut self, claim: usize) {
        self.members.insert(claim);
        self.count += 1;
        self.arrivals.push(claim as u32);
    }

    fn remove(&mut self, claim: usize) {
        self.members.remove(claim);
        self.count -= 1;
        if self.arrivals.len() > 2 * self.count + FEW {
            let members = &self.members;
            self.arrivals.retain(|claim| members.contains(*claim as usize));
        }
    }

    /// The next claims in order from `cursor` on, which starts at 0. `refused` is a mask of 64 claims by position,
    /// and excludes claims. An empty result is the end.
    pub(crate) fn next(
        &self,
        pods: u32,
        cursor: &mut usize,
        claims: &Claims<'_>,
        refused: impl Fn(usize) -> u64,
    ) -> Vec<(Turn, usize)> {
        let turns = &claims.turns;
        if claims.order != ClaimOrder::LastJoined {
            return self.next_opened(cursor, claims, refused);
        }
        if *cursor == 0 {
            let open = |(word, bits): &(u32, u64)| bits & !refused(*word as usize);
            let mut few: Vec<(Turn, usize)> = Vec::new();
            for entry in self.members.words() {
                few.extend(ones(open(entry)).map(|bit| {
                    let claim = entry.0 as usize * 64 + bit;
                    (turns[claim], claim)
                }));
                if few.len() > FEW {
                    break;
                }
            }
            if few.len() <= FEW {
                *cursor = self.arrivals.len();
                few.sort_unstable();
                return few;
            }
        }
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH && *cursor < self.arrivals.len() {
            // New claims are tried in order of arrival, others in reverse order.
            let at = if pods == 1 { *cursor } else { self.arrivals.len() - 1 - *cursor };
            *cursor += 1;
            let claim = self.arrivals[at] as usize;
            let open = refused(claim / 64) >> (claim % 64) & 1 == 0;
            if open && self.members.contains(claim) {
                batch.push((turns[claim], claim));
            }
        }
        batch
    }

    fn next_opened(
        &self,
        cursor: &mut usize,
        claims: &Claims<'_>,
        refused: impl Fn(usize) -> u64,
    ) -> Vec<(Turn, usize)> {
        let words = self.members.words();
        let newest = claims.order == ClaimOrder::Newest;
        let mut batch = Vec::new();
        while batch.is_empty() && *cursor < words.len() {
            let (word, bits) = words[if newest { words.len() - 1 - *cursor } else { *cursor }];
            *cursor += 1;
            batch.extend(ones(bits & !refused(word as usize)).map(|bit| {
                let claim = word as usize * 64 + bit;
                (claims.turns[claim], claim)
            }));
        }
        if newest {
            batch.reverse();
        }
        batch
    }
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
    pub(crate) fn new(width: usize, order: ClaimOrder) -> Self {
        Self {
            all: Vec::new(),
            requests: Vec::new(),
            width,
            order,
            turns: Vec::new(),
            joined: 0,
            sorts: Vec::new(),
            sort_lookup: FxHashMap::default(),
            settled: 0,
        }
    }

    /// The claims that are not settled.
    pub(crate) fn unsettled(&self) -> std::ops::Range<usize> {
        self.settled..self.all.len()
    }

    /// Settles all claims: they stay as they are and take no more pods.
    pub(crate) fn settle(&mut self) {
        for claim in self.unsettled() {
            self.all[claim].place = None;
        }
        self.settled = self.all.len();
        self.forget_order();
    }

    /// Removes every claim that is not settled.
    pub(crate) fn take_back(&mut self) {
        self.all.truncate(self.settled);
        self.requests.truncate(self.settled * self.width);
        self.turns.truncate(self.settled);
        self.forget_order();
    }

    fn forget_order(&mut self) {
        self.sorts.clear();
        self.sort_lookup.clear();
        self.joined = 0;
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
            ports: Ports::default(),
            volumes: FxHashMap::default(),
            reserved: Vec::new(),
            min_values_relaxed: joining.min_values_relaxed,
            place: None,
        });
        self.requests.resize(self.all.len() * self.width, 0);
        let opened = self.turns.len() as i64;
        self.turns.push(Turn(if self.order == ClaimOrder::Newest { -opened } else { opened }));
        self.all.len() - 1
    }

    /// Adds a pod to a claim.
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
        entry.ports.take(&pod.spec.host_ports);
        for volume in &pod.volumes.attached {
            entry.volumes.entry(&volume.driver).or_default().insert(&volume.claim);
        }
        entry.requirements = joining.requirements;
        entry.rows = joining.rows;
        entry.reserved = joining.reserved;
        self.close(claim);
        self.joined += 1;
        let entry = &self.all[claim];
        if entry.pods.len() > 1 && self.order == ClaimOrder::LastJoined {
            self.turns[claim] = Turn(-self.joined);
        }
        let (template, requirements, pods) =
            (entry.template, entry.requirements, entry.pods.len() as u32);
        let sort = *self.sort_lookup.entry((template, requirements)).or_insert_with(|| {
            self.sorts.push(Sort { template, requirements, by_pods: BTreeMap::new() });
            self.sorts.len() - 1
        });
        self.sorts[sort].by_pods.entry(pods).or_default().insert(claim);
        self.all[claim].place = Some((sort, pods));
    }

    /// Removes a claim from the search.
    pub(crate) fn close(&mut self, claim: usize) {
        let Some((sort, pods)) = self.all[claim].place.take() else { return };
        let by_pods = &mut self.sorts[sort].by_pods;
        if let Some(level) = by_pods.get_mut(&pods) {
            level.remove(claim);
            if level.count == 0 {
                by_pods.remove(&pods);
            }
        }
    }
}

impl Claim<'_> {
    pub(crate) fn ports_free(&self, pod: &Pod) -> bool {
        self.ports.are_free(pod.spec.host_ports.iter())
    }

    /// The number of volumes of each driver that would be attached with those of `pod`. A shared claim counts once.
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
