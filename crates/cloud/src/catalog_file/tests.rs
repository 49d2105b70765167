use expect_test::{Expect, expect};

use super::*;
use crate::testing::describe;

/// What a file gives each of two pools, or the error.
fn check(text: &str, expected: &Expect) {
    let shown = match parse(text, "types.yaml", &[]) {
        Ok(file) => describe(&file.catalog(["a", "b"])),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_full_form_is_taken_as_written() {
    check(
        r#"
        {"reservationIDLabel": "example.com/id", "instanceTypes": [{
          "name": "big",
          "requirements": [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            {"key": "example.com/size", "operator": "Gte", "values": ["3"]}],
          "capacity": {"cpu": 2, "memory": "8Gi", "pods": "110", "example.com/gpu": "1"},
          "overhead": {"kubeReserved": {"cpu": "100m"}, "systemReserved": {"cpu": "50m"},
                       "evictionThreshold": {"memory": "100Mi"}},
          "volumeLimits": {"csi.example.com": 24},
          "offerings": [
            {"price": 0.1, "available": true, "requirements": []},
            {"price": 0.05, "available": false, "reservationCapacity": 3,
             "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]},
                              {"key": "example.com/id", "operator": "In", "values": ["r1"]}],
             "capacity": {"cpu": "4"}, "overhead": {"kubeReserved": {"cpu": "200m"}, "systemReserved": {"cpu": "1"}}}],
          "nodePools": ["b"]}]}"#,
        &expect![[r#"
            pool a
            pool b
              type big
                requires example.com/size Exists >=3, kubernetes.io/arch In [amd64]
                capacity cpu 2, example.com/gpu 1, memory 8Gi, pods 110
                overhead cpu 150m, memory 100Mi
                volumes {"csi.example.com": 24}
                offers  for 0.1 left 0 capacity [] overhead []
                offers example.com/id In [r1], karpenter.sh/capacity-type In [reserved] for 0.05 unavailable left 3 capacity [cpu 4] overhead [cpu 1200m]
            well known: example.com/id example.com/size
            reservations: example.com/id"#]],
    );
}

#[test]
fn pools_without_types_of_their_own_share_one_list() {
    let file = parse("[{name: t, capacity: {cpu: 1}}]", "types.yaml", &[]).unwrap();
    let catalog = file.catalog(["a", "b"]);
    assert!(Arc::ptr_eq(&catalog.by_pool["a"], &catalog.by_pool["b"]));
}

#[test]
fn pools_that_entries_name_are_known() {
    let file =
        parse("[{name: t, capacity: {cpu: 1}, nodePools: [y, x, y]}]", "types.yaml", &[]).unwrap();
    assert_eq!(file.named_pools(), BTreeSet::from(["x", "y"]));
}

#[test]
fn prices_are_read_exactly() {
    for text in ["0.019003238553599998", "0.1", "1e-7", "8.599023255552"] {
        let file = format!(
            "[{{\"name\":\"t\",\"capacity\":{{}},\"offerings\":[{{\"price\":{text},\"available\":true}}]}}]"
        );
        let price = parse(&file, "f", &[]).unwrap().entries[0].instance_type.offerings[0].price;
        assert_eq!(price.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn two_entries_of_one_name_for_one_pool_are_refused() {
    let entry = |pools: &str| format!("{{name: t, capacity: {{cpu: 1}}, nodePools: [{pools}]}}");
    let outcome = |first, second| {
        parse(&format!("[{}, {}]", entry(first), entry(second)), "f", &[])
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(outcome("a", "b"), Ok(()));
    let refused = Err("f: entry 2 \"t\": name: entry 1 has the same name for the same pool; \
         rename one, or give them different nodePools"
        .to_owned());
    assert_eq!(outcome("", ""), refused);
    assert_eq!(outcome("", "a"), refused);
    assert_eq!(outcome("a", ""), refused);
    assert_eq!(outcome("a, b", "b, c"), refused);
}

#[test]
fn invalid_entries_are_refused_with_place_and_remedy() {
    let cases = [
        "[{name: t, capacity: {cpu: -1}}]",
        "[{name: t, capacity: {cpu: lots}}]",
        "[{name: t, capacity: {cpu: 1}, overhead: {kubeReserved: {cpu: -1}}}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{price: -0.5, available: true}]}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{price: .nan, available: true}]}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{price: 1}]}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{available: true, reservationCapacity: -1}]}]",
        "[{name: t, capacity: {cpu: 1}, requirements: [{key: a, operator: Near, values: [b]}]}]",
        "[{name: t, capacity: {cpu: 1}, requirements: [{key: a, operator: In}]}]",
        "[{name: t, capacity: {cpu: 1}, requirements: [{key: a, operator: Gt, values: [x]}]}]",
        "[{name: t, capacity: {cpu: 1}, requirements: [{key: '', operator: Exists}]}]",
        "[{name: '', capacity: {cpu: 1}}]",
        "[{capacity: {cpu: 1}}]",
        "[{name: t}]",
        "[{name: t, capacity: {cpu: 1}, offering: []}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{available: true, overhead: {cpu: 1}}]}]",
        "[{name: t, capacity: {cpu: 1}, nodePools: ['']}]",
        "[{name: t, capacity: {cpu: 1}, volumeLimits: {csi: -1}}]",
        "[{name: t, capacity: {cpu: 1}, offerings: [{available: true, requirements: \
         [{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}]}]}]",
        "{reservationIDLabel: id, instanceTypes: [{name: t, capacity: {cpu: 1}, offerings: [{available: true, \
         requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}]}]}]}",
        "[7]",
        "7",
        "",
        "{types: []}",
        "{instanceTypes: [], wellKnownLabels: ['']}",
        "{instanceTypes: [], reservationIDLabel: ''}",
        "[{\"name\": \"t\", ",
        "name: [unclosed",
    ];
    let errors: Vec<String> =
        cases.iter().map(|case| parse(case, "f", &[]).expect_err(case).to_string()).collect();
    expect![[r#"
        f: entry 1 "t": capacity.cpu: -1 is below zero; write an amount of 0 or more
        f: entry 1 "t": capacity.cpu: "lots" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        f: entry 1 "t": overhead.kubeReserved.cpu: -1 is below zero; write an amount of 0 or more
        f: entry 1 "t": offerings[0].price: -0.5 is no price; write a number of 0 or more
        f: is not valid YAML: value `.nan` is not a finite number at line 1, column 52
        f: entry 1 "t": offerings[0]: missing field `available`; add it
        f: entry 1 "t": offerings[0].reservationCapacity: invalid value: integer `-1`, expected u32
        f: entry 1 "t": requirements[0].operator: unknown variant `Near`, expected one of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`
        f: entry 1 "t": requirements[0].values: is empty; In needs values
        f: entry 1 "t": requirements[0].values: Gt needs one whole number of 0 or more
        f: entry 1 "t": requirements[0].key: is empty; name a label
        f: entry 1: name: is empty; name the type
        f: entry 1: missing field `name`; add it
        f: entry 1 "t": missing field `capacity`; add it
        f: entry 1 "t": offering: unknown field `offering`, expected one of `name`, `requirements`, `capacity`, `overhead`, `offerings`, `nodePools`, `volumeLimits`
        f: entry 1 "t": offerings[0].overhead.cpu: unknown field `cpu`, expected one of `kubeReserved`, `systemReserved`, `evictionThreshold`
        f: entry 1 "t": nodePools[0]: is empty; name a NodePool
        f: entry 1 "t": volumeLimits.csi: invalid value: integer `-1`, expected u32
        f: entry 1 "t": offerings[0].requirements: has capacity type reserved, but the file has no reservationIDLabel; write {"instanceTypes": [...], "reservationIDLabel": "example.com/reservation-id"}
        f: entry 1 "t": offerings[0].requirements: has capacity type reserved, but not one value of id; add it with In
        f: entry 1: is not an object; write {"name": ..., "capacity": ...}
        f: holds no instance types; write a list, or {"instanceTypes": [...]}
        f: holds no instance types; write a list, or {"instanceTypes": [...]}
        f: types: unknown field `types`, expected one of `instanceTypes`, `wellKnownLabels`, `reservationIDLabel`
        f: wellKnownLabels[0]: is empty; name a label
        f: reservationIDLabel: is empty; name a label or leave it out
        f: is not valid JSON: EOF while parsing a value at line 1 column 15
        f: is not valid YAML: unclosed bracket '[' at line 1, column 7"#]].assert_eq(&errors.join("\n"));
}
