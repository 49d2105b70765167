//! Conditions of objects, by the names of the library that Karpenter takes them from.

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};

use super::{Registrar, RegistrationError, buckets, gauge_set::GaugeSet, object_label};

/// Conditions of the objects of one kind, or of all kinds.
///
/// Gauges have the labels `namespace`, `name`, and those of conditions `type`, `status` and
/// `reason`; then come the labels of the objects themselves, in the order they were given.
#[derive(Debug)]
pub struct ConditionMetrics {
    /// 1 for each condition.
    pub count: GaugeSet,
    /// For how long each condition has had its status.
    pub current_status_seconds: GaugeSet,
    /// For how long each object has been leaving; without the labels of conditions.
    pub termination_current_time_seconds: GaugeSet,
    transitions: IntCounterVec,
    transition_seconds: HistogramVec,
    termination_duration_seconds: HistogramVec,
}

impl ConditionMetrics {
    pub(super) fn of_kind(
        to: &Registrar<'_>,
        kind: &str,
        labels: &[String],
    ) -> Result<Self, RegistrationError> {
        let labels: Vec<String> = labels.iter().map(|key| object_label(key)).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let prefix = format!("operator_{}", kind.to_lowercase());
        Self::register(to, &prefix, &labels, buckets::TRANSITIONS)
    }

    pub(super) fn of_all_kinds(to: &Registrar<'_>) -> Result<Self, RegistrationError> {
        Self::register(to, "operator", &["group", "kind"], buckets::DEFAULTS)
    }

    fn register(
        to: &Registrar<'_>,
        prefix: &str,
        extra: &[&str],
        buckets: &[f64],
    ) -> Result<Self, RegistrationError> {
        let with_extra = |own: &[&'static str]| [own, extra].concat();
        let gauges = |name: &str, help: &str, labels: &[&'static str]| {
            let opts = to.opts(&format!("{prefix}_{name}"), help);
            to.add(GaugeSet::new(&opts, &with_extra(labels))?)
        };
        let histogram = |name: &str, help: &str, labels: &[&'static str]| {
            to.histogram(&format!("{prefix}_{name}"), help, &with_extra(labels), buckets)
        };
        let of_condition = ["namespace", "name", "type", "status", "reason"];
        let transitions = to.opts(
            &format!("{prefix}_status_condition_transitions_total"),
            "Changes of a condition's status.",
        );
        Ok(Self {
            count: gauges("status_condition_count", "1 for each condition.", &of_condition)?,
            current_status_seconds: gauges(
                "status_condition_current_status_seconds",
                "Time since a condition's status changed.",
                &of_condition,
            )?,
            termination_current_time_seconds: gauges(
                "termination_current_time_seconds",
                "Time since an object was deleted that is still there.",
                &["namespace", "name"],
            )?,
            transitions: to.add(IntCounterVec::new(
                transitions,
                &with_extra(&["type", "status", "reason"]),
            )?)?,
            transition_seconds: histogram(
                "status_condition_transition_seconds",
                "Time that a condition had a status before it changed.",
                &["type", "status"],
            )?,
            termination_duration_seconds: histogram(
                "termination_duration_seconds",
                "Time from an object's deletion until it is gone.",
                &[],
            )?,
        })
    }

    /// All gauges.
    pub fn gauges(&self) -> [&GaugeSet; 3] {
        [&self.count, &self.current_status_seconds, &self.termination_current_time_seconds]
    }

    /// Changes to this status, for objects with these labels.
    pub fn transitions(
        &self,
        kind: &str,
        status: &str,
        reason: &str,
        extra: &[&str],
    ) -> IntCounter {
        self.transitions.with_label_values(&[&[kind, status, reason], extra].concat())
    }

    /// Time in this status before it changed, for objects with these labels.
    pub fn transition_seconds(&self, kind: &str, status: &str, extra: &[&str]) -> Histogram {
        self.transition_seconds.with_label_values(&[&[kind, status], extra].concat())
    }

    /// Time from deletion to the end, for objects with these labels.
    pub fn termination_duration_seconds(&self, extra: &[&str]) -> Histogram {
        self.termination_duration_seconds.with_label_values(extra)
    }
}
