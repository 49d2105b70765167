//! `CustomResourceDefinitions`, without their schemas.

use serde_json::{Value, json};

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats,
};
use crate::fields::Fields;

/// A definition that is created.
pub(super) fn create(errors: &mut Errors, definition: &Value) {
    let spec = definition.part("spec");
    let name = definition.part("metadata").text("name");
    let expected = format!("{}.{}", spec.part("names").text("plural"), spec.text("group"));
    if name != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.invalid(&Path::new("metadata.name"), name, detail);
    }
    definition_spec(errors, spec, None);
    status(errors, definition);
    approval(errors, definition, None);
    preserved(errors, spec);
}

fn preserved(errors: &mut Errors, spec: &Value) {
    if spec.flag("preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
             spec.versions[*].schema instead";
        errors.invalid(&Path::new("spec.preserveUnknownFields"), true, detail);
    }
}

fn definition_spec(errors: &mut Errors, spec: &Value, old: Option<&Value>) {
    let path = Path::new("spec");
    let (at, group) = (path.child("group"), spec.text("group"));
    let wrong = formats::dns_subdomain(group);
    if group.is_empty() {
        errors.required(&at, "");
    } else if !wrong.is_empty() {
        errors.invalid(&at, group, wrong.join(","));
    } else if !group.contains('.') {
        errors.invalid(&at, group, "should be a domain with at least one dot");
    }
    errors.one_of(&path.child("scope"), spec.text("scope"), &["Cluster", "Namespaced"]);
    let versions = spec.list("versions");
    let at = path.child("versions");
    for (index, version) in versions.iter().enumerate() {
        if !version.part("schema").has("openAPIV3Schema") {
            errors.required(&at.index(index).child("schema.openAPIV3Schema"), "");
        }
    }
    for (index, version) in versions.iter().enumerate() {
        let at = at.index(index);
        let name = version.text("name");
        joined(errors, &at.child("name"), name, &formats::dns_1035_label(name), "");
        deprecation(errors, &at.child("deprecationWarning"), version);
        version_parts(errors, &at, version, |part| !all_alike(versions, part));
    }
    let unique = (0..versions.len()).all(|index| {
        let name = versions[index].text("name");
        !versions[..index].iter().any(|other| other.text("name") == name)
    });
    if !unique {
        let shown = versions_shown(versions);
        errors.invalid_shown(&at, &shown, "must contain unique version names");
    }
    if versions.iter().filter(|version| version.flag("storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.invalid_shown(&at, &versions_shown(versions), detail);
    }
    if let Some(first) = versions.first() {
        let name = first.text("name");
        joined(errors, &path.child("version"), name, &formats::dns_1035_label(name), "");
    }
    let names_path = path.child("names");
    for field in ["plural", "singular", "kind", "listKind"] {
        if spec.part("names").text(field).is_empty() {
            errors.required(&names_path.child(field), "");
        }
    }
    names(errors, &names_path, spec.part("names"));
    if let Some(first) = versions.first() {
        version_parts(errors, &path, first, |part| all_alike(versions, part));
    }
    let recognised = old.is_none_or(|old| {
        let known = |version: &str| version == "v1" || version == "v1beta1";
        let webhook = old.part("conversion").part("webhook");
        webhook.list("conversionReviewVersions").is_empty()
            || webhook.texts("conversionReviewVersions").any(known)
    });
    if let Some(conversion) = spec.field("conversion") {
        let strategy = conversion.text("strategy");
        if strategy != "None" && spec.flag("preserveUnknownFields") {
            let detail = "must be None if spec.preserveUnknownFields is true";
            errors.invalid(&path.child("conversion.strategy"), strategy, detail);
        }
        self::conversion(errors, &path.child("conversion"), conversion, recognised);
    }
}

/// Versions as the API server shows them in errors.
///
/// COMPAT: parts that differ between versions, such as schemas, print as null.
fn versions_shown(versions: &[Value]) -> String {
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\
                 \"DeprecationWarning\":{},\"Schema\":null,\"Subresources\":null,\
                 \"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
                Value::from(version.text("name")),
                version.flag("served"),
                version.flag("storage"),
                version.flag("deprecated"),
                version.part("deprecationWarning")
            )
        })
        .collect();
    format!("[{}]", shown.join(","))
}

/// All that is wrong with a name in one error.
fn joined(errors: &mut Errors, path: &Path<'_>, value: &str, wrong: &[String], before: &str) {
    if !wrong.is_empty() {
        errors.invalid(path, value, format!("{before}{}", wrong.join(",")));
    }
}

fn names(errors: &mut Errors, path: &Path<'_>, names: &Value) {
    for field in ["plural", "singular"] {
        let name = names.text(field);
        if !name.is_empty() {
            joined(errors, &path.child(field), name, &formats::dns_1035_label(name), "");
        }
    }
    for field in ["kind", "listKind"] {
        let name = names.text(field);
        if !name.is_empty() {
            let wrong = formats::dns_1035_label(&name.to_lowercase());
            let before = "may have mixed case, but should otherwise match: ";
            joined(errors, &path.child(field), name, &wrong, before);
        }
    }
    let list = |errors: &mut Errors, field: &str| {
        let path = path.child(field);
        for (index, name) in names.texts(field).enumerate() {
            joined(errors, &path.index(index), name, &formats::dns_1035_label(name), "");
        }
    };
    list(errors, "shortNames");
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        let detail = "kind and listKind may not be the same";
        errors.invalid(&path.child("listKind"), kind, detail);
    }
    list(errors, "categories");
}

/// Whether a part is the same in all versions. The API server then checks it once, as if it were a
/// part of the definition and not of its versions.
fn all_alike(versions: &[Value], part: &str) -> bool {
    let first = versions.first().map(|version| version.part(part));
    versions.iter().all(|version| Some(version.part(part)) == first)
}

/// The parts of a version that are asked for.
fn version_parts(
    errors: &mut Errors,
    path: &Path<'_>,
    version: &Value,
    asked: impl Fn(&str) -> bool,
) {
    if asked("subresources") {
        subresources(errors, &path.child("subresources"), version.part("subresources"));
    }
    if asked("additionalPrinterColumns") {
        let columns = path.child("additionalPrinterColumns");
        for (index, column) in version.list("additionalPrinterColumns").iter().enumerate() {
            printer_column(errors, &columns.index(index), column);
        }
    }
    if asked("selectableFields") {
        selectable_fields(errors, &path.child("selectableFields"), version);
    }
}

fn deprecation(errors: &mut Errors, path: &Path<'_>, version: &Value) {
    let Some(warning) = version.given_text("deprecationWarning") else { return };
    if !version.flag("deprecated") {
        errors.invalid(path, warning, "can only be set for deprecated versions");
        return;
    }
    if warning.len() > 256 {
        errors.invalid(path, warning, "must be <= 256 characters long");
    }
    if warning.is_empty() {
        errors.invalid(path, warning, "must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, letter)| letter.is_control()) {
        let detail = format!(
            "must only contain printable UTF-8 characters; non-printable character found at \
             index {index}"
        );
        errors.invalid(path, warning, detail);
    }
}

/// A path such as `.spec.replicas`. Returns whether it is one.
fn simple_path(errors: &mut Errors, path: &Path<'_>, value: &str) -> bool {
    let simple = value.starts_with('.');
    if !simple {
        errors.invalid(path, value, "must be a simple json path starting with .");
    }
    simple
}

fn subresources(errors: &mut Errors, path: &Path<'_>, subresources: &Value) {
    let Some(scale) = subresources.field("scale") else { return };
    let path = path.child("scale");
    for (field, parent) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (at, value) = (path.child(field), scale.text(field));
        if value.is_empty() {
            errors.required(&at, "");
        } else if simple_path(errors, &at, value) && !value.starts_with(&format!("{parent}.")) {
            errors.invalid(&at, value, format!("should be a json path under {parent}"));
        }
    }
    let (at, value) = (path.child("labelSelectorPath"), scale.text("labelSelectorPath"));
    if !value.is_empty()
        && simple_path(errors, &at, value)
        && !value.starts_with(".spec.")
        && !value.starts_with(".status.")
    {
        errors.invalid(&at, value, "should be a json path under either .spec or .status");
    }
}

fn printer_column(errors: &mut Errors, path: &Path<'_>, column: &Value) {
    let types = ["boolean", "date", "integer", "number", "string"];
    let formats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    if column.text("name").is_empty() {
        errors.required(&path.child("name"), "");
    }
    let detail = || format!("must be one of {}", types.join(","));
    match column.text("type") {
        "" => errors.required(&path.child("type"), detail()),
        kind if !types.contains(&kind) => errors.invalid(&path.child("type"), kind, detail()),
        _ => {}
    }
    let format = column.text("format");
    if !format.is_empty() && !formats.contains(&format) {
        let detail = format!("must be one of {}", formats.join(","));
        errors.invalid(&path.child("format"), format, detail);
    }
    let at = path.child("JSONPath");
    match column.text("jsonPath") {
        "" => errors.required(&at, ""),
        value => {
            simple_path(errors, &at, value);
        }
    }
}

/// Fields that lists can be selected by: scalars that the schema names.
fn selectable_fields(errors: &mut Errors, path: &Path<'_>, version: &Value) {
    let schema = version.part("schema").part("openAPIV3Schema");
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in version.list("selectableFields").iter().enumerate() {
        let at = path.index(index);
        let at = at.child("jsonPath");
        let value = field.text("jsonPath");
        if value.is_empty() {
            errors.required(&at, "");
            continue;
        }
        let Some(steps) = value.strip_prefix('.') else {
            let detail = format!(
                "is an invalid path: expected [ or . but got: {}",
                value.split(['.', '[']).next().unwrap_or_default()
            );
            errors.invalid(&at, value, detail);
            continue;
        };
        let found =
            steps.split('.').try_fold(schema, |schema, step| schema.part("properties").field(step));
        let Some(found) = found else {
            errors.invalid(&at, value, "is an invalid path: does not refer to a valid field");
            continue;
        };
        if steps == "metadata" || steps.starts_with("metadata.") {
            errors.invalid(&at, value, "must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&found.text("type")) {
            let detail = "must point to a field of type string, boolean or integer. Enum string \
                 fields and strings with formats are allowed.";
            errors.invalid(&at, value, detail);
        }
        if seen.contains(&value) {
            errors.duplicate(&at, value);
        } else {
            seen.push(value);
        }
    }
    if seen.len() > 8 {
        errors.too_many(path, seen.len(), 8);
    }
}

fn conversion(errors: &mut Errors, path: &Path<'_>, conversion: &Value, recognised: bool) {
    let strategy = conversion.text("strategy");
    errors.one_of(&path.child("strategy"), strategy, &["None", "Webhook"]);
    let webhook = conversion.part("webhook");
    let at = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    let versions: Vec<&str> = webhook.texts("conversionReviewVersions").collect();
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if webhook.has("clientConfig") {
            errors.forbidden(&at, detail);
        }
        if !versions.is_empty() {
            errors.forbidden(&versions_path, detail);
        }
        return;
    }
    match webhook.field("clientConfig") {
        None => errors.required(&at, "required when strategy is set to Webhook"),
        Some(client) if client.has("url") == client.has("service") => {
            errors.required(&at, "exactly one of url or service is required");
        }
        Some(_) => {}
    }
    if versions.is_empty() {
        errors.required(&versions_path, "");
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let at = versions_path.index(index);
        if versions[..index].contains(version) {
            errors.invalid(&at, *version, "duplicate version");
        } else {
            errors.invalid_each(&at, version, formats::dns_1035_label(version));
        }
    }
    if recognised && !versions.iter().any(|version| ["v1", "v1beta1"].contains(version)) {
        let detail = "must include at least one of v1, v1beta1";
        errors.invalid(&versions_path, json!(versions), detail);
    }
}

/// The status has a version that objects are stored in, and knows all others that they were.
fn status(errors: &mut Errors, definition: &Value) {
    let status = definition.part("status");
    names(errors, &Path::new("status.acceptedNames"), status.part("acceptedNames"));
    let path = Path::new("status.storedVersions");
    let stored: Vec<&str> = status.texts("storedVersions").collect();
    if stored.is_empty() {
        let shown = status.part("storedVersions").clone();
        errors.invalid(&path, shown, "must have at least one stored version");
        return;
    }
    let versions = definition.part("spec").list("versions");
    for version in versions.iter().filter(|version| version.flag("storage")) {
        let name = version.text("name");
        if !stored.contains(&name) {
            let detail = format!("must have the storage version {name}");
            errors.invalid(&path, json!(stored), detail);
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version.text("name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.invalid(&path.index(index), *name, detail);
        }
    }
}

/// Groups of Kubernetes itself are used only by those who have the right to.
fn approval(errors: &mut Errors, definition: &Value, old: Option<&Value>) {
    const KEY: &str = "api-approved.kubernetes.io";
    let group = definition.part("spec").text("group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owner| group == *owner || group.ends_with(&format!(".{owner}")));
    let given = |definition: &Value| -> Option<String> {
        let annotations = definition.part("metadata").part("annotations");
        annotations.given_text(KEY).map(str::to_owned)
    };
    let now = given(definition);
    if !protected || old.is_some_and(|old| given(old) == now) {
        return;
    }
    let annotations = Path::new("metadata.annotations");
    let path = annotations.key(KEY);
    match now {
        None => {
            let detail = "protected groups must have approval annotation \
                 \"api-approved.kubernetes.io\", see \
                 https://github.com/kubernetes/enhancements/pull/1111";
            errors.required(&path, detail);
        }
        Some(value) if value.starts_with("unapproved") || value.contains("://") => {}
        Some(value) => {
            let detail = "protected groups must have approval annotation \
                 \"api-approved.kubernetes.io\" with either a URL or a reason starting with \
                 \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111";
            errors.invalid(&path, value, detail);
        }
    }
}

pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    definition_spec(errors, spec, Some(before));
    let path = Path::new("spec");
    let mut conditions = old.part("status").list("conditions").iter();
    let established = conditions.any(|condition| {
        condition.text("type") == "Established" && condition.text("status") == "True"
    });
    let kept = |errors: &mut Errors, shown: &str, now: &str, then: &str| {
        if now != then {
            errors.invalid(&path.child(shown), now, IMMUTABLE);
        }
    };
    let (names, old_names) = (spec.part("names"), before.part("names"));
    if established {
        kept(errors, "scope", spec.text("scope"), before.text("scope"));
        kept(errors, "names.kind", names.text("kind"), old_names.text("kind"));
    }
    kept(errors, "group", spec.text("group"), before.text("group"));
    kept(errors, "names.plural", names.text("plural"), old_names.text("plural"));
    status(errors, new);
    approval(errors, new, Some(old));
    if !before.flag("preserveUnknownFields") {
        preserved(errors, spec);
    }
}

pub(super) fn update_status(errors: &mut Errors, definition: &Value) {
    let names_path = Path::new("status.acceptedNames");
    names(errors, &names_path, definition.part("status").part("acceptedNames"));
}
