//! The definition of the kind, made of the types that read it.

use joiner_api::schema;
use joiner_cloud::spec::schema::without_required;
use serde_json::{Value, json};

use super::{ResolvedStatus, Spec};
use crate::NODE_CLASS;

/// What upstream requires. The zone is not among it: the class may name several instead.
const REQUIRED: [&str; 3] =
    ["networkSelectorTerms", "serviceOfferingSelectorTerms", "templateSelectorTerms"];

/// The definition of `CloudStackNodeClass` for an API server. It refuses what upstream's refuses and
/// nothing else: every stricter rule is a condition of the class, so that a manifest that was
/// accepted yesterday is accepted today.
pub fn crd() -> Value {
    let mut spec = schema::of::<Spec>();
    without_required(&mut spec);
    spec["required"] = json!(REQUIRED);
    let mut crd = NODE_CLASS.definition(&spec);
    let names = &mut crd["spec"]["names"];
    names["categories"] = json!(["karpenter"]);
    names["shortNames"] = json!(["csnc", "csncs"]);
    let definition = &mut crd["spec"]["versions"][0];
    definition["additionalPrinterColumns"] = json!([
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Zone", "type": "string", "jsonPath": ".spec.zone", "priority": 1},
    ]);
    let properties = &mut definition["schema"]["openAPIV3Schema"]["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"type": "object"});
    let mut status = schema::of::<ResolvedStatus>();
    status["properties"]["conditions"] = json!({
        "type": "array",
        "items": schema::of::<joiner_api::condition::Condition>(),
    });
    properties["status"] = status;
    crd
}
