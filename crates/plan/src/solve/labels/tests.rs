//! The algebra on numbers must say what the algebra on names says.

use joiner_core::{
    label::WellKnown,
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
};
use proptest::prelude::*;

use super::*;

const KEYS: [&str; 4] = ["topology.kubernetes.io/zone", "kubernetes.io/arch", "team", "size"];
const VALUES: [&str; 6] = ["a", "b", "1", "2", "7", "12"];

fn spec() -> impl Strategy<Value = RequirementSpec> {
    let listed = (
        prop::sample::select(vec![Operator::In, Operator::NotIn]),
        prop::collection::vec(prop::sample::select(VALUES.to_vec()), 1..4),
    );
    let bound = (
        prop::sample::select(vec![Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte]),
        prop::sample::select(vec!["0", "1", "2", "7", "12"]).prop_map(|value| vec![value]),
    );
    let bare = (
        prop::sample::select(vec![Operator::Exists, Operator::DoesNotExist]),
        Just(Vec::<&str>::new()),
    );
    let operands = prop_oneof![listed, bound, bare];
    (prop::sample::select(KEYS.to_vec()), operands, prop::option::of(1u32..3)).prop_map(
        |(key, (operator, values), min_values)| RequirementSpec {
            min_values,
            ..RequirementSpec::new(key, operator, values)
        },
    )
}

fn requirements() -> impl Strategy<Value = Requirements> {
    prop::collection::vec(spec(), 0..5).prop_map(|specs| Requirements::from_specs(&specs))
}

proptest! {
    #[test]
    fn encoding_loses_nothing(requirements in requirements()) {
        let mut labels = LabelSpace::new(&WellKnown::default());
        let id = labels.encode(&requirements);
        prop_assert_eq!(labels.decode(id), requirements.clone());
        prop_assert_eq!(labels.encode(&requirements), id);
    }

    #[test]
    fn compatibility_agrees(offered in requirements(), wanted in requirements()) {
        let well_known = WellKnown::default();
        let mut labels = LabelSpace::new(&well_known);
        let (a, b) = (labels.encode(&offered), labels.encode(&wanted));
        prop_assert_eq!(labels.intersects(a, b), offered.intersects(&wanted).is_ok());
        prop_assert_eq!(labels.compatible_strict(a, b), offered.compatible(&wanted, None).is_ok());
        let open = offered.compatible(&wanted, Some(&well_known)).is_ok();
        prop_assert_eq!(labels.compatible(a, b, true), open);
        let joined = labels.join(a, b);
        prop_assert_eq!(joined.is_some(), open);
        if let Some(joined) = joined {
            let mut both = offered.clone();
            both.add_all(&wanted);
            prop_assert_eq!(labels.decode(joined), both);
            prop_assert_eq!(labels.join(a, b), Some(joined));
        }
    }

    #[test]
    fn narrowing_agrees(
        requirements in requirements(),
        key in prop::sample::select(KEYS.to_vec()),
        values in prop::collection::btree_set(prop::sample::select(VALUES.to_vec()), 1..3),
    ) {
        let well_known = WellKnown::default();
        let mut labels = LabelSpace::new(&well_known);
        let id = labels.encode(&requirements);
        let number = labels.key(key);
        let bits: Bits = values.iter().map(|value| labels.value(number, value)).collect();
        let only = Requirement::one_of(values.iter().copied());
        let mut expected = requirements.clone();
        expected.add(key, only);
        let known = requirements.get(key).is_some() || well_known.contains(key);
        let possible = expected.get(key).is_some_and(|left| !left.values().is_empty());
        let narrowed = labels.narrow(id, number, &bits).map(|id| labels.decode(id));
        prop_assert_eq!(narrowed, (known && possible).then_some(expected));
        if let Some(first) = bits.iter().next() {
            let single = [first].into_iter().collect();
            prop_assert_eq!(labels.pin(id, number, first), labels.narrow(id, number, &single));
        }
    }

    #[test]
    fn a_value_is_allowed_by_number_as_by_name(
        requirements in requirements(),
        key in prop::sample::select(KEYS.to_vec()),
        value in prop::sample::select(VALUES.to_vec()),
    ) {
        let mut labels = LabelSpace::new(&WellKnown::default());
        let id = labels.encode(&requirements);
        let key_number = labels.key(key);
        let value_number = labels.value(key_number, value);
        let allowed = labels.allows(key_number, labels.get(id, key_number), value_number);
        prop_assert_eq!(allowed, requirements.get(key).is_none_or(|own| own.has(value)));
    }
}
