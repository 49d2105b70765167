//! Taints and tolerations.

use serde::{Deserialize, Serialize};

/// The effect of an untolerated taint. The Kubernetes API allows any text, so unknown effects are kept as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Effect {
    /// New pods are kept away.
    NoSchedule,
    /// New pods are kept away if possible.
    PreferNoSchedule,
    /// New pods are kept away and running ones are evicted.
    NoExecute,
    /// Any other effect, including the empty one.
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
    /// The spelling in the Kubernetes API.
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
    /// The key.
    pub key: String,
    /// Compared by tolerations with operator `Equal`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect.
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

/// Key of the taint that a node has until it has registered.
const UNREGISTERED: &str = "karpenter.sh/unregistered";

impl Taint {
    /// The taint that kubelets register with. It keeps pods away until the node has its labels and taints.
    pub fn unregistered() -> Self {
        Self { key: UNREGISTERED.to_owned(), value: String::new(), effect: Effect::NoExecute }
    }

    /// Whether `other` is the same taint: key and effect are equal, and the value does not matter.
    pub fn matches(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }

    /// Whether the taint is temporary on a starting node. The planner ignores such taints until the node is
    /// initialized.
    pub fn is_ephemeral(&self) -> bool {
        match self.key.as_str() {
            "node.kubernetes.io/not-ready" => {
                matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
            }
            "node.kubernetes.io/unreachable" | "node.cloudprovider.kubernetes.io/uninitialized" => {
                self.effect == Effect::NoSchedule
            }
            UNREGISTERED => self.effect == Effect::NoExecute,
            key => key.starts_with("readiness.k8s.io/"),
        }
    }
}

/// The comparison of a toleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TolerationOperator {
    /// The key and the value are equal; an empty key matches every taint.
    Equal,
    /// The key is equal; an empty key matches every taint.
    Exists,
    /// The taint's value is an integer below the toleration's.
    Lt,
    /// The taint's value is an integer above the toleration's.
    Gt,
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Toleration {
    /// The empty key matches every key. The API server accepts it only with `Exists`.
    pub key: String,
    /// The comparison with `value`.
    pub operator: TolerationOperator,
    /// The value to compare with the taint's.
    pub value: String,
    /// `None` matches every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// The toleration that a pod gets when `PreferNoSchedule` taints are ignored for it.
    pub fn prefer_no_schedule() -> Self {
        Self {
            key: String::new(),
            operator: TolerationOperator::Exists,
            value: String::new(),
            effect: Some(Effect::PreferNoSchedule),
        }
    }

    /// Whether this toleration tolerates `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.as_ref().is_some_and(|effect| *effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        let numbers = || Some((decimal_integer(&taint.value)?, decimal_integer(&self.value)?));
        match self.operator {
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => numbers().is_some_and(|(taint, ours)| taint < ours),
            TolerationOperator::Gt => numbers().is_some_and(|(taint, ours)| taint > ours),
        }
    }
}

/// An integer in the only form that Kubernetes accepts in taints: without plus sign and leading zeros.
fn decimal_integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

/// The first taint that none of `tolerations` tolerates.
pub fn first_untolerated<'t>(taints: &'t [Taint], tolerations: &[Toleration]) -> Option<&'t Taint> {
    taints.iter().find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `key=value:effect`.
    fn taint(text: &str) -> Taint {
        let (rest, effect) = text.rsplit_once(':').unwrap();
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned().into() }
    }

    fn toleration(
        key: &str,
        operator: TolerationOperator,
        value: &str,
        effect: &str,
    ) -> Toleration {
        Toleration {
            key: key.to_owned(),
            operator,
            value: value.to_owned(),
            effect: (!effect.is_empty()).then(|| effect.to_owned().into()),
        }
    }

    #[test]
    fn tolerations_by_key_value_and_effect() {
        use TolerationOperator::{Equal, Exists};
        for (key, operator, value, effect, tolerated) in [
            ("gpu", Equal, "a", "NoSchedule", true),
            ("gpu", Equal, "b", "NoSchedule", false),
            ("gpu", Equal, "", "NoSchedule", false),
            ("cpu", Equal, "a", "NoSchedule", false),
            ("gpu", Equal, "a", "NoExecute", false),
            ("gpu", Equal, "a", "", true),
            ("gpu", Exists, "", "NoSchedule", true),
            ("gpu", Exists, "b", "NoSchedule", true),
            ("gpu", Exists, "", "PreferNoSchedule", false),
            ("gpu", Exists, "", "", true),
            ("cpu", Exists, "", "", false),
            ("", Exists, "", "", true),
            ("", Exists, "", "NoExecute", false),
            ("", Equal, "a", "", true),
            ("", Equal, "b", "", false),
        ] {
            let toleration = toleration(key, operator, value, effect);
            assert_eq!(
                toleration.tolerates(&taint("gpu=a:NoSchedule")),
                tolerated,
                "{toleration:?}"
            );
        }
    }

    #[test]
    fn tolerations_by_number() {
        use TolerationOperator::{Gt, Lt};
        for (taint_value, operator, value, tolerated) in [
            ("4", Lt, "5", true),
            ("5", Lt, "5", false),
            ("6", Gt, "5", true),
            ("5", Gt, "5", false),
            ("-6", Lt, "-5", true),
            ("0", Gt, "-1", true),
            // Only integers written in the one plain way are compared.
            ("05", Lt, "6", false),
            ("5", Lt, "+6", false),
            ("-0", Lt, "6", false),
            ("5.0", Lt, "6", false),
            ("", Lt, "6", false),
            ("5", Lt, "", false),
            ("a", Lt, "b", false),
            ("9223372036854775808", Gt, "1", false),
        ] {
            let taint = taint(&format!("size={taint_value}:NoSchedule"));
            let toleration = toleration("size", operator, value, "");
            assert_eq!(toleration.tolerates(&taint), tolerated, "{taint} {operator:?} {value:?}");
        }
    }

    #[test]
    fn every_taint_needs_an_answer() {
        let taints = ["a:NoSchedule", "b:PreferNoSchedule", "c=1:NoExecute"].map(taint);
        let exists = |key: &str| toleration(key, TolerationOperator::Exists, "", "");
        let first = |tolerations: &[Toleration]| {
            first_untolerated(&taints, tolerations).map(ToString::to_string)
        };
        assert_eq!(first(&[]).as_deref(), Some("a:NoSchedule"));
        assert_eq!(first(&[exists("a"), exists("c")]).as_deref(), Some("b:PreferNoSchedule"));
        let relaxed = Toleration::prefer_no_schedule();
        assert_eq!(first(&[exists("a"), relaxed.clone()]).as_deref(), Some("c=1:NoExecute"));
        assert_eq!(first(&[exists("a"), relaxed, exists("c")]), None);
        assert_eq!(first(&[exists("")]), None);
    }

    #[test]
    fn key_and_effect_make_a_taint() {
        assert!(taint("a=1:NoSchedule").matches(&taint("a=2:NoSchedule")));
        assert!(!taint("a=1:NoSchedule").matches(&taint("a=1:NoExecute")));
        assert!(!taint("a=1:NoSchedule").matches(&taint("b=1:NoSchedule")));
    }

    #[test]
    fn taints_of_starting_nodes() {
        for ephemeral in [
            "node.kubernetes.io/not-ready:NoSchedule",
            "node.kubernetes.io/not-ready:NoExecute",
            "node.kubernetes.io/unreachable:NoSchedule",
            "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
            "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule",
            "karpenter.sh/unregistered:NoExecute",
            "readiness.k8s.io/network:NoSchedule",
            "readiness.k8s.io/network=pending:NoExecute",
        ] {
            assert!(taint(ephemeral).is_ephemeral(), "{ephemeral}");
        }
        for lasting in [
            "node.kubernetes.io/not-ready:PreferNoSchedule",
            "node.kubernetes.io/unreachable:NoExecute",
            "node.cloudprovider.kubernetes.io/uninitialized:NoExecute",
            "karpenter.sh/unregistered:NoSchedule",
            "karpenter.sh/disrupted:NoSchedule",
            "node.kubernetes.io/unschedulable:NoSchedule",
            "node.kubernetes.io/disk-pressure:NoSchedule",
            "x.readiness.k8s.io/network:NoSchedule",
        ] {
            assert!(!taint(lasting).is_ephemeral(), "{lasting}");
        }
    }

    #[test]
    fn unknown_effects_are_kept() {
        let json = r#"{"key":"a","value":"1","effect":"NoSchedule"}"#;
        let read: Taint = serde_json::from_str(json).unwrap();
        assert_eq!(read, taint("a=1:NoSchedule"));
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let json = r#"{"key":"a","effect":"NoAdmit"}"#;
        let read: Taint = serde_json::from_str(json).unwrap();
        assert_eq!(read.effect, Effect::Other("NoAdmit".to_owned()));
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}
