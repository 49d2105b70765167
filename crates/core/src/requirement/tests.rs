use proptest::prelude::*;

use super::*;

const KEY: &str = "example.com/key";

fn requirement(operator: Operator, values: &[&str]) -> Requirement {
    let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
    Requirement::new(operator, &values, None)
}

/// Short names, as in the truth table: `inAB`, `!12`, `>9`, `Ex`, `DNE`; also `>=` and `<=`.
fn short(name: &str) -> Requirement {
    let listed = |operator, letters: &str| {
        let values: Vec<String> = letters.chars().map(String::from).collect();
        Requirement::new(operator, &values, None)
    };
    let bounded = |operator, bound| requirement(operator, &[bound]);
    match name {
        "Ex" => Requirement::EXISTS,
        "DNE" => Requirement::DOES_NOT_EXIST,
        _ => None
            .or_else(|| Some(listed(Operator::In, name.strip_prefix("in")?)))
            .or_else(|| Some(listed(Operator::NotIn, name.strip_prefix("!")?)))
            .or_else(|| Some(bounded(Operator::Gte, name.strip_prefix(">=")?)))
            .or_else(|| Some(bounded(Operator::Lte, name.strip_prefix("<=")?)))
            .or_else(|| Some(bounded(Operator::Gt, name.strip_prefix(">")?)))
            .or_else(|| Some(bounded(Operator::Lt, name.strip_prefix("<")?)))
            .unwrap(),
    }
}

/// All of the short names, on one key.
fn narrowed(names: &str) -> Requirement {
    let all = names.split(' ').map(short);
    all.reduce(|a, b| a.intersection(&b)).unwrap()
}

fn only(key: &str, name: &str) -> Requirements {
    let mut all = Requirements::new();
    if name != "{}" {
        all.add(key, short(name));
    }
    all
}

const TRUTH_TABLE: &str = "
       {} Ex DNE inA inB inAB !A in1 in9 in19 !12 >1 >9 <1 <9
{}      1  1   1   1   1    1  1   1   1    1   1  1  1  1  1
Ex      1  1   0   1   1    1  1   1   1    1   1  1  1  1  1
DNE     1  0   1   0   0    0  1   0   0    0   1  0  0  0  0
inA     1  1   0   1   0    1  0   0   0    0   1  0  0  0  0
inB     1  1   0   0   1    1  1   0   0    0   1  0  0  0  0
inAB    1  1   0   1   1    1  1   0   0    0   1  0  0  0  0
!A      1  1   1   0   1    1  1   1   1    1   1  1  1  1  1
in1     1  1   0   0   0    0  1   1   0    1   0  0  0  0  1
in9     1  1   0   0   0    0  1   0   1    1   1  1  0  0  0
in19    1  1   0   0   0    0  1   1   1    1   1  1  0  0  1
!12     1  1   1   1   1    1  1   0   1    1   1  1  1  1  1
>1      1  1   0   0   0    0  1   0   1    1   1  1  1  0  1
>9      1  1   0   0   0    0  1   0   0    0   1  1  1  0  0
<1      1  1   0   0   0    0  1   0   0    0   1  0  0  1  1
<9      1  1   0   0   0    0  1   1   0    1   1  1  0  1  1
";

/// Rows are what is offered, columns what is wanted.
fn truth_table(compatible: impl Fn(&str, &str) -> bool) -> String {
    let lines: Vec<Vec<&str>> = TRUTH_TABLE
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let wanted = &lines[0];
    let rows = lines[1..].iter().map(|row| {
        let cells = wanted.iter().map(|wanted| {
            let width = wanted.len().max(2) + 1;
            format!("{:>width$}", u8::from(compatible(row[0], wanted)))
        });
        format!("{:<6}{}\n", row[0], cells.collect::<String>())
    });
    format!("\n{}\n{}", TRUTH_TABLE.lines().nth(1).unwrap(), rows.collect::<String>())
}

#[test]
fn compatibility_when_the_provider_fills_the_key_in() {
    let open = WellKnown::with([KEY.to_owned()]);
    let table = truth_table(|offered, wanted| {
        let (offered, wanted) = (only(KEY, offered), only(KEY, wanted));
        let verdict = offered.compatible(&wanted, Some(&open)).is_ok();
        assert_eq!(offered.is_compatible(&wanted, Some(&open)), verdict);
        verdict
    });
    assert_eq!(table, TRUTH_TABLE);
}

#[test]
fn compatibility_when_nobody_fills_the_key_in() {
    let expected = TRUTH_TABLE.replace(
        "{}      1  1   1   1   1    1  1   1   1    1   1  1  1  1  1",
        "{}      1  0   1   0   0    0  1   0   0    0   1  0  0  0  0",
    );
    let well_known = WellKnown::default();
    for open in [None, Some(&well_known)] {
        let table = truth_table(|offered, wanted| {
            only(KEY, offered).is_compatible(&only(KEY, wanted), open)
        });
        assert_eq!(table, expected);
    }
}

#[test]
fn keys_of_one_side_only_are_compatible_one_way() {
    let node = Requirements::from_labels(&Labels::from([("disk".into(), "ssd".into())]));
    assert!(node.compatible(&Requirements::new(), None).is_ok());
    assert!(Requirements::new().compatible(&node, None).is_err());
    assert!(Requirements::new().intersects(&node).is_ok());
}

#[test]
fn the_operators() {
    for (name, text) in [
        ("inBA", "In [A B]"),
        ("!BA", "NotIn [A B]"),
        ("Ex", "Exists"),
        ("DNE", "DoesNotExist"),
        (">4", "Exists >=5"),
        ("<4", "Exists <=3"),
        (">=4", "Exists >=4"),
        ("<=4", "Exists <=4"),
        ("in", "DoesNotExist"),
        ("!", "Exists"),
        // Validation refuses all of these; they must do no harm without it.
        (">", "Exists >=1"),
        (">=x", "Exists >=0"),
        (">9223372036854775807", "DoesNotExist"),
        (">99999999999999999999", "DoesNotExist"),
        (">=99999999999999999999", "Exists >=9223372036854775807"),
        ("<99999999999999999999", "Exists <=9223372036854775806"),
        (">=-99999999999999999999", "Exists >=0"),
    ] {
        assert_eq!(short(name).to_string(), text, "{name}");
    }
    assert_eq!(requirement(Operator::Exists, &[]), Requirement::EXISTS);
    assert_eq!(requirement(Operator::DoesNotExist, &[]), Requirement::DOES_NOT_EXIST);
    assert_eq!(requirement(Operator::Lt, &[]), Requirement::DOES_NOT_EXIST);
}

#[test]
fn gt_the_largest_integer_forgets_min_values() {
    let largest = [i64::MAX.to_string()];
    assert_eq!(Requirement::new(Operator::Gt, &largest, Some(2)), Requirement::DOES_NOT_EXIST);
}

#[test]
fn compat_bounds_below_zero_allow_every_number_or_none() {
    // Karpenter makes `Lte -1` of `Lt 0` and `Gte -4` of `Gt -5`, which the NodeClaim CRD refuses.
    for (name, text) in [
        ("<0", "DoesNotExist"),
        ("<=-1", "DoesNotExist"),
        ("<-9223372036854775808", "DoesNotExist"),
        (">-5", "Exists >=0"),
        (">=-5", "Exists >=0"),
        ("<1", "Exists <=0"),
    ] {
        assert_eq!(short(name).to_string(), text, "{name}");
    }
    let below = Requirement::new(Operator::Lt, &["0".to_owned()], Some(3));
    assert_eq!(below.min_values(), Some(3));
}

#[test]
fn operators_have_the_api_spelling() {
    use Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn};
    for operator in [In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte] {
        assert_eq!(operator.to_string().parse(), Ok(operator));
    }
    assert_eq!(
        "in".parse::<Operator>().unwrap_err().to_string(),
        "unknown operator \"in\": use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte"
    );
}

#[test]
fn what_is_allowed() {
    for (names, allowed, refused) in [
        ("inA1", "A 1", "B 2"),
        ("!A1", "B 2 x", "A 1"),
        ("Ex", "A 1", ""),
        ("DNE", "", "A 1"),
        (">5", "6 07 +8 9223372036854775807", "5 -6 A 6.5 7Gi 9223372036854775808"),
        ("<5", "4 0 -1", "5 A 4.5"),
        (">=5 <=7", "5 6 7", "4 8 A"),
        (">=5 <=7 !6", "5 7", "4 6 8"),
    ] {
        let requirement = narrowed(names);
        for value in allowed.split_whitespace() {
            assert!(requirement.has(value), "{names} has {value}");
        }
        for value in refused.split_whitespace() {
            assert!(!requirement.has(value), "{names} does not have {value}");
        }
    }
}

#[test]
fn intersections() {
    for (names, text) in [
        ("inAB inBC", "In [B]"),
        ("inA inB", "DoesNotExist"),
        ("inAB !A", "In [B]"),
        ("!A inAB", "In [B]"),
        ("!A !B", "NotIn [A B]"),
        ("Ex inA", "In [A]"),
        ("Ex DNE", "DoesNotExist"),
        ("inA DNE", "DoesNotExist"),
        (">3 <7", "Exists >=4 <=6"),
        (">3 >5", "Exists >=6"),
        ("<3 <5", "Exists <=2"),
        (">5 <6", "DoesNotExist"),
        (">5 <5", "DoesNotExist"),
        (">=5 <=5", "Exists >=5 <=5"),
        // Values outside the bounds go, be they allowed or excluded ones.
        ("in159 >3", "In [5 9]"),
        (">3 in159 <7", "In [5]"),
        ("inA >3", "DoesNotExist"),
        ("!19 >3", "NotIn [9] >=4"),
        ("!A >3", "Exists >=4"),
        // A list needs no bounds any more.
        ("in59 >3", "In [5 9]"),
    ] {
        assert_eq!(narrowed(names).to_string(), text, "{names}");
    }
}

#[test]
fn intersections_keep_the_larger_min_values() {
    let with = |name: &str, min_values| short(name).with_min_values(min_values);
    for (a, b, expected) in [
        (None, None, None),
        (Some(2), None, Some(2)),
        (None, Some(3), Some(3)),
        (Some(2), Some(3), Some(3)),
    ] {
        assert_eq!(with("inAB", a).intersection(&with("!C", b)).min_values(), expected);
        assert_eq!(with(">5", a).intersection(&with("<5", b)).min_values(), expected);
    }
}

#[test]
fn two_complements_meet_even_where_nothing_is_left() {
    let five = narrowed(">=5 <=5");
    assert!(five.has_intersection(&short("!5")));
    assert!(!five.intersection(&short("!5")).has("5"));
}

#[test]
fn any_is_the_smallest_value() {
    for (names, value) in [
        ("inBA", Some("A")),
        ("in9", Some("9")),
        ("DNE", None),
        ("Ex", Some("0")),
        ("!A", Some("0")),
        ("!01", Some("2")),
        (">5", Some("6")),
        ("<5", Some("0")),
        (">=5 !56", Some("7")),
        (">=5 <=6 !56", None),
        (">=9223372036854775807", Some("9223372036854775807")),
    ] {
        assert_eq!(narrowed(names).any().as_deref(), value, "{names}");
    }
}

#[test]
fn single_is_the_only_listed_value() {
    assert_eq!(short("inA").single(), Some("A"));
    for names in ["inAB", "!A", "Ex", "DNE", ">=5 <=5"] {
        assert_eq!(narrowed(names).single(), None, "{names}");
    }
    let all = Requirements::from_specs(&[
        RequirementSpec::new("a", Operator::In, ["1"]),
        RequirementSpec::new("b", Operator::In, ["1", "2"]),
        RequirementSpec::new("c", Operator::NotIn, ["1"]),
    ]);
    assert_eq!(all.single_values(), Labels::from([("a".into(), "1".into())]));
}

/// The API's form, as `operator values minValues`.
fn api_form(requirement: &Requirement) -> String {
    let entries = requirement.to_specs(KEY).into_iter().map(|spec| {
        assert_eq!(spec.key, KEY);
        let mut words = vec![spec.operator.to_string()];
        words.extend(spec.values);
        words.extend(spec.min_values.map(|min| format!("minValues {min}")));
        words.join(" ")
    });
    entries.collect::<Vec<_>>().join(", ")
}

#[test]
fn back_to_the_api() {
    for (names, expected) in [
        ("inBA", "In A B"),
        ("!BA", "NotIn A B"),
        ("Ex", "Exists"),
        ("DNE", "DoesNotExist"),
        (">4", "Gte 5"),
        ("<4", "Lte 3"),
        (">4 <9", "Gte 5, Lte 8"),
        (">4 <4", "DoesNotExist"),
        // COMPAT: Karpenter writes the bounds only, and `6` is allowed again.
        (">4 !6", "Gte 5, NotIn 6"),
        (">4 <9 !6", "Gte 5, Lte 8, NotIn 6"),
        // COMPAT: Karpenter writes `Lte -1`, which the API server refuses.
        ("<0", "DoesNotExist"),
    ] {
        assert_eq!(api_form(&narrowed(names)), expected, "{names}");
    }
    let bounded = narrowed(">4 <9").with_min_values(Some(2));
    assert_eq!(api_form(&bounded), "Gte 5 minValues 2, Lte 8 minValues 2");
}

#[test]
fn back_to_the_api_in_order_of_key() {
    let mut all = only("b", "inA");
    all.add("a", short("Ex"));
    let keys: Vec<String> = all.to_specs().into_iter().map(|spec| spec.key).collect();
    assert_eq!(keys, ["a", "b"]);
    assert!(!all.has_min_values());
    all.add("a", short(">4").with_min_values(Some(2)));
    assert!(all.has_min_values());
}

#[test]
fn from_the_api() {
    let json = r#"{"key":"k","operator":"Gte","values":["5"],"minValues":2}"#;
    let spec: RequirementSpec = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    let spec: RequirementSpec = serde_json::from_str(r#"{"key":"k","operator":"Exists"}"#).unwrap();
    assert_eq!(spec, RequirementSpec::new("k", Operator::Exists, [""; 0]));
    assert!(serde_json::from_str::<RequirementSpec>(r#"{"key":"k","operator":"Is"}"#).is_err());
}

#[test]
fn several_requirements_on_one_key_narrow_it() {
    let all = Requirements::from_specs(&[
        RequirementSpec::new("zone", Operator::In, ["a", "b", "c"]),
        RequirementSpec::new("zone", Operator::NotIn, ["b"]),
        RequirementSpec::new("zone", Operator::Exists, [""; 0]),
        RequirementSpec::new("size", Operator::Gt, ["4"]),
    ]);
    assert_eq!(all.to_string(), "size Exists >=5, zone In [a c]");
}

#[test]
fn beta_keys_are_the_ones_in_use() {
    let beta = "failure-domain.beta.kubernetes.io/zone";
    let mut all = only(beta, "inAB");
    all.add(label::ZONE, short("inBC"));
    assert_eq!(all.to_string(), "topology.kubernetes.io/zone In [B]");
    assert_eq!(all.get(beta), all.get(label::ZONE));
    all.set(beta, short("inA"));
    assert_eq!(all.to_string(), "topology.kubernetes.io/zone In [A]");
    assert_eq!(all.remove(beta), Some(short("inA")));
    assert!(all.is_empty());
    let labels = Labels::from([("beta.kubernetes.io/arch".into(), "arm64".into())]);
    assert_eq!(Requirements::from_labels(&labels).to_string(), "kubernetes.io/arch In [arm64]");
}

#[test]
fn the_human_form() {
    let mut all = Requirements::new();
    all.add("many", requirement(Operator::In, &["7", "6", "5", "4", "3", "2", "1"]));
    all.add("five", requirement(Operator::NotIn, &["5", "4", "3", "2", "1"]));
    all.add("range", narrowed(">=5 <=9 !7").with_min_values(Some(2)));
    all.add("gone", short("DNE"));
    all.add(label::HOSTNAME, short("inA"));
    assert_eq!(
        all.to_string(),
        "five NotIn [1 2 3 4 5], gone DoesNotExist, many In [1 2 3 4 5 and 2 others], \
         range NotIn [7] >=5 <=9 minValues 2"
    );
    assert_eq!(Requirements::new().to_string(), "");
}

#[test]
fn errors_read_like_karpenters() {
    let open = WellKnown::default();
    let error = |offered: &Requirements, wanted: &Requirements| {
        offered.compatible(wanted, Some(&open)).unwrap_err().to_string()
    };
    assert_eq!(error(&only("k", "inA"), &only("k", "inBC")), "key k, k In [B C] not in k In [A]");
    assert_eq!(
        error(&Requirements::new(), &only("team", "inA")),
        "label \"team\" does not have known values"
    );
    for (wanted, like) in [
        ("zone", "topology.kubernetes.io/zone"),
        ("example.com/zone", "topology.kubernetes.io/zone"),
        ("kubernetes.io/arc", "kubernetes.io/arch"),
        ("example.com/team", "example.org/team"),
        ("topology.kubernetes.io/zoen", "topology.kubernetes.io/zone"),
        ("example.org/taem", "example.org/team"),
    ] {
        assert_eq!(
            error(&only("example.org/team", "inA"), &only(wanted, "inA")),
            format!("label {wanted:?} does not have known values (typo of {like:?}?)")
        );
    }
}

fn any_requirement() -> impl Strategy<Value = Requirement> {
    let value = prop::sample::select(vec!["A", "B", "x1", "-1", "0", "1", "2", "5", "07", "9"]);
    let number = prop_oneof![-2..12_i64, Just(i64::MAX), Just(i64::MIN)];
    let values = prop::collection::vec(value.prop_map(str::to_owned), 0..4);
    let listed = (prop::sample::select(vec![Operator::In, Operator::NotIn]), values);
    let bounds = vec![Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte];
    let bounded = (prop::sample::select(bounds), number.prop_map(|n| vec![n.to_string()]));
    let plain = vec![Operator::Exists, Operator::DoesNotExist];
    let plain = (prop::sample::select(plain), Just(vec![]));
    let one = (prop_oneof![4 => listed, 4 => bounded, 1 => plain], prop::option::of(0..3_u32))
        .prop_map(|((operator, values), min)| Requirement::new(operator, &values, min));
    // Several together, so that bounds and exclusions meet.
    prop::collection::vec(one, 1..4)
        .prop_map(|all| all.into_iter().reduce(|a, b| a.intersection(&b)).unwrap())
}

fn any_value() -> impl Strategy<Value = String> {
    prop_oneof!["[ABx]{0,2}", (-3..13_i64).prop_map(|n| n.to_string()), "0[0-9]"]
}

proptest! {
    #[test]
    fn intersection_is_commutative(a in any_requirement(), b in any_requirement()) {
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
    }

    #[test]
    fn intersection_is_associative(
        a in any_requirement(), b in any_requirement(), c in any_requirement(),
    ) {
        prop_assert_eq!(a.intersection(&b).intersection(&c), a.intersection(&b.intersection(&c)));
    }

    #[test]
    fn intersection_is_idempotent(a in any_requirement()) {
        prop_assert_eq!(a.intersection(&a), a);
    }

    #[test]
    fn an_intersection_has_what_both_have(
        a in any_requirement(), b in any_requirement(), value in any_value(),
    ) {
        prop_assert_eq!(a.intersection(&b).has(&value), a.has(&value) && b.has(&value));
    }

    #[test]
    fn has_intersection_means_that_something_is_left(
        a in any_requirement(), b in any_requirement(),
    ) {
        let both = a.intersection(&b);
        // Nothing may be left of two complements when all numbers inside the bounds are excluded;
        // only the bounds are looked at.
        prop_assert_eq!(a.has_intersection(&b), both.operator() != Operator::DoesNotExist);
        prop_assert_eq!(a.has_intersection(&b), b.has_intersection(&a));
    }

    #[test]
    fn any_value_is_allowed(a in any_requirement()) {
        if let Some(value) = a.any() {
            prop_assert!(a.has(&value));
        }
    }

    #[test]
    fn the_api_form_reads_back(a in any_requirement()) {
        let specs = a.to_specs(KEY);
        let all = Requirements::from_specs(&specs);
        prop_assert_eq!(all.get(KEY), Some(&a));
        // Every bound is one that the API server accepts.
        for spec in specs.iter().filter(|spec| spec.operator > Operator::DoesNotExist) {
            prop_assert_eq!(validate(spec, &WellKnown::default()), Ok(()));
        }
    }

    #[test]
    fn is_compatible_is_compatible(
        a in any_requirement(), b in any_requirement(), same in any::<bool>(),
    ) {
        let mut offered = Requirements::new();
        offered.add(KEY, a);
        let mut wanted = Requirements::new();
        wanted.add(if same { KEY } else { label::ZONE }, b);
        for open in [None, Some(&WellKnown::default())] {
            let verdict = offered.compatible(&wanted, open).is_ok();
            prop_assert_eq!(offered.is_compatible(&wanted, open), verdict);
        }
    }
}
