//! What the instances of a history cost at each moment, and whether each disruption was worth it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Change, ChangeKind};
use joiner_lab::history::History;
use joiner_operator::marks::DISRUPTION_COMMAND;
use serde_json::Value;

/// How long a disruption has to pay off.
const PAYS_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// How soon after a removal an instance is made that would not have been needed without it.
const UNDONE_WITHIN: SignedDuration = SignedDuration::from_mins(2);
/// What a CPU of the laboratory's instances costs per hour.
const PRICE_PER_CPU: f64 = 0.03;

/// A fleet over time.
#[derive(Debug)]
pub(super) struct Fleet {
    /// From when on all instances together cost so much per hour.
    prices: Vec<(Timestamp, f64)>,
    disruptions: Vec<Disruption>,
    /// Claims that were made because pods waited.
    provisioned: Vec<(Timestamp, String)>,
    /// Nodes that ever had a pod.
    used: BTreeSet<String>,
    end: Timestamp,
}

/// An instance that was chosen to go.
#[derive(Debug)]
struct Disruption {
    at: Timestamp,
    claim: String,
    node: String,
    reason: String,
    /// What all instances cost per hour before anything was done.
    before: f64,
}

impl Fleet {
    pub(super) fn of(history: &History) -> Self {
        let bound = history.changes_of("", "pods");
        let bound = bound.iter().map(|pod| pod.object.field("spec.nodeName").to_owned());
        let mut fleet = Self {
            prices: Vec::new(),
            disruptions: Vec::new(),
            provisioned: Vec::new(),
            used: bound.collect(),
            end: history.latest(),
        };
        let mut instances: BTreeMap<String, f64> = BTreeMap::new();
        for change in history.changes_of("karpenter.sh", "nodeclaims") {
            let before = instances.values().sum();
            let claim = change.object.value();
            let name = claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let Some(reason) = newly_disrupted(&change) {
                let node = claim["status"]["nodeName"].as_str().unwrap_or_default().to_owned();
                let (at, claim) = (change.at, name.clone());
                fleet.disruptions.push(Disruption { at, claim, node, reason, before });
            }
            let replaces = claim["metadata"]["annotations"][DISRUPTION_COMMAND].is_string();
            if change.kind == ChangeKind::Added && !replaces {
                fleet.provisioned.push((change.at, name.clone()));
            }
            match change.kind {
                ChangeKind::Deleted => instances.remove(&name),
                _ => instances.insert(name, price(&claim)),
            };
            let after: f64 = instances.values().sum();
            if (after - before).abs() > f64::EPSILON {
                fleet.prices.push((change.at, after));
            }
        }
        fleet
    }

    /// Disruptions that have cost more than they saved within [`PAYS_WITHIN`]. The load is always
    /// the same, so what the fleet cost before is what it would have cost without them.
    pub(super) fn not_worth_it(&self) -> Vec<String> {
        let over = |disruption: &&Disruption| disruption.at + PAYS_WITHIN <= self.end;
        let judged = self.disruptions.iter().filter(over);
        let lost = judged.filter_map(|disruption| {
            let Disruption { at, claim, reason, before, .. } = disruption;
            let spent = self.spent(*at, *at + PAYS_WITHIN);
            let expected = before * PAYS_WITHIN.as_secs_f64() / 3600.0;
            (spent >= expected).then(|| {
                format!(
                    "{at} {claim} was chosen to go ({reason}); instances cost {before:.2} per hour \
                     before, and {spent:.4} in the hour after, not less than {expected:.4}"
                )
            })
        });
        lost.collect()
    }

    /// Instances that were made, stood empty, and were removed again.
    pub(super) fn made_for_nothing(&self) -> Vec<String> {
        let unused = self.disruptions.iter().filter(|it| !self.used.contains(&it.node));
        let told = unused.map(|it| {
            format!("{} {} goes ({}) and has never had a pod", it.at, it.claim, it.reason)
        });
        told.collect()
    }

    /// Instances that went because their pods would fit elsewhere, and one had to be made for those.
    pub(super) fn undone(&self) -> Vec<String> {
        let packed = self.disruptions.iter().filter(|it| it.reason == "Underutilized");
        let told = packed.filter_map(|it| {
            let soon = |at: &Timestamp| {
                (SignedDuration::ZERO..=UNDONE_WITHIN).contains(&at.duration_since(it.at))
            };
            let (at, made) = self.provisioned.iter().find(|(at, _)| soon(at))?;
            Some(format!("{} {} was chosen to go, and at {at} {made} was made", it.at, it.claim))
        });
        told.collect()
    }

    /// How many instances went for each reason, and what the fleet cost at the end.
    pub(super) fn in_words(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for disruption in &self.disruptions {
            *counts.entry(&disruption.reason).or_default() += 1;
        }
        let last = self.prices.last().map_or(0.0, |(_, price)| *price);
        format!("disruptions {counts:?}, {last:.2} per hour at the end")
    }

    fn spent(&self, from: Timestamp, to: Timestamp) -> f64 {
        let ends = self.prices.iter().skip(1).map(|(at, _)| *at).chain([self.end]);
        let spans = self.prices.iter().zip(ends).map(|((begins, price), ends)| {
            let (begins, ends) = ((*begins).max(from), ends.min(to));
            price * ends.duration_since(begins).as_secs_f64().max(0.0) / 3600.0
        });
        spans.sum()
    }
}

/// What a claim's instance costs per hour; nothing before it is known which one it is.
fn price(claim: &Value) -> f64 {
    let kind = claim["metadata"]["labels"]["node.kubernetes.io/instance-type"].as_str();
    let cpus = kind.and_then(|kind| kind.strip_prefix("lab-")?.strip_suffix('x')?.parse().ok());
    cpus.unwrap_or(0.0) * PRICE_PER_CPU
}

/// The reason for which a change says that an instance goes.
fn newly_disrupted(change: &Change) -> Option<String> {
    let reason = |claim: &Value| {
        let conditions = claim["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let found =
            conditions.find(|it| it["type"] == "DisruptionReason" && it["status"] == "True");
        found.and_then(|condition| Some(condition["reason"].as_str()?.to_owned()))
    };
    let was = change.previous.as_ref().and_then(|claim| reason(&claim.value()));
    reason(&change.object.value()).filter(|_| was.is_none())
}

/// A fleet whose one disruption is 10 minutes after its beginning, with these prices by minute.
fn disrupted_once(reason: &str, node: &str, prices: &[(i64, f64)]) -> Fleet {
    let minute = |minute: i64| Timestamp::from_second(60 * minute).unwrap();
    let disruption = Disruption {
        at: minute(10),
        claim: "claim".to_owned(),
        node: node.to_owned(),
        reason: reason.to_owned(),
        before: 1.0,
    };
    Fleet {
        prices: prices.iter().map(|(at, price)| (minute(*at), *price)).collect(),
        disruptions: vec![disruption],
        provisioned: vec![(minute(11), "new".to_owned())],
        used: ["used".to_owned()].into(),
        end: minute(200),
    }
}

#[test]
fn a_disruption_is_worth_it_if_the_hour_after_it_costs_less() {
    // A replacement costs something beside what it replaces, and less afterwards.
    let paid = disrupted_once("Underutilized", "used", &[(0, 1.0), (10, 1.5), (12, 0.5)]);
    assert_eq!(paid.not_worth_it(), [""; 0]);
    let undone =
        disrupted_once("Underutilized", "used", &[(0, 1.0), (12, 0.5), (14, 1.0), (20, 1.5)]);
    assert_eq!(undone.not_worth_it().len(), 1);
    let for_nothing = disrupted_once("Drifted", "used", &[(0, 1.0)]);
    assert_eq!(for_nothing.not_worth_it().len(), 1);
}

#[test]
fn instances_that_never_had_a_pod_were_made_for_nothing() {
    let prices = [(0, 1.0), (12, 0.5)];
    assert_eq!(disrupted_once("Empty", "used", &prices).made_for_nothing(), [""; 0]);
    assert_eq!(disrupted_once("Empty", "unused", &prices).made_for_nothing().len(), 1);
}

#[test]
fn an_instance_that_is_made_right_after_a_removal_undoes_it() {
    let prices = [(0, 1.0), (12, 0.5)];
    assert_eq!(disrupted_once("Underutilized", "used", &prices).undone().len(), 1);
    assert_eq!(disrupted_once("Empty", "used", &prices).undone(), [""; 0]);
}
