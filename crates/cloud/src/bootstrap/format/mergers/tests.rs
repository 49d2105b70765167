use serde_json::Value;

use super::*;
use crate::bootstrap::yaml::documents;

fn map(json: &Value) -> Map {
    let document = documents(&json.to_string()).unwrap().remove(0);
    document.as_map().unwrap().clone()
}

/// The recorded cases were merged by cloud-init itself (version of August 2026). Documents are
/// compared as data: the order of keys is lost in the record.
#[test]
fn merges_are_cloud_inits() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    for case in cases {
        let mergers = Mergers::parse(case["how"].as_str().unwrap()).unwrap();
        let merged = mergers.merge_maps(map(&case["first"]), map(&case["second"])).unwrap();
        let data = |map: Map| -> Value { serde_saphyr::from_str(&Yaml::Map(map).print()).unwrap() };
        assert_eq!(data(merged), case["merged"], "{case}");
    }
}

/// cloud-init takes a text apart into letters here, and of a map it takes the keys. Nobody means
/// that.
#[test]
fn only_lists_are_added_to_lists() {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let merge = |second: &str| {
        Mergers::adding().merge_maps(map(&json(r#"{"runcmd": ["a"]}"#)), map(&json(second)))
    };
    assert_eq!(merge(r#"{"runcmd": {"b": "c"}}"#).err().as_deref(), {
        Some("runcmd: it is a map, and a list is needed")
    });
    assert!(merge(r#"{"runcmd": ["b"]}"#).is_ok());
}
