//! Claims: instances from the moment they are asked for.

use joiner_api::node_claim::NodeClaim;
use joiner_core::{
    label::{CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ZONE},
    resources::{CPU, MEMORY, PODS},
};
use joiner_operator::index::resources;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Change, View, nodes::Seat};
use crate::{
    happenings::{Figures, Note},
    scene::Kind,
    types,
};

/// How long a cloud may take to say what it makes of a claim before that is told.
const LATE_SECONDS: f64 = 5.0;

/// How long an end is told of without its reason at the latest. Controllers write reasons before or
/// right after they delete.
const REASON_SECONDS: f64 = 2.0;

/// What kind of instance it is; empty words where that is not known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) pool: String,
    pub(super) instance_type: String,
    pub(super) zone: String,
    pub(super) capacity_type: String,
}

/// What matters of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Claim {
    pub(super) provider_id: String,
    pub(super) node: String,
    pub(super) shape: Shape,
    /// What it was asked for.
    pub(super) asked: Asked,
    /// What pods can use of it, as far as the cloud has said.
    pub(super) cpu: f64,
    pub(super) memory: f64,
    /// When each step was first seen to be done.
    pub(super) since: f64,
    pub(super) launched: Option<f64>,
    pub(super) registered: Option<f64>,
    pub(super) initialized: Option<f64>,
    pub(super) deleting: Option<f64>,
    /// Why it is on its way out, as a condition or an event says.
    pub(super) why_leaving: String,
    /// What keeps it from being a node, as a condition says.
    trouble: String,
    /// What its node said last, if it did not answer any more when the end began.
    silence: String,
    /// Whether it was told that the cloud lets it wait.
    told_late: bool,
    /// Whether it was told that it goes.
    told_leaving: bool,
}

/// What a claim was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) cpu: f64,
    pub(super) memory: f64,
    pub(super) pods: usize,
    /// How many types of instances would do.
    pub(super) types: usize,
}

impl View {
    pub(super) fn see_claim(&mut self, at: f64, object: &NodeClaim, change: Change) {
        let name = object.metadata.name.clone().unwrap_or_default();
        if change == Change::Gone {
            self.tell_of_end(at, &name, 0.0);
            if let Some(claim) = self.claims.remove(&name) {
                let figures = Figures { price: self.price(&claim.shape), ..Figures::default() };
                self.tell_of_claim(at, &name, &claim, Kind::Gone, "", figures);
            }
            return;
        }
        let first = Claim { since: at, ..Claim::default() };
        let before = self.claims.get(&name).cloned().unwrap_or(first);
        // Several changes may come at the same moment; each step is told once.
        let is_news = |now: Option<f64>, before: Option<f64>| now.is_some() && before.is_none();
        let mut claim = read(object, at, before.clone());
        claim.why_leaving = self.in_words(&claim.why_leaving);
        if is_news(claim.launched, before.launched) {
            let price = self.price(&claim.shape);
            let figures = Figures { price, ..claim.asked.figures() };
            let why = match claim.asked.types {
                0 | 1 => String::new(),
                types => format!("cheapest of {types} types that fit"),
            };
            self.tell_of_claim(at, &name, &claim, Kind::Launched, &why, figures);
        }
        if is_news(claim.initialized, before.initialized) {
            let figures = Figures { seconds: at - claim.since, ..Figures::default() };
            self.tell_of_claim(at, &name, &claim, Kind::Ready, "", figures);
        }
        let goes = claim.deleting.is_some();
        if is_news(claim.deleting, before.deleting) && claim.trouble.is_empty() {
            // Its node may be gone before the end is told.
            let silent =
                self.seat_of(&claim).map(|(_, seat)| seat).filter(|seat| seat.lost.is_some());
            claim.silence = silent.map(|seat| seat.trouble.clone()).unwrap_or_default();
        }
        self.claims.insert(name.clone(), claim);
        if goes {
            self.tell_of_end(at, &name, REASON_SECONDS);
        }
    }

    /// Tells of claims whose end begins and of which it was not said why.
    pub(super) fn tell_of_ends(&mut self, at: f64) {
        let going = self.claims.iter().filter(|(_, claim)| claim.deleting.is_some());
        let going: Vec<String> = going.map(|(name, _)| name.clone()).collect();
        for name in going {
            self.tell_of_end(at, &name, REASON_SECONDS);
        }
    }

    /// Tells once that a claim goes, with the whole reason; that is waited for as long as it takes to
    /// write one.
    pub(super) fn tell_of_end(&mut self, at: f64, name: &str, patience: f64) {
        let Some(claim) = self.claims.get(name).filter(|claim| !claim.told_leaving) else { return };
        let since = claim.deleting.unwrap_or(at);
        if claim.why_leaving.is_empty() && at - since < patience {
            return;
        }
        let why = claim.why_it_goes();
        let claim = Claim { why_leaving: why.clone(), told_leaving: true, ..claim.clone() };
        self.tell_of_claim(at, name, &claim, Kind::Leaving, &why, Figures::default());
        self.claims.insert(name.to_owned(), claim);
    }

    /// Tells of claims that the cloud lets wait. The others are told of when it has decided what
    /// they become, which is usually at once.
    pub(super) fn tell_of_late_launches(&mut self, at: f64) {
        let is_late = |claim: &Claim| {
            let waits = claim.launched.is_none() && claim.deleting.is_none();
            waits && !claim.told_late && at - claim.since > LATE_SECONDS
        };
        let late = self.claims.iter().filter(|(_, claim)| is_late(claim));
        let late: Vec<(String, Claim)> =
            late.map(|(name, claim)| (name.clone(), claim.clone())).collect();
        for (name, claim) in late {
            self.tell_of_claim(at, &name, &claim, Kind::Asked, "", claim.asked.figures());
            self.claims.insert(name, Claim { told_late: true, ..claim });
        }
    }

    fn tell_of_claim(
        &mut self,
        at: f64,
        name: &str,
        claim: &Claim,
        kind: Kind,
        why: &str,
        figures: Figures,
    ) {
        let Shape { pool, instance_type, capacity_type, .. } = &claim.shape;
        let detail = match kind {
            Kind::Leaving if claim.initialized.is_none() => "given up".to_owned(),
            Kind::Leaving => "drained and removed".to_owned(),
            _ => format!("{}, {capacity_type}", types::in_words(instance_type)),
        };
        // Of launches only those of one shape are told together, of ends those of one reason.
        let key = match kind {
            Kind::Launched => format!("{pool}/{detail}"),
            Kind::Leaving => format!("{pool}/{detail}/{why}"),
            _ => pool.clone(),
        };
        let group = pool.clone();
        let note = Note { key, group, figures, ..Note::new(kind, name, &detail, why) };
        self.happenings.note(at, note);
    }

    /// A reason as people read it: instances by the names that they have in the picture, which are
    /// those of their claims.
    pub(super) fn in_words(&self, reason: &str) -> String {
        let claim = |node: &str| {
            let own = self.claims.iter().find(|(_, claim)| !node.is_empty() && claim.node == node);
            own.map(|(name, _)| name.clone())
        };
        types::renamed(&types::in_sentence(reason), claim)
    }

    pub(super) fn price(&self, shape: &Shape) -> f64 {
        self.known_price(shape).unwrap_or_default()
    }

    pub(super) fn known_price(&self, shape: &Shape) -> Option<f64> {
        self.prices.get(&shape.instance_type, &shape.capacity_type, &shape.zone)
    }

    /// The claim of a node.
    pub(super) fn claim_of(&self, node: &str, seat: &Seat) -> Option<(&String, &Claim)> {
        self.claims.iter().find(|(_, claim)| claim.is_of(node, seat))
    }
}

impl Claim {
    /// What is shown of why it goes, or will go; nothing for one that stays.
    pub(super) fn why_shown(&self) -> String {
        let stays = self.deleting.is_none() && self.why_leaving.is_empty();
        if stays { String::new() } else { self.why_it_goes() }
    }

    /// Why it goes, in a whole sentence: as its controller says or, where nothing was said, as its
    /// conditions and its node do.
    fn why_it_goes(&self) -> String {
        let Self { why_leaving, trouble, silence, .. } = self;
        if !why_leaving.is_empty() {
            in_full(why_leaving).to_owned()
        } else if !trouble.is_empty() {
            types::in_sentence(trouble)
        } else if !silence.is_empty() {
            format!("its node does not answer: {silence}")
        } else {
            "its NodeClaim was deleted".to_owned()
        }
    }

    pub(super) fn is_of(&self, node: &str, seat: &Seat) -> bool {
        if self.node.is_empty() {
            !self.provider_id.is_empty() && self.provider_id == seat.provider_id
        } else {
            self.node == node
        }
    }
}

impl Shape {
    /// As the labels of a claim or a node say.
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let label = |key: &str| {
            let labels = metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(key)).cloned().unwrap_or_default()
        };
        Self {
            pool: label(NODE_POOL),
            instance_type: label(INSTANCE_TYPE),
            zone: label(ZONE),
            capacity_type: label(CAPACITY_TYPE),
        }
    }
}

impl Asked {
    fn figures(self) -> Figures {
        let Self { cpu, memory, pods, .. } = self;
        Figures { pods, cpu, memory, ..Figures::default() }
    }
}

/// A whole sentence for a reason that is only a word. Other controllers than Joiner write no more.
fn in_full(reason: &str) -> &str {
    match reason {
        "Empty" => "it holds nothing that would have to move",
        "Underutilized" => "its pods fit elsewhere, and that costs less",
        "Drifted" => "it is not what its NodePool or NodeClass asks for any more",
        "Unhealthy" => "its node is not healthy",
        "Expired" => "it has reached the age at which its NodePool replaces instances",
        sentence => sentence,
    }
}

fn read(object: &NodeClaim, at: f64, before: Claim) -> Claim {
    let requests = object.spec.resources.as_ref().map(|own| &own.requests);
    let requests = resources(requests);
    let of_type = object.spec.requirements.iter().find(|own| own.key == INSTANCE_TYPE);
    let status = object.status.clone().unwrap_or_default();
    let allocatable = resources(Some(&status.allocatable));
    let condition = |kind: &str| status.conditions.iter().find(|own| own.type_ == kind);
    let step = |kind, before: Option<f64>| {
        let done = condition(kind).is_some_and(|own| own.status == "True");
        done.then(|| before.unwrap_or(at))
    };
    let stuck = ["Launched", "Registered", "Initialized"].into_iter().filter_map(condition);
    let stuck = stuck.into_iter().find(|own| own.status == "False");
    let disrupted = condition("DisruptionReason").filter(|own| own.status == "True");
    Claim {
        shape: Shape::of(&object.metadata),
        asked: Asked {
            cpu: requests.get(CPU).as_f64(),
            memory: requests.get(MEMORY).as_f64(),
            pods: requests.get(PODS).floor() as usize,
            types: of_type.map_or(0, |own| own.values.len()),
        },
        cpu: allocatable.get(CPU).as_f64(),
        memory: allocatable.get(MEMORY).as_f64(),
        since: before.since,
        launched: step("Launched", before.launched),
        registered: step("Registered", before.registered),
        initialized: step("Initialized", before.initialized),
        deleting: object
            .metadata
            .deletion_timestamp
            .as_ref()
            .map(|_| before.deleting.unwrap_or(at)),
        why_leaving: match disrupted {
            // What was told stays as it was told.
            Some(_) if before.told_leaving => before.why_leaving,
            Some(own) if own.message.is_empty() => own.reason.clone(),
            Some(own) => own.message.clone(),
            // An event may have said it. A claim that is not marked any more stays.
            None if object.metadata.deletion_timestamp.is_some() => before.why_leaving,
            None => String::new(),
        },
        trouble: stuck.map(|own| own.message.clone()).unwrap_or_default(),
        silence: before.silence,
        told_late: before.told_late,
        told_leaving: before.told_leaving,
        provider_id: status.provider_id.unwrap_or_default(),
        node: status.node_name.unwrap_or_default(),
    }
}
