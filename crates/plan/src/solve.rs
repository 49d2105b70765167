//! Placing pods: nodes that exist first, then claims opened in this pass, then new claims.
//!
//! Pods are taken largest first. A pod that finds no place goes to the back of the queue and is tried again as long as
//! any other pod is placed, since that may be what it waits for. The order in which places are asked, and in which a
//! pod's preferences are given up, is Karpenter's; what makes this fast is in the parts: requirements are numbers
//! ([`labels`]), instance types are rows ([`template`]), equal pods are one [`class`], counts are arrays ([`topology`]).

mod amounts;
mod bits;
mod claims;
mod class;
mod diagnose;
mod find;
mod finish;
mod join;
mod journal;
mod labels;
mod limits;
mod nodes;
mod ports;
mod reservations;
mod template;
mod topology;
mod trial;
mod zones;

use std::collections::VecDeque;

use joiner_core::{
    pod::{Pod, Role},
    resources::{CPU, MEMORY},
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::Snapshot,
};

use self::{
    amounts::Columns,
    claims::{ClaimOrder, Claims, Joining},
    class::{ClassContext, Classes, Variant},
    labels::LabelSpace,
    limits::Remaining,
    nodes::Nodes,
    reservations::Reservations,
    template::Template,
    topology::{GroupId, Instance, Topology, Way},
    trial::Trial,
    zones::Zones,
};
pub(crate) use self::{
    class::narrow,
    diagnose::contradiction,
    finish::{Shapes, unplaced},
    trial::{Placements, Rules},
};
use crate::work::{Budget, Scale};

/// How choices among equals are made. Upstream leaves them to chance; here each way gives one plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Choices {
    claims: ClaimOrder,
    /// Of domains that are equally good the last in order, not the first.
    last_domain: bool,
    /// Whether hosts may have as many pods more than the host with fewest as the skew says, as the scheduler counts; else
    /// as many more than none, as upstream counts.
    counts_hosts: bool,
}

impl Choices {
    /// The ways to try, the first of which is the one to take when only one is tried.
    pub(crate) const WAYS: [Self; 6] = [
        Self::way(ClaimOrder::Opening, false),
        Self::way(ClaimOrder::LastJoined, false),
        Self::way(ClaimOrder::Newest, false),
        Self::way(ClaimOrder::Opening, true),
        Self::way(ClaimOrder::LastJoined, true),
        Self::way(ClaimOrder::Newest, true),
    ];

    const fn way(claims: ClaimOrder, last_domain: bool) -> Self {
        Self { claims, last_domain, counts_hosts: false }
    }

    /// The same way, with hosts compared with the one that has fewest pods.
    pub(crate) fn counting_hosts(self) -> Self {
        Self { counts_hosts: true, ..self }
    }
}

/// One pass over the pods of a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Solver<'s> {
    snapshot: &'s Snapshot,
    pods: Pods<'s>,
    settings: PlanSettings,
    choices: Choices,
    columns: Columns,
    labels: LabelSpace,
    /// One per usable pool that has types, in the order they are tried.
    templates: Vec<Template<'s>>,
    /// Whether each of them can make instances at all.
    usable: Vec<Usable>,
    remaining: Vec<Remaining>,
    reservations: Reservations,
    topology: Topology,
    zones: Zones<'s>,
    nodes: Nodes<'s>,
    claims: Claims<'s>,
    classes: Classes<'s>,
    /// The least of each resource that any pod of the pass asks for.
    least: Vec<i64>,
    placed: u64,
    /// What is left for pods whose lists are long.
    budget: Budget,
    trial: Trial,
}

/// The pods that may have to be placed, by number.
#[derive(Debug, Clone)]
pub(crate) struct Pods<'s> {
    /// The first are to be placed whatever happens. They are a slice, since a large pass looks at each of them often.
    pub(crate) own: &'s [Pod],
    /// The others only if their instances go.
    pub(crate) others: Vec<&'s Pod>,
}

impl<'s> Pods<'s> {
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &'s Pod {
        let number = number as usize;
        self.own.get(number).unwrap_or_else(|| self.others[number - self.own.len()])
    }

    pub(crate) fn len(&self) -> usize {
        self.own.len() + self.others.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'s Pod> {
        self.own.iter().chain(self.others.iter().copied())
    }
}

/// How far a pass has come, as far as a refused pod may care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    placed: u64,
    claims: usize,
    refusal: Refusal,
}

/// Why a pod found no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refusal {
    /// Nothing suits.
    NoPlace,
    /// Reserved capacity would suit, but is taken; the pod waits for it.
    Reserved,
    /// Nothing suited so far, and looking once more is more work than is left for it.
    UsedUp,
}

/// Where a pod can go.
#[derive(Debug)]
enum Place {
    /// A node, by its position among the candidates.
    Node(usize),
    Claim(usize, Joining),
    /// A new claim.
    Template(usize, Joining),
    /// Reserved capacity would suit, but is taken.
    Reserved,
}

/// A pod in the queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    pod: u32,
    refusal: Refusal,
    /// The length of the queue when it was last put back; a pod that meets the same length again has seen a whole round
    /// without progress.
    put_back_at: u32,
}

impl Waiting {
    fn new(pod: u32) -> Self {
        Self { pod, refusal: Refusal::NoPlace, put_back_at: u32::MAX }
    }
}

/// Where a pass has put its pods. Those not placed have a refusal.
pub(crate) type Refused = Vec<(u32, Refusal)>;

impl<'s> Solver<'s> {
    /// Prepares a pass for those pods of the snapshot that are at the positions `considered`.
    pub(crate) fn new(snapshot: &'s Snapshot, settings: &PlanSettings, considered: &[u32]) -> Self {
        let pods = Pods { own: &snapshot.pods, others: Vec::new() };
        Self::over(pods, snapshot, settings, considered, |_| 0)
    }

    /// Prepares a pass for those of `pods` that have the numbers `considered`. Nodes of a lower `rank` are asked first.
    pub(crate) fn over(
        pods: Pods<'s>,
        snapshot: &'s Snapshot,
        settings: &PlanSettings,
        considered: &[u32],
        rank: impl Fn(usize) -> u32,
    ) -> Self {
        let choices = Choices::default();
        let budget = Scale::new(snapshot, pods.len()).budget();
        let columns = learn_columns(snapshot, considered.iter().map(|pod| pods.get(*pod)));
        let mut labels = LabelSpace::new(&snapshot.catalog.well_known);
        let mut templates: Vec<Template<'s>> = snapshot
            .usable_pools()
            .into_iter()
            .filter(|pool| !snapshot.catalog.types(&pool.name).is_empty())
            .map(|pool| Template::new(snapshot, pool, settings.ignore_dra, &columns, &mut labels))
            .collect();
        let reservations = Reservations::new(snapshot, &mut labels);
        let mut topology = Topology::default();
        let ctx = ClassContext {
            snapshot,
            pods: &pods,
            policy: settings.preferences,
            templates: &templates,
            columns: &columns,
        };
        let mut classes = Classes::new(ctx, considered, &mut labels, &mut topology);
        topology.declare_bound(
            snapshot,
            classes.all.iter().map(|class| class.example),
            &mut labels,
        );
        let nodes = Nodes::new(snapshot, settings.ignore_dra, &columns, &mut labels, rank);
        topology.observe(snapshot, &templates, &nodes, &labels);
        classes.meet_groups(&topology);
        let usable = templates.iter_mut().map(|template| Usable::of(template, &labels)).collect();
        let zones = Zones::new(&snapshot.catalog.room, &mut labels);
        let least = (0..columns.len())
            .map(|column| classes.all.iter().map(|class| class.requests[column]).min().unwrap_or(0))
            .collect();
        Self {
            snapshot,
            pods,
            settings: settings.clone(),
            choices,
            remaining: templates
                .iter()
                .map(|t| Remaining::new(snapshot, t.pool, &columns))
                .collect(),
            claims: Claims::new(columns.len(), choices.claims),
            columns,
            labels,
            templates,
            usable,
            reservations,
            topology,
            zones,
            nodes,
            classes,
            least,
            placed: 0,
            budget,
            trial: Trial::default(),
        }
    }

    /// The same pass before its first pod, with another way to choose among equals.
    ///
    /// COMPAT: spread over hosts is compared with the host that has fewest pods, if the way says so (D51). Trials never
    /// say so: what they change about it could not be taken back, and replicas would be moved together on few hosts
    /// wherever that saves an instance, which nobody expects of consolidation.
    pub(crate) fn with(mut self, choices: Choices) -> Self {
        self.claims = Claims::new(self.columns.len(), choices.claims);
        if choices.counts_hosts {
            self.topology.count_hosts(&self.nodes, &self.labels);
        }
        Self { choices, ..self }
    }

    /// Whether it makes a difference that hosts are compared with the one that has fewest pods.
    pub(crate) fn can_count_hosts(&self) -> bool {
        self.topology.can_count_hosts()
    }

    /// Whether the places of pods that are spread over hosts are right in whatever order pods and instances come. An instance
    /// that was opened late, and has none of these pods, makes the lowest count 0 for those that were placed before.
    pub(crate) fn holds(&mut self) -> bool {
        let crowded: Vec<(GroupId, Instance)> = self.topology.too_crowded_hosts().collect();
        crowded.into_iter().all(|(group, instance)| {
            let pods = match instance {
                Instance::Node(position) => &self.nodes.candidate(position).pods,
                Instance::Claim(claim) => &self.claims.get(claim).pods,
            };
            !pods.iter().any(|pod| {
                let class = self.classes.of_pod[*pod as usize] as usize;
                let strict = self.classes.all[class].strict_uses(&self.labels.work);
                strict.hosts.iter().any(|used| used.group == group)
            })
        })
    }

    /// Places what can be placed. Answers with the pods that found no place; with none if a trial is over before that is
    /// known.
    pub(crate) fn solve(&mut self, considered: &[u32]) -> Refused {
        let pods = self.in_order(considered).into_iter();
        let mut queue: VecDeque<Waiting> = pods.map(Waiting::new).collect();
        while let Some(first) = queue.front().copied() {
            if first.put_back_at == queue.len() as u32 {
                break;
            }
            queue.pop_front();
            if let Err(refusal) = self.place(first.pod) {
                if self.trial.knows_ready_nodes_only() {
                    return vec![(first.pod, refusal)];
                }
                let put_back_at = queue.len() as u32 + 1;
                queue.push_back(Waiting { refusal, put_back_at, ..first });
            } else if self.trial.is_over(&self.claims) {
                return Vec::new();
            }
        }
        let mut left: Refused =
            queue.into_iter().map(|waiting| (waiting.pod, waiting.refusal)).collect();
        left.sort_unstable_by_key(|(pod, _)| *pod);
        left
    }

    /// The largest first; of equals the oldest, then by UID. Pods that only keep room for others come last.
    ///
    /// COMPAT: upstream lets those compete by size (D17).
    fn in_order(&self, considered: &[u32]) -> Vec<u32> {
        let column = |name| self.columns.column(name);
        let (cpu, memory) = (column(CPU), column(MEMORY));
        let mut keyed: Vec<_> = considered
            .iter()
            .map(|index| {
                let pod = self.pods.get(*index);
                let class = &self.classes.all[self.classes.of_pod[*index as usize] as usize];
                let amount =
                    |column: Option<usize>| column.map_or(0, |column| class.requests[column]);
                let size = (std::cmp::Reverse(amount(cpu)), std::cmp::Reverse(amount(memory)));
                (pod.role == Role::Buffer, size, pod.created, &*pod.uid, *index)
            })
            .collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(.., index)| index).collect()
    }

    /// Finds a place for a pod, giving up one preference after the other.
    fn place(&mut self, pod_index: u32) -> Result<(), Refusal> {
        let class_index = self.classes.of_pod[pod_index as usize] as usize;
        let pod = self.pods.get(pod_index);
        // Which volumes a pod attaches is its own affair, so what its class has met does not speak for it.
        let typical = pod.volumes.attached.is_empty();
        if typical && let Some(refusal) = self.still_refused(class_index) {
            return Err(refusal);
        }
        let wishes = self.classes.all[class_index].wishes();
        if self.budget.is_used_up(wishes) {
            return Err(Refusal::UsedUp);
        }
        let before = self.work();
        let found = self.find_place(pod_index, class_index);
        self.budget.spend(wishes, self.work() - before);
        found
    }

    /// How much has been looked at so far, in entries of lists.
    pub(crate) fn work(&self) -> u64 {
        self.labels.work.units() + self.topology.work()
    }

    fn find_place(&mut self, pod_index: u32, class_index: usize) -> Result<(), Refusal> {
        let pod = self.pods.get(pod_index);
        let typical = pod.volumes.attached.is_empty();
        if pod.role == Role::Buffer {
            // Where pods are that only keep room for others, the scheduler sees none.
            self.topology.finish_lowest_hosts();
        }
        let ready_only = self.trial.knows_ready_nodes_only() && !self.is_own(pod_index);
        let mut refusal = Refusal::NoPlace;
        for form in 0..self.classes.all[class_index].forms() {
            match self.first_place(pod_index, class_index, form) {
                None => {}
                Some(Place::Node(node)) => {
                    if ready_only && !self.nodes.candidate(node).node.initialized {
                        break;
                    }
                    self.put_on_node(pod, pod_index, class_index, node);
                    return Ok(());
                }
                Some(Place::Claim(claim, joining)) => {
                    self.put_on_claim(pod, pod_index, class_index, claim, joining);
                    return Ok(());
                }
                Some(Place::Template(..)) if self.trial.knows_ready_nodes_only() => break,
                Some(Place::Template(template, joining)) => {
                    let claim = self.claims.open(template, &joining);
                    let taints = &self.templates[template].pool.taints;
                    self.topology.open_host(claim, joining.requirements, taints, &self.labels);
                    self.put_on_claim(pod, pod_index, class_index, claim, joining);
                    self.count_against_limits(claim);
                    return Ok(());
                }
                // The pod may get what it waits for without giving anything up.
                Some(Place::Reserved) => {
                    refusal = Refusal::Reserved;
                    break;
                }
            }
        }
        if typical {
            let now = Moment { placed: self.placed, claims: self.claims.len(), refusal };
            let class = &mut self.classes.all[class_index];
            class.refused_at = Some(now);
            class.learn_what_is_asked(&self.labels);
            self.trial.note_refused(class_index);
        }
        Err(refusal)
    }

    /// The place of the first variant of a form that has one.
    ///
    /// Each variant gives up one more wish about other pods, so that it has a place if the one before has. The first that
    /// has one is found by halving: a pod with many wishes is not tried once for each.
    fn first_place(&mut self, pod: u32, class: usize, form: usize) -> Option<Place> {
        if !self.classes.all[class].form(form, &mut self.labels).wanted.possible {
            return None;
        }
        let variants = self.classes.all[class].variants(form);
        let first = self.place_of(pod, class, form, 0);
        if first.is_some() || variants == 1 {
            return first;
        }
        let (mut refused, mut placed) = (0, variants - 1);
        let mut place = self.place_of(pod, class, form, placed)?;
        while placed - refused > 1 {
            let middle = usize::midpoint(refused, placed);
            match self.place_of(pod, class, form, middle) {
                Some(found) => (placed, place) = (middle, found),
                None => refused = middle,
            }
        }
        Some(place)
    }

    /// Where a variant of a pod can go.
    fn place_of(
        &mut self,
        pod_index: u32,
        class: usize,
        form: usize,
        step: usize,
    ) -> Option<Place> {
        let uses = self.classes.all[class].uses(form, step, &self.labels.work);
        let variant = Variant { class, form, uses };
        let pod = self.pods.get(pod_index);
        if let Some(node) = self.find_node(pod_index, &variant) {
            return Some(Place::Node(node));
        }
        if let Some((claim, joining)) = self.find_claim(pod, &variant) {
            return Some(Place::Claim(claim, joining));
        }
        match self.find_template(pod, &variant) {
            Ok((template, joining)) => Some(Place::Template(template, joining)),
            Err(Refusal::Reserved) => Some(Place::Reserved),
            Err(Refusal::NoPlace | Refusal::UsedUp) => None,
        }
    }

    /// Whether nothing has happened since a pod of this class was refused that could make a difference to it.
    fn still_refused(&self, class_index: usize) -> Option<Refusal> {
        let class = &self.classes.all[class_index];
        let then = class.refused_at?;
        // Room only shrinks, and requirements only narrow; for a pod that looks at nothing but its own instance, only a
        // new claim is news.
        let steady =
            !class.minds_others() && then.refusal == Refusal::NoPlace && class.asks_well_known();
        let same = then.placed == self.placed || (steady && then.claims == self.claims.len());
        same.then_some(then.refusal)
    }

    fn put_on_node(&mut self, pod: &'s Pod, pod_index: u32, class_index: usize, node: usize) {
        let class = &self.classes.all[class_index];
        self.nodes.add(node, pod, pod_index, &class.requests);
        self.record_on_node(class_index, node, Way::In);
        self.placed += 1;
    }

    /// Takes note of a pod that comes to a node, or leaves it.
    fn record_on_node(&mut self, class_index: usize, node: usize, way: Way) {
        let class = &self.classes.all[class_index];
        let candidate = self.nodes.candidate(node);
        self.topology.record(
            (&class.selecting, &class.declared),
            way,
            Instance::Node(node),
            candidate.requirements,
            // Numbers of nodes' taints and of templates' must not meet.
            (self.templates.len() + candidate.taint_set, &candidate.node.taints),
            &self.labels,
        );
    }

    fn put_on_claim(
        &mut self,
        pod: &'s Pod,
        pod_index: u32,
        class_index: usize,
        claim: usize,
        joining: Joining,
    ) {
        let class = &self.classes.all[class_index];
        let (requirements, rows) = (joining.requirements, joining.rows);
        self.reservations.exchange(&self.claims.get(claim).reserved, &joining.reserved);
        self.claims.add(claim, pod, pod_index, &class.requests, joining);
        let template_index = self.claims.get(claim).template;
        let template = &mut self.templates[template_index];
        self.topology.record(
            (&class.selecting, &class.declared),
            Way::In,
            Instance::Claim(claim),
            requirements,
            (template_index, &template.pool.taints),
            &self.labels,
        );
        if !template
            .front(requirements, rows, &self.labels)
            .fits(self.claims.requests(claim), &self.least)
        {
            self.claims.close(claim);
        }
        self.placed += 1;
    }

    fn count_against_limits(&mut self, claim: usize) {
        let opened = self.claims.get(claim);
        let (index, requirements, rows) = (opened.template, opened.requirements, opened.rows);
        if self.remaining[index].unlimited() {
            return;
        }
        let template = &mut self.templates[index];
        let left =
            template.remaining(requirements, rows, self.claims.requests(claim), &self.labels);
        let types = template.types_of(&left);
        self.trial.note_limits(index, &self.remaining);
        self.remaining[index].take(template, &types);
    }

    /// Whether instances can be made from a template at all.
    fn makes_instances(&self, template: usize) -> bool {
        match self.usable[template] {
            Usable::Yes => true,
            Usable::ShortOfMinValues(..) => self.settings.min_values == MinValuesPolicy::BestEffort,
            Usable::Contradiction(_) | Usable::NoTypes => false,
        }
    }
}

/// Every resource that instances have or pools limit, as exact as anything of the snapshot mentions it. What pods and
/// daemons ask for besides is nowhere.
fn learn_columns<'p>(snapshot: &'p Snapshot, considered: impl Iterator<Item = &'p Pod>) -> Columns {
    let mut columns = Columns::default();
    for node in &snapshot.nodes {
        columns.learn(&node.allocatable);
        columns.learn(&node.counted_capacity());
    }
    for pool in &snapshot.pools {
        columns.learn(&pool.limits);
    }
    for instance_type in snapshot.catalog.by_pool.values().flat_map(|types| types.iter()) {
        columns.learn(&instance_type.capacity);
        columns.learn(&instance_type.overhead.total());
        for offering in &instance_type.offerings {
            columns.learn(&offering.capacity);
            columns.learn(&offering.overhead);
        }
    }
    let mut visited = rustc_hash::FxHashSet::default();
    let bound = snapshot.nodes.iter().flat_map(|node| &node.pods);
    for pod in considered.chain(bound) {
        if visited.insert(&raw const *pod.spec) {
            columns.learn_asked(&pod.spec.requests);
        }
    }
    for daemon in &snapshot.daemons {
        columns.learn_asked(&daemon.spec.requests);
    }
    columns
}

/// Whether a pool can make instances for anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Usable {
    Yes,
    /// It sets this label to a value that its requirements rule out.
    Contradiction(String),
    /// Its requirements leave none of its types.
    NoTypes,
    /// They leave too few values of a label, this many; it depends on the policy whether that is forgiven.
    ShortOfMinValues(labels::Key, u32),
}

impl Usable {
    fn of(template: &mut Template<'_>, labels: &LabelSpace) -> Self {
        let own = labels.decode(template.requirements);
        let ruled_out =
            |(key, value): &(&String, &String)| !own.get(key).is_none_or(|own| own.has(value));
        if let Some((key, _)) = template.pool.labels.iter().find(ruled_out) {
            return Self::Contradiction(key.clone());
        }
        let rows = template.meeting(template.requirements, labels);
        let types = template.types_of(&rows);
        if types.is_empty() {
            return Self::NoTypes;
        }
        let short = template.short_of_min_values(template.requirements, &types, labels);
        match short.first() {
            Some((key, achieved)) => Self::ShortOfMinValues(*key, *achieved),
            None => Self::Yes,
        }
    }
}
