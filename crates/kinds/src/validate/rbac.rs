//! Roles and bindings.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats, selectors,
};
use crate::fields::Fields;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(errors: &mut Errors, role: &Value, namespaced: bool) {
    let path = Path::new("rules");
    for (index, rule) in role.list("rules").iter().enumerate() {
        let path = path.index(index);
        if rule.list("verbs").is_empty() {
            errors.required(&path.child("verbs"), "verbs must contain at least one value");
        }
        let urls = rule.part("nonResourceURLs");
        if rule.list("nonResourceURLs").is_empty() {
            if rule.list("apiGroups").is_empty() {
                let detail = "resource rules must supply at least one api group";
                errors.required(&path.child("apiGroups"), detail);
            }
            if rule.list("resources").is_empty() {
                let detail = "resource rules must supply at least one resource";
                errors.required(&path.child("resources"), detail);
            }
            continue;
        }
        let at = path.child("nonResourceURLs");
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.invalid(&at, urls.clone(), detail);
        }
        let fields = ["apiGroups", "resources", "resourceNames"];
        if fields.iter().any(|field| !rule.list(field).is_empty()) {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(&at, urls.clone(), detail);
        }
    }
    if let Some(aggregation) = role.field("aggregationRule").filter(|_| !namespaced) {
        let path = Path::new("aggregationRule.clusterRoleSelectors");
        let all = aggregation.list("clusterRoleSelectors");
        if all.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.required(&path, detail);
        }
        for (index, selector) in all.iter().enumerate() {
            selectors::label_selector(errors, &path.index(index), Some(selector));
        }
    }
}

pub(super) fn binding(errors: &mut Errors, binding: &Value, namespaced: bool) {
    let (path, reference) = (Path::new("roleRef"), binding.part("roleRef"));
    errors.supported(&path.child("apiGroup"), reference.text("apiGroup"), &[GROUP]);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.supported(&path.child("kind"), reference.text("kind"), kinds);
    let name = reference.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        errors.invalid_each(&path.child("name"), name, formats::path_segment(name));
    }
    let subjects = Path::new("subjects");
    for (index, subject) in binding.list("subjects").iter().enumerate() {
        binding_subject(errors, &subjects.index(index), subject, namespaced);
    }
}

fn binding_subject(errors: &mut Errors, path: &Path<'_>, subject: &Value, namespaced: bool) {
    let (name, group) = (subject.text("name"), subject.text("apiGroup"));
    let at = path.child("apiGroup");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    match subject.text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.invalid_each(&path.child("name"), name, formats::dns_subdomain(name));
            }
            errors.supported(&at, group, &[""]);
            if !namespaced && subject.text("namespace").is_empty() {
                errors.required(&path.child("namespace"), "");
            }
        }
        "User" | "Group" => errors.supported(&at, group, &[GROUP]),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.not_supported(&path.child("kind"), other, &kinds);
        }
    }
}

pub(super) fn role_kept(errors: &mut Errors, new: &Value, old: &Value) {
    let reference = new.part("roleRef");
    if reference != old.part("roleRef") {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            reference.part("apiGroup"),
            reference.part("kind"),
            reference.part("name")
        );
        errors.invalid_shown(&Path::new("roleRef"), &shown, "cannot change roleRef");
    }
}
