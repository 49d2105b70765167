//! Taints and the tolerations that answer them.

use serde::{Deserialize, Serialize};

/// What an untolerated taint does to a pod. Kubernetes leaves the list open, so unknown effects are kept as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Effect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away if they can.
    PreferNoSchedule,
    /// New pods stay away and running ones leave.
    NoExecute,
    /// Anything else, the empty effect among it.
    Other(String),
}

impl From<String> for Effect {
    fn from(text: String) -> Self {
        match text.as_str() {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(text),
        }
    }
}

impl From<Effect> for String {
    fn from(effect: Effect) -> Self {
        effect.as_str().to_owned()
    }
}

impl Effect {
    /// Kubernetes' spelling.
    pub fn as_str(&self) -> &str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(text) => text,
        }
    }
}

/// A mark on a node that keeps pods away.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Taint {
    /// Label-like key.
    pub key: String,
    /// Compared by tolerations with operator `Equal`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// What it does.
    pub effect: Effect,
}

impl std::fmt::Display for Taint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{}", self.effect.as_str())
    }
}

impl Taint {
    /// Whether `other` is the same taint: key and effect decide, the value does not.
    pub fn matches(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }

    /// Taints that a starting node carries for a while and that a planner looks past until the node is initialized.
    pub fn is_ephemeral(&self) -> bool {
        let known = matches!(
            (self.key.as_str(), &self.effect),
            ("node.kubernetes.io/not-ready", Effect::NoSchedule | Effect::NoExecute)
                | ("node.kubernetes.io/unreachable", Effect::NoSchedule)
                | ("node.cloudprovider.kubernetes.io/uninitialized", Effect::NoSchedule)
                | ("karpenter.sh/unregistered", Effect::NoExecute)
        );
        known || self.key.starts_with("readiness.k8s.io/")
    }
}

/// How a toleration compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TolerationOperator {
    /// Key and value are equal.
    Equal,
    /// The key is equal; an empty key matches every taint.
    Exists,
    /// The taint's value is an integer below the toleration's.
    Lt,
    /// The taint's value is an integer above the toleration's.
    Gt,
}

/// What a pod puts up with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Toleration {
    /// Empty matches every key, with `Exists`.
    pub key: String,
    /// How `value` is compared.
    pub operator: TolerationOperator,
    /// Compared with the taint's.
    pub value: String,
    /// `None` matches every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// What a pod gets when its preferences are relaxed as far as `PreferNoSchedule` taints.
    pub fn prefer_no_schedule() -> Self {
        Self {
            key: String::new(),
            operator: TolerationOperator::Exists,
            value: String::new(),
            effect: Some(Effect::PreferNoSchedule),
        }
    }

    /// Whether this toleration answers `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.as_ref().is_some_and(|effect| *effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        let numbers = || Some((taint.value.parse::<i64>().ok()?, self.value.parse::<i64>().ok()?));
        match self.operator {
            TolerationOperator::Equal => !self.key.is_empty() && self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => numbers().is_some_and(|(taint, own)| taint < own),
            TolerationOperator::Gt => numbers().is_some_and(|(taint, own)| taint > own),
        }
    }
}

/// The first taint that none of `tolerations` answers.
pub fn first_untolerated<'t>(taints: &'t [Taint], tolerations: &[Toleration]) -> Option<&'t Taint> {
    taints.iter().find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
