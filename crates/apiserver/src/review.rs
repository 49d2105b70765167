//! Reviews: queries about the identity and the rights of callers.
//!
//! Every caller of the laboratory is an administrator.

use joiner_schema::FieldError;
use serde_json::{Value, json};

use crate::{Status, registry::Kind};

/// The user that every caller is.
const USER: &str = "admin";

/// Answers a review; none for objects of other kinds.
pub(crate) fn answer(kind: &Kind, review: &Value) -> Option<Result<Value, Status>> {
    let status = match (&*kind.resource.group, &*kind.resource.plural) {
        ("authentication.k8s.io", "tokenreviews") => token(review),
        ("authentication.k8s.io", "selfsubjectreviews") => Ok(json!({"userInfo": user()})),
        (
            "authorization.k8s.io",
            "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews",
        ) => access(&kind.resource.plural, review),
        ("authorization.k8s.io", "selfsubjectrulesreviews") => rules(review),
        _ => return None,
    };
    Some(status.map(|status| {
        let mut answer = review.clone();
        answer["apiVersion"] = (*kind.stored().api_version).into();
        answer["kind"] = (*kind.kind).into();
        if !answer["metadata"].is_object() {
            answer["metadata"] = json!({});
        }
        answer["status"] = status;
        answer
    }))
}

fn user() -> Value {
    json!({"username": USER, "uid": USER, "groups": ["system:masters", "system:authenticated"]})
}

/// Whose token it is. Tokens are not checked here but where connections come in.
fn token(review: &Value) -> Result<Value, Status> {
    if review["spec"]["token"].as_str().unwrap_or_default().is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = ["https://kubernetes.default.svc"];
    Ok(json!({"authenticated": true, "user": user(), "audiences": audiences}))
}

fn access(plural: &str, review: &Value) -> Result<Value, Status> {
    let spec = &review["spec"];
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    match (resource.is_object(), other.is_object()) {
        (true, true) => {
            let text = |field: &str| other[field].as_str().unwrap_or_default();
            let shown = json!({"Path": text("path"), "Verb": text("verb")});
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", shown, detail));
        }
        (false, false) => errors.push(FieldError::invalid(
            "spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    let named = spec["user"].as_str().is_some_and(|user| !user.is_empty())
        || spec["groups"].as_array().is_some_and(|groups| !groups.is_empty());
    if plural != "selfsubjectaccessreviews" && !named {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", detail));
    }
    if plural == "localsubjectaccessreviews" {
        let asked = resource["namespace"].as_str().unwrap_or_default();
        let given = review["metadata"]["namespace"].as_str();
        if given.is_some_and(|given| given != asked) {
            let detail = "must match metadata.namespace";
            errors.push(FieldError::invalid("spec.resourceAttributes.namespace", asked, detail));
        }
    }
    if !errors.is_empty() {
        // The real server names no kind here.
        return Err(Status::invalid("authorization.k8s.io", "", "", &errors));
    }
    Ok(json!({"allowed": true}))
}

fn rules(review: &Value) -> Result<Value, Status> {
    if review["spec"]["namespace"].as_str().unwrap_or_default().is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    Ok(json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    }))
}
