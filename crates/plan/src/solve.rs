//! Placing pods: on existing nodes first, then on claims of this pass, then on new claims.
//!
//! Pods are placed largest first. A pod without a place returns to the end of the queue. It is tried again while
//! other pods are placed, because it may depend on them. The order of places, and of the preferences that a pod
//! gives up, is Karpenter's. The data structures make it fast: requirements are numbers ([`labels`]), instance
//! types are rows ([`template`]), equal pods are one [`class`], and counts are arrays ([`topology`]).

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

/// The rule for choices among equals. Upstream chooses at random; here each rule gives exactly one plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Choices {
    claims: ClaimOrder,
    /// Among equally good domains, the last one is chosen, not the first.
    last_domain: bool,
    /// How hosts are compared for `maxSkew`: with the host that has fewest pods, as the scheduler does. If `false`,
    /// with an empty host, as upstream does.
    counts_hosts: bool,
}

impl Choices {
    /// The rules to try. If only one is tried, it is the first.
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

    /// The same rule, but hosts are compared with the one that has fewest pods.
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
    /// One per usable pool with instance types, in the order they are tried.
    templates: Vec<Template<'s>>,
    /// Whether each template can create instances.
    usable: Vec<Usable>,
    remaining: Vec<Remaining>,
    reservations: Reservations,
    topology: Topology,
    zones: Zones<'s>,
    nodes: Nodes<'s>,
    claims: Claims<'s>,
    classes: Classes<'s>,
    /// The smallest request for each resource among all pods of the pass.
    least: Vec<i64>,
    placed: u64,
    /// The budget that is left for pods with long lists.
    budget: Budget,
    trial: Trial,
}

/// The pods that may have to be placed, by number.
#[derive(Debug, Clone)]
pub(crate) struct Pods<'s> {
    /// The snapshot's pending pods, which are always placed. They are a slice because a large pass reads each of
    /// them often.
    pub(crate) own: &'s [Pod],
    /// Pods on instances. They are placed only if their instance is removed.
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

/// The progress of a pass that can matter to a refused pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    placed: u64,
    claims: usize,
    refusal: Refusal,
}

/// Why a pod has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refusal {
    /// No place fits.
    NoPlace,
    /// Only reserved capacity would fit, and it is taken. The pod waits for it.
    Reserved,
    /// No place fitted so far, and the budget for another try is used up.
    UsedUp,
}

/// A place for a pod.
#[derive(Debug)]
enum Place {
    /// A node, by its position among the candidates.
    Node(usize),
    Claim(usize, Joining),
    /// A new claim of a template.
    Template(usize, Joining),
    /// Only reserved capacity would fit, and it is taken.
    Reserved,
}

/// A pod in the queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    pod: u32,
    refusal: Refusal,
    /// The length of the queue when the pod was last put back. If the pod meets the same length again, a whole
    /// round has placed no pod.
    put_back_at: u32,
}

impl Waiting {
    fn new(pod: u32) -> Self {
        Self { pod, refusal: Refusal::NoPlace, put_back_at: u32::MAX }
    }
}

/// The pods without a place, each with its refusal.
pub(crate) type Refused = Vec<(u32, Refusal)>;

impl<'s> Solver<'s> {
    /// Prepares a pass for the pods of the snapshot at the positions `considered`.
    pub(crate) fn new(snapshot: &'s Snapshot, settings: &PlanSettings, considered: &[u32]) -> Self {
        let pods = Pods { own: &snapshot.pods, others: Vec::new() };
        Self::over(pods, snapshot, settings, considered, |_| 0)
    }

    /// Prepares a pass for those of `pods` with the numbers `considered`. Nodes of a lower `rank` are tried first.
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
                .map(|template| Remaining::new(snapshot, template.pool, &columns))
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

    /// The same pass before its first pod, with another rule for choices among equals.
    ///
    /// COMPAT: spread over hosts is compared with the host that has fewest pods, if the rule says so (D51). Trials
    /// never use such a rule, because it cannot be undone. It would also move replicas together on few hosts
    /// wherever that saves an instance.
    pub(crate) fn with(mut self, choices: Choices) -> Self {
        self.claims = Claims::new(self.columns.len(), choices.claims);
        if choices.counts_hosts {
            self.topology.count_hosts(&self.nodes, &self.labels);
        }
        Self { choices, ..self }
    }

    /// Whether comparing hosts with the one that has fewest pods changes anything.
    pub(crate) fn can_count_hosts(&self) -> bool {
        self.topology.can_count_hosts()
    }

    /// Whether the placements of pods that are spread over hosts are valid in every order of arrival. An instance
    /// that is opened late without such pods makes the lowest count 0, also for pods placed before.
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

    /// Places the pods. The result is the pods without a place. It is empty if a trial ends before that is known.
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

    /// The largest first. Of equal pods the oldest comes first, then the lowest UID. Buffer pods come last.
    ///
    /// COMPAT: upstream sorts buffer pods by size among the others (D17).
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

    /// Finds a place for a pod, giving up one preference after another.
    fn place(&mut self, pod_index: u32) -> Result<(), Refusal> {
        let class_index = self.classes.of_pod[pod_index as usize] as usize;
        let pod = self.pods.get(pod_index);
        // Pods of one class attach different volumes, so the refusal of one such pod proves nothing for the others.
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

    /// The work done so far, in comparisons of list entries.
    pub(crate) fn work(&self) -> u64 {
        self.labels.work.units() + self.topology.work()
    }

    fn find_place(&mut self, pod_index: u32, class_index: usize) -> Result<(), Refusal> {
        let pod = self.pods.get(pod_index);
        let typical = pod.volumes.attached.is_empty();
        if pod.role == Role::Buffer {
            // The scheduler does not see buffer pods, so they do not change the lowest counts.
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
                // The pod may get what it waits for without giving up any preference.
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
    /// Each variant gives up one more constraint about other pods, so it has a place if the previous one has.
    /// Binary search finds the first one, so a pod with many constraints needs few tries.
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

    /// The place for a variant of a pod.
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

    /// The refusal of this class, if nothing has happened since that could change it.
    fn still_refused(&self, class_index: usize) -> Option<Refusal> {
        let class = &self.classes.all[class_index];
        let then = class.refused_at?;
        // Capacity only shrinks, and requirements only narrow. So a pod without constraints about other pods can
        // only fit a new claim.
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

    /// Updates the counts for a pod that comes to a node, or leaves it.
    fn record_on_node(&mut self, class_index: usize, node: usize, way: Way) {
        let class = &self.classes.all[class_index];
        let candidate = self.nodes.candidate(node);
        self.topology.record(
            (&class.selecting, &class.declared),
            way,
            Instance::Node(node),
            candidate.requirements,
            // Taint sets of nodes and of templates need distinct numbers.
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

    /// Whether instances can be created from a template at all.
    fn makes_instances(&self, template: usize) -> bool {
        match self.usable[template] {
            Usable::Yes => true,
            Usable::ShortOfMinValues(..) => self.settings.min_values == MinValuesPolicy::BestEffort,
            Usable::Contradiction(_) | Usable::NoTypes => false,
        }
    }
}

/// A column for every resource that instances have or that pools limit, exact for every amount in the snapshot.
/// Other resources that pods and daemons request share one column.
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

/// Whether a pool can create instances.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Usable {
    Yes,
    /// The pool sets this label to a value that its requirements exclude.
    Contradiction(String),
    /// The requirements exclude all of its types.
    NoTypes,
    /// The requirements leave too few values of a label; the number of values left. The policy decides whether
    /// `minValues` is lowered.
    ShortOfMinValues(labels::Key, u32),
}

impl Usable {
    fn of(template: &mut Template<'_>, labels: &LabelSpace) -> Self {
        let required = labels.decode(template.requirements);
        let ruled_out = |(key, value): &(&String, &String)| {
            !required.get(key).is_none_or(|required| required.has(value))
        };
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
