use std::fmt::Write as _;

use joiner_core::{
    instance_type::Offering,
    requirement::Operator,
    snapshot::Snapshot,
    testing::{instance_type, offering, pool, quantity, requirement, resources, snapshot},
};

use super::*;

const GPU: &str = "example.com/gpu";
const FUSE: &str = "example.com/fuse";

/// Two pools; `small` costs 10 and `large` 20 in each of two zones.
fn cluster() -> Snapshot {
    let types = || {
        ["small", "large"].map(|name| {
            instance_type(name).zones(["a", "b"]).price(if name == "small" { 10.0 } else { 20.0 })
        })
    };
    snapshot().pool(pool("x").label("team", "blue"), types()).pool(pool("y"), types()).build()
}

fn overlay(name: &str, weight: i32) -> Overlay {
    Overlay { name: name.to_owned(), weight, ..Overlay::default() }
}

fn price(name: &str, weight: i32, change: &str) -> Overlay {
    Overlay { price: Some(change.parse().unwrap()), ..overlay(name, weight) }
}

fn capacity<const N: usize>(name: &str, weight: i32, amounts: [(&str, &str); N]) -> Overlay {
    Overlay { capacity: resources(amounts), ..overlay(name, weight) }
}

impl Overlay {
    fn on<const N: usize>(mut self, key: &str, values: [&str; N]) -> Self {
        self.requirements.push(requirement(key, Operator::In, values));
        self
    }
}

fn evaluate_on(cluster: &Snapshot, overlays: &[Overlay]) -> Evaluated {
    evaluate(overlays, &cluster.pools, &cluster.catalog)
}

/// `pool/type: prices, extended resources` of every type that an overlay changed, then the verdicts.
fn check(overlays: &[Overlay], expected: &[&str]) {
    let evaluated = evaluate_on(&cluster(), overlays);
    let mut lines = Vec::new();
    for (pool, types) in &evaluated.catalog.by_pool {
        for changed in types.iter().filter(|t| t.price_overlaid || t.capacity_overlaid) {
            let prices: Vec<String> =
                changed.offerings.iter().map(|o| o.price.to_string()).collect();
            let mut line = format!("{pool}/{}: {}", changed.name, prices.join(" "));
            for name in [FUSE, GPU].iter().filter(|name| changed.capacity.contains(name)) {
                write!(line, " {name}={}", changed.capacity.get(name)).unwrap();
            }
            lines.push(line);
        }
    }
    lines.extend(evaluated.verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")));
    assert_eq!(lines, expected);
}

#[test]
fn prices_change_as_written() {
    let changed =
        |price: f64, change: &str| change.parse::<PriceChange>().unwrap().apply(price).to_string();
    assert_eq!(changed(10.0, "-10%"), "9");
    assert_eq!(changed(10.0, "+100%"), "20");
    assert_eq!(changed(10.0, "-200%"), "0");
    assert_eq!(changed(10.0, "-2.5"), "7.5");
    assert_eq!(changed(10.0, "-15"), "0");
    assert_eq!(changed(10.0, "+1000"), "1010");
    assert_eq!(changed(1.5, "-25%"), "1.125");
    assert_eq!(changed(10.0, "0.5"), "0.5");
}

#[test]
fn what_is_no_price_change_is_refused() {
    for text in ["", "+", "%", "10%", "1e3", "inf", "-nan", "+1.2.3", "1,5", "- 1", "+-1"] {
        assert!(text.parse::<PriceChange>().is_err(), "{text}");
    }
    assert_eq!(
        "10%".parse::<PriceChange>().unwrap_err().to_string(),
        "\"10%\" is no change of a price: write a price such as 0.5, or a change such as +0.1, -0.1, \
         +10% or -10%"
    );
}

#[test]
fn an_overlay_changes_the_offerings_its_requirements_mean() {
    check(
        &[price("o", 0, "5")],
        &["x/small: 5 5", "x/large: 5 5", "y/small: 5 5", "y/large: 5 5", "o: applied"],
    );
}

#[test]
fn requirements_narrow_pools_types_and_offerings() {
    check(
        &[price("o", 0, "5")
            .on(label::NODE_POOL, ["y"])
            .on(label::INSTANCE_TYPE, ["small"])
            .on(label::ZONE, ["b"])],
        &["y/small: 10 5", "o: applied"],
    );
    check(
        &[price("o", 0, "5").on("team", ["blue"]).on(label::INSTANCE_TYPE, ["small"])],
        &["x/small: 5 5", "o: applied"],
    );
    check(&[price("o", 0, "5").on("unknown", ["v"])], &["o: applied"]);
    check(&[price("o", 0, "5").on(label::ZONE, ["nowhere"])], &["o: applied"]);
}

#[test]
fn capacity_goes_to_the_whole_type_when_any_offering_is_meant() {
    check(
        &[capacity("o", 0, [(FUSE, "3")])
            .on(label::ZONE, ["b"])
            .on(label::INSTANCE_TYPE, ["small"])
            .on(label::NODE_POOL, ["x"])],
        &["x/small: 10 10 example.com/fuse=3", "o: applied"],
    );
}

#[test]
fn equal_weight_on_the_same_price_leaves_the_earlier_name_without_any_effect() {
    let everywhere = price("a", 7, "1");
    let one_type =
        price("b", 7, "1").on(label::INSTANCE_TYPE, ["small"]).on(label::NODE_POOL, ["y"]);
    check(
        &[everywhere, one_type],
        &[
            "y/small: 1 1",
            "a: conflicts with overlay \"b\": give one of them another weight",
            "b: applied",
        ],
    );
}

#[test]
fn equal_weight_on_the_same_resource_is_a_conflict_even_with_equal_values() {
    let on_small =
        |overlay: Overlay| overlay.on(label::INSTANCE_TYPE, ["small"]).on(label::NODE_POOL, ["x"]);
    check(
        &[
            on_small(capacity("a", 0, [(FUSE, "1"), (GPU, "1")])),
            on_small(capacity("b", 0, [(GPU, "2")])),
            on_small(capacity("c", 0, [(FUSE, "1")])),
        ],
        &[
            "x/small: 10 10 example.com/fuse=1 example.com/gpu=2",
            "a: conflicts with overlay \"c\": give one of them another weight",
            "b: applied",
            "c: applied",
        ],
    );
}

#[test]
fn a_conflict_is_found_behind_a_heavier_overlay() {
    let on_small =
        |overlay: Overlay| overlay.on(label::INSTANCE_TYPE, ["small"]).on(label::NODE_POOL, ["x"]);
    check(
        &[
            on_small(price("heavy", 9, "1")),
            on_small(price("a", 5, "2")),
            on_small(price("b", 5, "3")),
        ],
        &[
            "x/small: 1 1",
            "a: conflicts with overlay \"b\": give one of them another weight",
            "b: applied",
            "heavy: applied",
        ],
    );
}

#[test]
fn the_heaviest_decides_and_lighter_ones_fill_gaps_without_stacking() {
    let on_small =
        |overlay: Overlay| overlay.on(label::INSTANCE_TYPE, ["small"]).on(label::NODE_POOL, ["x"]);
    check(
        &[
            on_small(price("light", 1, "+1000")),
            on_small(price("heavy", 2, "-50%")).on(label::ZONE, ["a"]),
            on_small(capacity("some", 1, [(FUSE, "1"), (GPU, "1")])),
            on_small(capacity("more", 2, [(FUSE, "2")])),
        ],
        &[
            "x/small: 5 1010 example.com/fuse=2 example.com/gpu=1",
            "heavy: applied",
            "light: applied",
            "more: applied",
            "some: applied",
        ],
    );
}

#[test]
fn an_overlay_that_breaks_a_rule_has_no_effect() {
    let bound = Overlay {
        requirements: vec![requirement("size", Operator::Gt, ["big"])],
        ..price("bound", 0, "1")
    };
    let mut empty = price("empty", 0, "1");
    empty.requirements.push(requirement::<0>(label::ZONE, Operator::NotIn, []));
    check(
        &[capacity("provided", 0, [("cpu", "64"), (GPU, "1")]), empty, bound],
        &[
            "bound: label \"size\" has operator Gt and values [\"big\"]: write exactly one integer, 0 \
             or above",
            "empty: label \"topology.kubernetes.io/zone\" has operator NotIn and no values",
            "provided: capacity of cpu is the provider's to say: overlay other resources only",
        ],
    );
}

#[test]
fn everything_else_about_a_type_and_an_offering_is_kept() {
    let reserved = Offering {
        available: false,
        reservation_capacity: 3,
        capacity: resources([("cpu", "8")]),
        overhead: resources([("cpu", "1")]),
        ..offering("a", "reserved", 1.0)
    };
    let cluster = snapshot()
        .pool(
            pool("x"),
            [instance_type("t")
                .zones(["a"])
                .volume_limit("csi", 4)
                .keeps("cpu", "100m")
                .offering(reserved)],
        )
        .build();
    let evaluated = evaluate_on(&cluster, &[price("o", 0, "2"), capacity("p", 0, [(GPU, "1")])]);
    let (before, after) = (&cluster.catalog.types("x")[0], &evaluated.catalog.types("x")[0]);
    let mut expected = InstanceType::clone(before);
    expected.offerings.iter_mut().for_each(|offering| offering.price = 2.0);
    expected.capacity.set(GPU, quantity("1"));
    (expected.price_overlaid, expected.capacity_overlaid) = (true, true);
    assert_eq!(**after, expected);
}

#[test]
fn offerings_that_differ_beyond_the_fifth_value_are_told_apart() {
    let hosts = |last: &str| {
        let mut offering = offering("a", "on-demand", 1.0);
        offering
            .requirements
            .add(label::REGION, Requirement::one_of(["1", "2", "3", "4", "5", last]));
        offering
    };
    let cluster = snapshot()
        .pool(
            pool("x"),
            [instance_type("t")
                .zones([])
                .require(label::REGION, Operator::In, ["6", "7"])
                .offering(hosts("6"))
                .offering(hosts("7"))],
        )
        .build();
    let evaluated = evaluate_on(&cluster, &[price("o", 0, "2").on(label::REGION, ["7"])]);
    let prices = evaluated.catalog.types("x")[0].offerings.iter().map(|o| o.price);
    assert_eq!(prices.collect::<Vec<_>>(), [1.0, 2.0]);
}

#[test]
fn pools_that_nothing_changes_keep_their_list() {
    let cluster = cluster();
    let evaluated = evaluate_on(&cluster, &[price("o", 0, "2").on(label::NODE_POOL, ["x"])]);
    assert!(Arc::ptr_eq(&cluster.catalog.by_pool["y"], &evaluated.catalog.by_pool["y"]));
    assert!(!Arc::ptr_eq(&cluster.catalog.by_pool["x"], &evaluated.catalog.by_pool["x"]));
}
