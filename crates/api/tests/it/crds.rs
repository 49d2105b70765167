//! The CRDs that are generated from the types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use joiner_api::{
    crd::{crds, to_yaml},
    facts::Facts,
};
use serde_json::Value;

fn by_name() -> BTreeMap<String, Value> {
    crds()
        .into_iter()
        .map(|crd| (crd.metadata.name.clone().unwrap(), serde_json::to_value(crd).unwrap()))
        .collect()
}

/// The files were written by `compare-crds --write-facts` from Karpenter's own CRDs.
#[test]
fn rule_what_karpenters_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts");
    let mut upstream = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let facts: Facts = fs::read_to_string(&file).unwrap().parse().unwrap();
        upstream.insert(name, facts);
    }
    let ours = by_name();
    assert!(ours.keys().eq(upstream.keys()), "{:?} {:?}", ours.keys(), upstream.keys());
    for (name, crd) in &ours {
        let differences: Vec<String> = Facts::of(crd).differences(&upstream[name]).collect();
        assert_eq!(differences, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_difference_is_told_with_its_place_and_both_sides() {
    let pool = &by_name()["nodepools.karpenter.sh"];
    let mut other = pool.clone();
    let spec = &mut other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["weight"]["maximum"] = 50.into();
    spec["properties"]["weight"]["description"] = "Words do not count.".into();
    spec["properties"]["colour"]["type"] = "string".into();
    spec["properties"].as_object_mut().unwrap().remove("replicas");
    spec["required"] = serde_json::json!(["template", "colour"]);
    let differences: Vec<String> = Facts::of(pool).differences(&Facts::of(&other)).collect();
    assert_eq!(
        differences,
        [
            r#"v1 .spec required: ours is ["template"], upstream's is ["colour","template"]"#,
            r#"v1 .spec.replicas format: only ours is "int64""#,
            "v1 .spec.replicas minimum: only ours is 0",
            r#"v1 .spec.replicas type: only ours is "integer""#,
            "v1 .spec.weight maximum: ours is 100, upstream's is 50",
            r#"v1 .spec.colour type: only upstream's is "string""#,
        ]
    );
}

#[test]
fn facts_survive_their_file() {
    for crd in by_name().values() {
        let facts = Facts::of(crd);
        assert_eq!(facts.to_string().parse(), Ok(facts));
    }
}

#[test]
fn survive_being_printed() {
    for crd in crds() {
        let printed: Value = serde_saphyr::from_str(&to_yaml(&crd)).unwrap();
        let facts = Facts::of(&serde_json::to_value(&crd).unwrap());
        assert_eq!(Facts::of(&printed), facts);
        assert_eq!(printed["metadata"]["name"], *crd.metadata.name.as_ref().unwrap());
    }
}

#[test]
fn explain_every_field() {
    for (name, crd) in by_name() {
        let mut unexplained = BTreeSet::new();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        note_unexplained(&mut unexplained, &name, schema);
        // Kubernetes explains the metadata by itself.
        assert_eq!(unexplained, BTreeSet::from([format!("{name}.metadata")]));
    }
}

fn note_unexplained(unexplained: &mut BTreeSet<String>, place: &str, schema: &Value) {
    if !schema["description"].is_string() {
        unexplained.insert(place.to_owned());
    }
    let fields = schema["properties"].as_object().or(schema["items"]["properties"].as_object());
    for (name, field) in fields.into_iter().flatten() {
        note_unexplained(unexplained, &format!("{place}.{name}"), field);
    }
}
