//! The definition of the kind, made of the types that read it.

use std::collections::BTreeMap;

use joiner_api::schema;
use joiner_cloud::spec::schema::{bound_lists_with_rules, without_required};
use serde_json::{Value, json};

use super::{
    Spec,
    fold::{ADAPTER_SELECTOR, SELECTORS, TAG, USER_DATA},
};
use crate::NODE_CLASS;

/// The definition of `VsphereNodeClass` for an API server. It refuses what upstream's refuses and
/// nothing else: every stricter rule is a condition of the class, so that a manifest that was
/// accepted yesterday is accepted today.
pub fn crd() -> Value {
    let mut spec = schema::of::<Spec>();
    add_spellings(&mut spec);
    without_required(&mut spec);
    bound_lists_with_rules(&mut spec);
    let mut crd = NODE_CLASS.definition(&spec);
    let names = &mut crd["spec"]["names"];
    names["categories"] = json!(["karpenter"]);
    names["shortNames"] = json!(["vspherenc", "vspherencs"]);
    let definition = &mut crd["spec"]["versions"][0];
    definition["additionalPrinterColumns"] = json!([
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Image", "type": "string", "jsonPath": ".status.image.name", "priority": 1},
        {"name": "K8s", "type": "string", "jsonPath": ".status.kubernetesVersion"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let properties = &mut definition["schema"]["openAPIV3Schema"]["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"type": "object"});
    properties["status"] = status();
    crd
}

/// Adds the documented spellings that are folded when an object is read.
fn add_spellings(spec: &mut Value) {
    let fields = &mut spec["properties"];
    fields[USER_DATA.0] = fields[USER_DATA.1].clone();
    add_selector_spellings(fields, &SELECTORS);
    add_selector_spellings(&mut fields["zones"]["items"]["properties"], &SELECTORS);
    add_selector_spellings(&mut fields["networks"]["items"]["properties"], &ADAPTER_SELECTOR);
}

fn add_selector_spellings(fields: &mut Value, selectors: &[(&str, &[(&str, &str)])]) {
    for (selector, aliases) in selectors {
        let Some(own) = fields.get_mut(*selector) else { continue };
        let own = &mut own["properties"];
        for (alias, name) in *aliases {
            // Upstream pruned any value there, and so never refused it.
            own[*alias] = if (*alias, *name) == TAG {
                json!({
                    "description": "Another spelling of tags.",
                    "x-kubernetes-preserve-unknown-fields": true,
                })
            } else {
                own[*name].clone()
            };
        }
    }
}

/// What a class says about itself.
fn status() -> Value {
    let text = |names: &[&str]| -> BTreeMap<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect()
    };
    let mut image =
        text(&["name", "path", "moref", "instanceUUID", "snapshot", "guestId", "hwVersion"]);
    image.insert("diskGiB".to_owned(), json!({"type": "integer", "format": "int64"}));
    let mut zone = text(&["zone", "region", "folder"]);
    for part in ["compute", "datastore", "network"] {
        zone.insert(
            part.to_owned(),
            json!({"type": "object", "properties": text(&["name", "moref"])}),
        );
    }
    json!({
        "type": "object",
        "properties": {
            "conditions": {"type": "array", "items": schema::of::<joiner_api::condition::Condition>()},
            "kubernetesVersion": {"type": "string"},
            "image": {"type": "object", "properties": image},
            "zones": {"type": "array", "items": {"type": "object", "properties": zone}},
        },
    })
}

#[cfg(test)]
mod tests {
    use joiner_cloud::spec::schema::{LIST_MAX, MAP_MAX, RULES};

    use super::*;

    #[test]
    fn a_list_whose_entries_are_looked_at_by_rules_has_an_end() {
        let crd = crd();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let fields = &spec["properties"];
        assert_eq!(fields["zones"]["maxItems"], LIST_MAX);
        let of_zone = &fields["zones"]["items"]["properties"]["computeSelector"]["properties"];
        assert_eq!(of_zone["tags"]["maxProperties"], MAP_MAX);
        // What upstream takes, however long, is taken.
        let of_class = &fields["computeSelector"]["properties"]["tags"];
        assert!(of_class[RULES].is_array() && of_class["maxProperties"].is_null(), "{of_class}");
        assert!(fields["instanceTypes"]["maxItems"].is_null());
    }
}
