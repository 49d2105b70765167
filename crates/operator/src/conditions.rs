//! Conditions of objects: status, reason, message and transition time.
//!
//! Some conditions are dependents of the root condition `Ready`. It is true when all of them are,
//! and otherwise names those that are not. The other conditions are independent. A kind without
//! dependents has no `Ready`.

use std::{borrow::Cow, cmp::Reverse};

use jiff::{Timestamp, Unit};
use joiner_api::{
    capacity_buffer::CapacityBuffer,
    condition::{Condition, find},
    node_claim::NodeClaim,
    node_overlay::NodeOverlay,
    node_pool::NodePool,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The root condition.
pub const READY: &str = "Ready";
/// Of claims: the instance was created.
pub const LAUNCHED: &str = "Launched";
/// Of claims: the node has joined.
pub const REGISTERED: &str = "Registered";
/// Of claims: the node can take pods.
pub const INITIALIZED: &str = "Initialized";
/// Of claims: the node was quiet for long enough to be consolidated.
pub const CONSOLIDATABLE: &str = "Consolidatable";
/// Of claims: the instance no longer matches its pool or class.
pub const DRIFTED: &str = "Drifted";
/// Of claims: the claim is being disrupted.
pub const DISRUPTION_REASON: &str = "DisruptionReason";
/// Of claims: the node is being rebooted. Karpenter 1.15 sets it.
pub const REBOOTING: &str = "Rebooting";
/// Of claims: the node is drained.
pub const DRAINED: &str = "Drained";
/// Of claims: the volumes of evicted pods are detached.
pub const VOLUMES_DETACHED: &str = "VolumesDetached";
/// Of claims: the cloud accepted the removal of the instance.
pub const INSTANCE_TERMINATING: &str = "InstanceTerminating";
/// Of claims: the node is about as large as its type.
pub const CONSISTENT_STATE_FOUND: &str = "ConsistentStateFound";
/// Of pools and overlays: the spec is valid.
pub const VALIDATION_SUCCEEDED: &str = "ValidationSucceeded";
/// Of pools, and only when false: its budgets are readable. If they are not, its instances are not
/// disrupted.
pub const BUDGETS_VALID: &str = "BudgetsValid";
/// Of pools: its class is ready.
pub const NODE_CLASS_READY: &str = "NodeClassReady";
/// Of pools: recent instances have registered.
pub const NODE_REGISTRATION_HEALTHY: &str = "NodeRegistrationHealthy";
/// Of buffers: the room to keep free is known.
pub const READY_FOR_PROVISIONING: &str = "ReadyForProvisioning";
/// Of buffers: the room is free.
pub const PROVISIONING: &str = "Provisioning";

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It is not known yet.
    Unknown,
}

impl Status {
    /// The text in a condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// An object with conditions, some of which are dependents of `Ready`.
pub trait Conditioned {
    /// The dependents of `Ready`.
    const DEPENDENTS: &'static [&'static str];

    /// Its metadata, and its conditions for changes.
    fn parts(&mut self) -> (&ObjectMeta, &mut Vec<Condition>);

    /// Its conditions.
    fn conditions(&self) -> &[Condition];

    /// The conditions for changes at `now`. Missing dependents and `Ready` are added as unknown.
    fn conditions_mut(&mut self, now: Timestamp) -> ConditionSet<'_> {
        let (metadata, list) = self.parts();
        let created = metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
        let mut set = ConditionSet {
            dependents: Self::DEPENDENTS.into(),
            generation: metadata.generation.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            now: seconds(now),
            list,
        };
        set.ensure(seconds(created));
        set
    }

    /// The status of a condition; unknown if it is missing.
    fn status(&self, type_: &str) -> Status {
        match find(self.conditions(), type_).map(|condition| condition.status.as_str()) {
            Some("True") => Status::True,
            Some("False") => Status::False,
            _ => Status::Unknown,
        }
    }

    /// Whether a condition holds.
    fn holds(&self, type_: &str) -> bool {
        self.status(type_) == Status::True
    }

    /// When a condition last changed its status.
    fn since(&self, type_: &str) -> Option<Timestamp> {
        find(self.conditions(), type_)?.last_transition_time.as_ref().map(|time| time.0)
    }
}

/// Implements the trait for kinds, with their dependents of `Ready`.
macro_rules! conditioned {
    ($($kind:ident: $dependents:expr;)+) => {
        $(impl Conditioned for $kind {
            const DEPENDENTS: &'static [&'static str] = &$dependents;

            fn parts(&mut self) -> (&ObjectMeta, &mut Vec<Condition>) {
                (&self.metadata, &mut self.status.get_or_insert_default().conditions)
            }

            fn conditions(&self) -> &[Condition] {
                self.status.as_ref().map_or(&[], |status| &status.conditions)
            }
        })+
    };
}

conditioned! {
    NodeClaim: [LAUNCHED, REGISTERED, INITIALIZED];
    NodePool: [VALIDATION_SUCCEEDED, NODE_CLASS_READY];
    NodeOverlay: [VALIDATION_SUCCEEDED];
    // Buffers have no root condition.
    CapacityBuffer: [];
}

/// The conditions of an object, for changes.
#[derive(Debug)]
pub struct ConditionSet<'o> {
    dependents: Cow<'static, [&'static str]>,
    generation: i64,
    deleting: bool,
    now: Timestamp,
    list: &'o mut Vec<Condition>,
}

impl<'o> ConditionSet<'o> {
    /// The conditions of an object of any kind, with the dependents of `Ready`.
    pub fn new(
        list: &'o mut Vec<Condition>,
        parts: Vec<&'static str>,
        generation: i64,
        now: Timestamp,
    ) -> Self {
        Self { dependents: parts.into(), generation, deleting: false, now: seconds(now), list }
    }

    /// Sets a condition to true.
    pub fn set_true(&mut self, type_: &str) {
        self.set(type_, Status::True, type_, "");
    }

    /// Sets a condition. It keeps its transition time if the status stays the same.
    pub fn set(&mut self, type_: &str, status: Status, reason: &str, message: &str) {
        let changed = self.write(type_, status, reason, message);
        if changed && type_ != READY && !self.dependents.is_empty() {
            self.sum_up();
        }
    }

    /// Confirms a condition for the object's current generation.
    pub fn confirm(&mut self, type_: &str) {
        if let Some(known) = find(self.list, type_).cloned() {
            let status = match known.status.as_str() {
                "True" => Status::True,
                "False" => Status::False,
                _ => Status::Unknown,
            };
            self.set(type_, status, &known.reason, &known.message);
        }
    }

    /// Removes a condition. Dependents of `Ready` stay.
    pub fn clear(&mut self, type_: &str) {
        let Some(index) = self.list.iter().position(|condition| condition.type_ == type_) else {
            return;
        };
        if type_ == READY || self.dependents.contains(&type_) {
            return;
        }
        self.list.remove(index);
        self.list.sort_by(|a, b| a.type_.cmp(&b.type_));
    }

    fn ensure(&mut self, created: Timestamp) {
        if self.dependents.is_empty() {
            return;
        }
        let mut added = false;
        for type_ in self.dependents.iter().chain([&READY]) {
            if find(self.list, type_).is_none() {
                added = true;
                self.list.push(Condition {
                    type_: (*type_).to_owned(),
                    status: Status::Unknown.as_str().to_owned(),
                    last_transition_time: Some(Time(created)),
                    reason: "AwaitingReconciliation".to_owned(),
                    message: "object is awaiting reconciliation".to_owned(),
                    observed_generation: Some(self.generation),
                });
            }
        }
        if added {
            self.order();
        }
    }

    /// Writes one condition; returns whether it changed.
    fn write(&mut self, type_: &str, status: Status, reason: &str, message: &str) -> bool {
        let known = find(self.list, type_);
        let since = known
            .filter(|known| known.status == status.as_str())
            .and_then(|known| known.last_transition_time.clone());
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.as_str().to_owned(),
            last_transition_time: Some(since.unwrap_or(Time(self.now))),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: Some(self.generation),
        };
        let changed = known != Some(&condition);
        if changed {
            self.list.retain(|known| known.type_ != type_);
            self.list.push(condition);
            self.order();
        }
        if self.deleting {
            for condition in self.list.iter_mut() {
                condition.observed_generation = Some(self.generation);
            }
        }
        changed
    }

    /// Updates `Ready` from its dependents.
    pub fn sum_up(&mut self) {
        let mut unhealthy: Vec<&Condition> = self
            .list
            .iter()
            .filter(|condition| self.dependents.contains(&condition.type_.as_str()))
            .filter(|condition| !(condition.is_true() && self.is_current(condition)))
            .collect();
        unhealthy.sort_by_key(|condition| Reverse(since(condition)));
        if unhealthy.is_empty() {
            self.write(READY, Status::True, READY, "");
            return;
        }
        let texts: Vec<String> = unhealthy
            .iter()
            .map(|condition| format!("{}={}", condition.type_, condition.status))
            .collect();
        let (status, reason) = if unhealthy
            .iter()
            .any(|condition| condition.status == "False" && self.is_current(condition))
        {
            (Status::False, "UnhealthyDependents")
        } else {
            (Status::Unknown, "ReconcilingDependents")
        };
        self.write(READY, status, reason, &texts.join(", "));
    }

    fn is_current(&self, condition: &Condition) -> bool {
        condition.observed_generation == Some(self.generation)
    }

    /// Sorts them: oldest first, `Ready` last.
    fn order(&mut self) {
        self.list.sort_by(|a, b| {
            let place = |condition: &Condition| (condition.type_ == READY, since(condition));
            place(a).cmp(&place(b))
        });
    }
}

fn since(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.as_ref().map(|time| time.0)
}

/// The time truncated to seconds, as conditions store it.
pub fn seconds(time: Timestamp) -> Timestamp {
    let down = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc);
    time.round(down).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-01T{text}Z").parse().unwrap()
    }

    fn claim() -> NodeClaim {
        let mut claim = NodeClaim::default();
        claim.metadata.creation_timestamp = Some(Time(at("00:00:00")));
        claim.metadata.generation = Some(1);
        claim
    }

    fn shown(claim: &NodeClaim) -> Vec<String> {
        let show = |condition: &Condition| {
            let time = since(condition).unwrap().strftime("%H:%M:%S").to_string();
            format!(
                "{time} {}={} {} {}",
                condition.type_, condition.status, condition.reason, condition.message
            )
            .trim_end()
            .to_owned()
        };
        claim.conditions().iter().map(show).collect()
    }

    #[test]
    fn an_object_of_which_nothing_was_said_awaits_reconciliation_since_it_was_made() {
        let mut claim = claim();
        claim.conditions_mut(at("00:05:00"));
        let awaiting = "AwaitingReconciliation object is awaiting reconciliation";
        let expected: Vec<String> = [LAUNCHED, REGISTERED, INITIALIZED, READY]
            .map(|type_| format!("00:00:00 {type_}=Unknown {awaiting}"))
            .into();
        assert_eq!(shown(&claim), expected);
    }

    #[test]
    fn ready_says_which_of_its_parts_are_missing_newest_first() {
        let mut claim = claim();
        claim.conditions_mut(at("00:01:00")).set_true(LAUNCHED);
        claim.conditions_mut(at("00:02:00")).set(
            REGISTERED,
            Status::False,
            "MultipleNodesFound",
            "two",
        );
        let ready = find(claim.conditions(), READY).unwrap();
        assert_eq!(
            (ready.status.as_str(), ready.reason.as_str()),
            ("False", "UnhealthyDependents")
        );
        assert_eq!(ready.message, "Registered=False, Initialized=Unknown");
    }

    #[test]
    fn ready_is_true_when_all_of_its_parts_are() {
        let mut claim = claim();
        for (type_, time) in
            [(LAUNCHED, "00:01:00"), (REGISTERED, "00:02:00"), (INITIALIZED, "00:03:00")]
        {
            claim.conditions_mut(at(time)).set_true(type_);
        }
        assert_eq!(
            shown(&claim),
            [
                "00:01:00 Launched=True Launched",
                "00:02:00 Registered=True Registered",
                "00:03:00 Initialized=True Initialized",
                "00:03:00 Ready=True Ready",
            ]
        );
    }

    #[test]
    fn the_time_is_kept_while_the_status_is_the_same() {
        let mut claim = claim();
        claim.conditions_mut(at("00:01:00")).set(LAUNCHED, Status::Unknown, "LaunchFailed", "no");
        assert_eq!(claim.since(LAUNCHED), Some(at("00:00:00")));
        claim.conditions_mut(at("00:02:00")).set_true(LAUNCHED);
        claim.conditions_mut(at("00:03:00")).set_true(LAUNCHED);
        assert_eq!(claim.since(LAUNCHED), Some(at("00:02:00")));
    }

    #[test]
    fn while_an_object_is_deleted_every_condition_is_about_its_latest_generation() {
        let mut claim = claim();
        claim.conditions_mut(at("00:01:00")).set_true(LAUNCHED);
        claim.metadata.generation = Some(2);
        claim.metadata.deletion_timestamp = Some(Time(at("00:02:00")));
        claim.conditions_mut(at("00:02:00")).set_true(INSTANCE_TERMINATING);
        assert!(
            claim.conditions().iter().all(|condition| condition.observed_generation == Some(2))
        );
    }

    #[test]
    fn where_nothing_makes_up_ready_there_is_none() {
        let mut buffer = CapacityBuffer::default();
        buffer.conditions_mut(at("00:01:00")).set(PROVISIONING, Status::False, "BufferEmpty", "");
        let types: Vec<&str> =
            buffer.conditions().iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(types, [PROVISIONING]);
    }

    #[test]
    fn what_stands_for_itself_does_not_touch_ready_and_can_be_taken_back() {
        let mut claim = claim();
        for type_ in [LAUNCHED, REGISTERED, INITIALIZED] {
            claim.conditions_mut(at("00:01:00")).set_true(type_);
        }
        claim.conditions_mut(at("00:02:00")).set(DRAINED, Status::Unknown, "Draining", "Draining");
        assert!(claim.holds(READY));
        claim.conditions_mut(at("00:03:00")).clear(DRAINED);
        assert!(find(claim.conditions(), DRAINED).is_none());
        claim.conditions_mut(at("00:03:00")).clear(LAUNCHED);
        assert!(claim.holds(LAUNCHED));
    }
}
