//! Validation of requirements that users write.

use super::{Operator, RequirementSpec};
use crate::label::{self, WellKnown};

/// The valid capacity types.
const CAPACITY_TYPES: [&str; 3] =
    [label::CAPACITY_TYPE_ON_DEMAND, label::CAPACITY_TYPE_RESERVED, label::CAPACITY_TYPE_SPOT];

/// Why a requirement is not allowed, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequirement {
    /// The label belongs to Karpenter, to the provider or to the node.
    #[error(
        "label {key:?} is restricted, because a value of it could mislead the planner: \
         use a well-known label ({}) or one of a domain of your own", .well_known.join(", ")
    )]
    Restricted {
        /// The label.
        key: String,
        /// The labels that may be used instead.
        well_known: Vec<String>,
    },
    /// Kubernetes rejects the key of the label.
    #[error(
        "label {key:?} is not a valid key: write a name of at most 63 letters, digits, '-', '_' or \
         '.' that begins and ends with a letter or digit, optionally behind a DNS domain and '/'"
    )]
    Key {
        /// The label.
        key: String,
    },
    /// Kubernetes rejects the value of the label.
    #[error(
        "value {value:?} of label {key:?} is not a valid label value: write at most 63 letters, \
         digits, '-', '_' or '.' that begin and end with a letter or digit"
    )]
    Value {
        /// The label.
        key: String,
        /// The value.
        value: String,
    },
    /// `In` without values allows nothing.
    #[error("label {key:?} has operator In and no values: list at least one, or use DoesNotExist")]
    NoValues {
        /// The label.
        key: String,
    },
    /// `In` with fewer values than `minValues` can never be satisfied.
    #[error(
        "label {key:?} lists {values} values and has minValues {min_values}: \
         list more values, or lower minValues"
    )]
    TooFewValues {
        /// The label.
        key: String,
        /// How many values are listed.
        values: usize,
        /// How many must stay possible.
        min_values: u32,
    },
    /// A bound must be one number.
    #[error(
        "label {key:?} has operator {operator} and values {values:?}: \
         write exactly one integer, 0 or above"
    )]
    Bound {
        /// The label.
        key: String,
        /// The operator that needs a bound.
        operator: Operator,
        /// The values as written.
        values: Vec<String>,
    },
    /// None of the values is a capacity type.
    #[error(
        "label {:?} lists {values:?}, none of which is known: use {}",
        label::CAPACITY_TYPE,
        CAPACITY_TYPES.join(", ")
    )]
    UnknownCapacityTypes {
        /// The values as written.
        values: Vec<String>,
    },
    /// Too few of the values are capacity types.
    #[error(
        "label {:?} lists {values:?}, of which {known} are known, and has minValues {min_values}: \
         use {}, or lower minValues",
        label::CAPACITY_TYPE,
        CAPACITY_TYPES.join(", ")
    )]
    TooFewCapacityTypes {
        /// The values as written.
        values: Vec<String>,
        /// How many of the values are capacity types.
        known: usize,
        /// How many must stay possible.
        min_values: u32,
    },
}

impl InvalidRequirement {
    /// Whether the label itself is restricted, with any operator.
    pub fn is_restricted(&self) -> bool {
        matches!(self, Self::Restricted { .. })
    }
}

/// Whether a pool, an overlay or a pod may have `spec`. Returns the first error.
///
/// Beta keys are converted to current ones, here and in the error. As in Karpenter, unknown capacity types are
/// accepted beside known ones: no offering has them.
pub fn validate(spec: &RequirementSpec, well_known: &WellKnown) -> Result<(), InvalidRequirement> {
    let key = label::normalize(&spec.key);
    if well_known.is_restricted(key) {
        return Err(InvalidRequirement::Restricted {
            key: key.to_owned(),
            well_known: well_known.iter().map(str::to_owned).collect(),
        });
    }
    if !label::is_valid_key(key) {
        return Err(InvalidRequirement::Key { key: key.to_owned() });
    }
    if let Some(value) = spec.values.iter().find(|value| !label::is_valid_value(value)) {
        return Err(InvalidRequirement::Value { key: key.to_owned(), value: value.clone() });
    }
    match spec.operator {
        Operator::In => listed(key, spec),
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => bounded(key, spec),
        Operator::NotIn | Operator::Exists | Operator::DoesNotExist => Ok(()),
    }
}

/// The rules of `In`.
fn listed(key: &str, spec: &RequirementSpec) -> Result<(), InvalidRequirement> {
    let values = spec.values.len();
    let min_values = spec.min_values.unwrap_or(0);
    if values == 0 {
        return Err(InvalidRequirement::NoValues { key: key.to_owned() });
    }
    if values < min_values as usize {
        return Err(InvalidRequirement::TooFewValues { key: key.to_owned(), values, min_values });
    }
    if key == label::CAPACITY_TYPE { capacity_types(&spec.values, min_values) } else { Ok(()) }
}

fn capacity_types(values: &[String], min_values: u32) -> Result<(), InvalidRequirement> {
    let is_known = |value: &&String| CAPACITY_TYPES.contains(&value.as_str());
    match values.iter().filter(is_known).count() {
        0 => Err(InvalidRequirement::UnknownCapacityTypes { values: values.to_vec() }),
        known if known < min_values as usize => {
            let values = values.to_vec();
            Err(InvalidRequirement::TooFewCapacityTypes { values, known, min_values })
        }
        _ => Ok(()),
    }
}

/// The rules of operators that compare numbers.
fn bounded(key: &str, spec: &RequirementSpec) -> Result<(), InvalidRequirement> {
    match spec.values.as_slice() {
        [value] if value.parse::<i64>().is_ok_and(|bound| bound >= 0) => Ok(()),
        values => Err(InvalidRequirement::Bound {
            key: key.to_owned(),
            operator: spec.operator,
            values: values.to_vec(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(key: &str, operator: Operator, values: &[&str]) -> RequirementSpec {
        RequirementSpec::new(key, operator, values.iter().copied())
    }

    fn with_min_values(spec: RequirementSpec, min_values: u32) -> RequirementSpec {
        RequirementSpec { min_values: Some(min_values), ..spec }
    }

    fn problem(spec: &RequirementSpec) -> String {
        validate(spec, &WellKnown::default())
            .map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn every_operator_can_be_written() {
        use Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn};
        for spec in [
            spec("example.com/size", In, &["a", "b", ""]),
            spec("example.com/size", NotIn, &["a"]),
            spec("example.com/size", NotIn, &[]),
            spec("example.com/size", Exists, &[]),
            spec("example.com/size", DoesNotExist, &[]),
            spec("size", Gt, &["0"]),
            spec("size", Lt, &["9223372036854775807"]),
            spec("size", Gte, &["007"]),
            spec("size", Lte, &["1"]),
            with_min_values(spec("size", In, &["a", "b"]), 2),
            with_min_values(spec("size", Exists, &[]), 20),
        ] {
            assert_eq!(problem(&spec), "fine", "{spec:?}");
        }
    }

    #[test]
    fn restricted_labels() {
        for key in ["karpenter.sh/registered", "x.karpenter.sh/y", "kubernetes.io/hostname"] {
            let error =
                validate(&spec(key, Operator::Exists, &[]), &WellKnown::default()).unwrap_err();
            assert!(error.is_restricted(), "{key}");
        }
        for key in ["karpenter.sh/nodepool", "notkarpenter.sh/y", "kubernetes.io/custom"] {
            assert_eq!(problem(&spec(key, Operator::Exists, &[])), "fine", "{key}");
        }
        assert_eq!(
            problem(&spec("karpenter.sh/registered", Operator::In, &["true"])),
            "label \"karpenter.sh/registered\" is restricted, because a value of it could mislead \
             the planner: use a well-known label (karpenter.sh/capacity-type, \
             karpenter.sh/nodepool, kubernetes.io/arch, kubernetes.io/os, \
             node.kubernetes.io/instance-type, node.kubernetes.io/windows-build, \
             topology.kubernetes.io/region, topology.kubernetes.io/zone) or one of a domain of \
             your own"
        );
    }

    #[test]
    fn keys_and_values_that_no_label_can_have() {
        assert_eq!(
            problem(&spec("my label", Operator::Exists, &[])),
            "label \"my label\" is not a valid key: write a name of at most 63 letters, digits, \
             '-', '_' or '.' that begins and ends with a letter or digit, optionally behind a DNS \
             domain and '/'"
        );
        assert_eq!(
            problem(&spec("size", Operator::NotIn, &["small", "very large"])),
            "value \"very large\" of label \"size\" is not a valid label value: write at most 63 \
             letters, digits, '-', '_' or '.' that begin and end with a letter or digit"
        );
    }

    #[test]
    fn in_needs_values_and_as_many_as_min_values() {
        assert_eq!(
            problem(&spec("size", Operator::In, &[])),
            "label \"size\" has operator In and no values: list at least one, or use DoesNotExist"
        );
        assert_eq!(
            problem(&with_min_values(spec("size", Operator::In, &["a", "b"]), 3)),
            "label \"size\" lists 2 values and has minValues 3: \
             list more values, or lower minValues"
        );
    }

    #[test]
    fn a_bound_is_one_integer_that_is_not_negative() {
        for operator in [Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte] {
            for values in [&[][..], &["1", "2"], &["a"], &["1.5"], &[""], &["9223372036854775808"]]
            {
                let error = validate(&spec("size", operator, values), &WellKnown::default());
                assert!(
                    matches!(error, Err(InvalidRequirement::Bound { .. })),
                    "{operator} {values:?}"
                );
            }
        }
        assert_eq!(
            problem(&spec("size", Operator::Gt, &["1", "2"])),
            "label \"size\" has operator Gt and values [\"1\", \"2\"]: \
             write exactly one integer, 0 or above"
        );
        // A negative number is no label value to begin with.
        let error = validate(&spec("size", Operator::Gt, &["-1"]), &WellKnown::default());
        assert!(matches!(error, Err(InvalidRequirement::Value { .. })));
    }

    #[test]
    fn capacity_types_must_be_known_but_not_all_of_them() {
        let capacity_type = |values: &[&str]| spec(label::CAPACITY_TYPE, Operator::In, values);
        assert_eq!(problem(&capacity_type(&["spot", "on-demand", "reserved"])), "fine");
        assert_eq!(problem(&capacity_type(&["spot", "preemptible"])), "fine");
        assert_eq!(
            problem(&capacity_type(&["ondemand", "preemptible"])),
            "label \"karpenter.sh/capacity-type\" lists [\"ondemand\", \"preemptible\"], \
             none of which is known: use on-demand, reserved, spot"
        );
        assert_eq!(
            problem(&with_min_values(capacity_type(&["spot", "preemptible"]), 2)),
            "label \"karpenter.sh/capacity-type\" lists [\"spot\", \"preemptible\"], \
             of which 1 are known, and has minValues 2: \
             use on-demand, reserved, spot, or lower minValues"
        );
        assert_eq!(problem(&spec(label::CAPACITY_TYPE, Operator::NotIn, &["preemptible"])), "fine");
    }

    #[test]
    fn beta_keys_are_judged_as_the_ones_in_use() {
        let zone = "failure-domain.beta.kubernetes.io/zone";
        assert_eq!(
            problem(&spec(zone, Operator::In, &[])),
            "label \"topology.kubernetes.io/zone\" has operator In and no values: \
             list at least one, or use DoesNotExist"
        );
    }
}
