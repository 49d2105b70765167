//! The definitions of the kinds are the predecessor's.

use joiner_api::facts::Facts;
use joiner_proxmox::crd::crds;
use serde_json::Value;

const UPSTREAM: [&str; 3] = [
    include_str!("../facts/proxmoxnodeclasses.karpenter.proxmox.sinextra.dev.txt"),
    include_str!("../facts/proxmoxtemplates.karpenter.proxmox.sinextra.dev.txt"),
    include_str!("../facts/proxmoxunmanagedtemplates.karpenter.proxmox.sinextra.dev.txt"),
];

#[test]
fn definitions_rule_exactly_what_upstreams_rule() {
    for (crd, upstream) in crds().iter().zip(UPSTREAM) {
        let upstream: Facts = upstream.parse().expect("any text has facts");
        let differences: Vec<String> = Facts::of(crd).differences(&upstream).collect();
        assert_eq!(differences, Vec::<String>::new(), "{}", crd["metadata"]["name"]);
    }
}

#[test]
fn every_field_is_explained() {
    fn check(schema: &Value, path: &str) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(field["description"].is_string(), "{path}");
            check(field, &path);
            check(&field["items"], &format!("{path}[]"));
        }
    }
    for crd in crds() {
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        check(&schema["properties"]["spec"], "spec");
        check(&schema["properties"]["status"], "status");
    }
}
