//! Kinds that CustomResourceDefinitions add.

use std::{borrow::Cow, sync::Arc};

use joiner_schema::{FieldError, Schema, Validator};
use serde_json::{Value, json};

use crate::{
    object::{Resource, TypeNames},
    patching::go_text,
    registry::{Kind, Registry, Rules, Subresource, Version, head, version_priority},
    table::PrinterColumn,
    write::text,
};

/// The published name of the schema that all metadata has.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// One version of a kind that a CustomResourceDefinition adds.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    /// The schema as the definition has it.
    pub(crate) schema: Arc<Schema>,
    pub(crate) validator: Validator,
    pub(crate) scale: Option<ScalePaths>,
    /// `additionalPrinterColumns`.
    pub(crate) columns: Vec<PrinterColumn>,
    /// Paths that field selectors may ask for, such as `.spec.color`.
    selectable: Vec<Arc<str>>,
}

/// Where a kind keeps what its scale shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

impl CustomVersion {
    /// Whether a field selector may ask for this field; the error is for the caller.
    pub(crate) fn check_field_label(&self, field: &str, namespaced: bool) -> Result<(), String> {
        let known = field == "metadata.name"
            || (namespaced && field == "metadata.namespace")
            || self.selectable.iter().any(|path| path.trim_start_matches('.') == field);
        if known {
            return Ok(());
        }
        Err(format!("field label not supported: {field}"))
    }

    /// The values that field selectors may ask for.
    pub(crate) fn selectable_values(&self, object: &Value) -> Box<[(Cow<'static, str>, Box<str>)]> {
        let value_of = |path: &Arc<str>| {
            let value = at(object, path)?;
            let shown = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let path = path.trim_start_matches('.').to_owned();
            Some((Cow::Owned(path), shown.into_boxed_str()))
        };
        self.selectable.iter().filter_map(value_of).collect()
    }
}

/// The value at a simple path such as `.spec.replicas`.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, step| value.get(step))
}

/// Sets the value at a simple path; objects on the way are made.
pub(crate) fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}

/// What is wrong with the number of replicas that an object wishes for.
pub(crate) fn check_scale_spec(version: &CustomVersion, object: &Value) -> Vec<FieldError> {
    let Some(paths) = &version.scale else { return Vec::new() };
    check_replicas(object, &paths.spec_replicas).into_iter().collect()
}

/// What is wrong with what the status of an object says about its replicas.
pub(crate) fn check_scale_status(version: &CustomVersion, object: &Value) -> Vec<FieldError> {
    let Some(paths) = &version.scale else { return Vec::new() };
    let mut errors: Vec<FieldError> =
        check_replicas(object, &paths.status_replicas).into_iter().collect();
    if let Some(path) = &paths.label_selector {
        let wrong = match reach(object, path) {
            Ok(Some(found)) if !found.is_string() => Some(accessor_error(path, found, "string")),
            Ok(_) => None,
            Err(why) => Some(why),
        };
        errors.extend(wrong.map(|why| FieldError::invalid(path, "", why)));
    }
    errors
}

/// The value at a simple path, or in the words of Go why there cannot be one.
fn reach<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let mut value = object;
    let mut reached = String::new();
    for step in path.trim_start_matches('.').split('.') {
        reached.push('.');
        reached.push_str(step);
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(step) {
                Some(field) => field,
                None => return Ok(None),
            },
            other => return Err(accessor_error(&reached, other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    let found = match reach(object, path) {
        Ok(found) => found?,
        Err(why) => return Some(FieldError::invalid(path, 0, why)),
    };
    let Some(replicas) = found.as_i64() else {
        return Some(FieldError::invalid(path, 0, accessor_error(path, found, "int64")));
    };
    if replicas < 0 {
        return Some(FieldError::invalid(path, replicas, "should be a non-negative integer"));
    }
    let most = i64::from(i32::MAX);
    let detail = format!("should be less than or equal to {most}");
    (replicas > most).then(|| FieldError::invalid(path, replicas, detail))
}

/// What Go's access to fields of unknown types says about a value of another type.
fn accessor_error(path: &str, found: &Value, wanted: &str) -> String {
    let (shown, kind) = match found {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(value) => (value.to_string(), "bool"),
        Value::Number(number) if number.is_f64() => (number.to_string(), "float64"),
        Value::Number(number) => (number.to_string(), "int64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (go_text(found), "[]interface {}"),
        Value::Object(_) => (go_text(found), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {kind}, expected {wanted}")
}

/// What is wrong with the schemas of a definition; nothing for objects of other kinds.
pub(crate) fn check_definition(kind: &Kind, object: &Value) -> Vec<FieldError> {
    if !kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let versions = object["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let schemas: Vec<Option<&Value>> =
        versions.iter().map(|version| version.pointer("/schema/openAPIV3Schema")).collect();
    if object["spec"]["preserveUnknownFields"] == true
        && schemas.iter().flatten().any(|schema| has_default(schema))
    {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    // The server keeps a schema that all versions share in a place of its own.
    let shared = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    for (index, version) in versions.iter().enumerate() {
        let path = if shared {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{index}].schema.openAPIV3Schema")
        };
        match version.pointer("/schema/openAPIV3Schema") {
            Some(schema) => errors.extend(Schema::check_json(schema, &path)),
            None if shared => {}
            None => errors.push(FieldError::required(path, "schemas are required")),
        }
        if shared {
            break;
        }
    }
    errors
}

/// Whether a schema fills something in.
fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("default").is_some_and(|default| !default.is_null())
                || fields.values().any(has_default)
        }
        Value::Array(entries) => entries.iter().any(has_default),
        _ => false,
    }
}

/// The kind that a definition adds.
pub(crate) fn kind_of(definition: &Value) -> Option<Kind> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let group = text(spec, "/group");
    let kind = text(names, "/kind");
    let list = |field: &str| -> Vec<Box<str>> {
        let words = names[field].as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(Into::into).collect()
    };
    let resource = Resource::new(group, text(names, "/plural"));
    let mut versions: Vec<Version> = spec["versions"]
        .as_array()?
        .iter()
        .filter_map(|version| version_of(spec, group, kind, version))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_priority(&version.name)));
    if versions.is_empty() {
        return None;
    }
    let stored = versions.iter().find(|version| version.stored).or(versions.first())?;
    let stored_type = TypeNames { api_version: stored.api_version.clone(), kind: kind.into() };
    Some(Kind {
        storage: resource.clone(),
        resource,
        stored_type: Arc::new(stored_type),
        kind: kind.into(),
        list_kind: text(names, "/listKind").into(),
        singular: text(names, "/singular").into(),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text(spec, "/scope") == "Namespaced",
        versions,
    })
}

fn version_of(spec: &Value, group: &str, kind: &str, version: &Value) -> Option<Version> {
    let name = text(version, "/name");
    let api_version = format!("{group}/{name}");
    let given = version.pointer("/schema/openAPIV3Schema")?;
    let mut schema = Schema::from_json(given).ok()?;
    if spec["preserveUnknownFields"] == true {
        schema.preserve_unknown_fields = true;
    }
    let schema = Arc::new(schema);
    let mut with_metadata = (*schema).clone();
    if let Some(metadata) = joiner_kinds::schema_named(OBJECT_META) {
        with_metadata.properties.insert("metadata".into(), metadata);
    }
    let string = Arc::new(Schema { kind: Some(joiner_schema::Type::String), ..Schema::default() });
    for field in ["apiVersion", "kind"] {
        with_metadata.properties.insert(field.into(), Arc::clone(&string));
    }
    let paths = |field: &str| -> Vec<Arc<str>> {
        let list = version[field].as_array().into_iter().flatten();
        list.map(|entry| Arc::from(text(entry, "/jsonPath"))).collect()
    };
    let custom = CustomVersion {
        validator: Validator::new(&schema),
        schema,
        scale: version.pointer("/subresources/scale").map(scale_paths),
        columns: PrinterColumn::parse_all(&version["additionalPrinterColumns"]),
        selectable: paths("selectableFields"),
    };
    Some(Version {
        name: name.into(),
        head: head(&api_version, kind),
        api_version: api_version.into(),
        served: version["served"] == true,
        stored: version["storage"] == true,
        schema: Arc::new(with_metadata),
        verbs: CUSTOM_VERBS.iter().map(|verb| Box::from(*verb)).collect(),
        subresources: subresources(group, name, kind, version),
        storage_version_hash: None,
        empty: json!({}),
        deprecation: deprecation(spec, group, kind, version).into_iter().collect(),
        rules: Rules::Custom(Box::new(custom)),
    })
}

/// What can be done with custom resources, in the order in which discovery lists it.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

fn subresources(group: &str, name: &str, kind: &str, version: &Value) -> Vec<Subresource> {
    let verbs: Vec<Box<str>> = ["get", "patch", "update"].map(Box::from).to_vec();
    let mut subresources = Vec::new();
    if version.pointer("/subresources/status").is_some() {
        subresources.push(Subresource {
            name: "status".into(),
            group: group.into(),
            version: name.into(),
            kind: kind.into(),
            foreign: false,
            verbs: verbs.clone(),
        });
    }
    if version.pointer("/subresources/scale").is_some() {
        subresources.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            foreign: true,
            verbs,
        });
    }
    subresources
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |field: &str| text(scale, field).to_owned();
    ScalePaths {
        spec_replicas: path("/specReplicasPath"),
        status_replicas: path("/statusReplicasPath"),
        label_selector: Some(path("/labelSelectorPath")).filter(|path| !path.is_empty()),
    }
}

/// The warning that callers of a deprecated version get.
fn deprecation(spec: &Value, group: &str, kind: &str, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    let given = text(version, "/deprecationWarning");
    if !given.is_empty() {
        return Some(given.to_owned());
    }
    let name = text(version, "/name");
    let priority = version_priority(name);
    let better = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(other, "/name"))
        .filter(|other| version_priority(other) > priority)
        .max_by_key(|other| version_priority(other));
    let instead = better.map(|other| format!("; use {group}/{other} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

/// What the server says about the names of a definition: whether they are free, and which of them
/// it has. The moment is when conditions change that do.
pub(crate) fn accept_names(registry: &Registry, definition: &mut Value, moment: &str) -> bool {
    let names = definition["spec"]["names"].clone();
    let resource = Resource::new(text(definition, "/spec/group"), text(&names, "/plural"));
    let taken = |word: &str| {
        registry.kinds_of(&resource.group).filter(|kind| kind.resource != resource).any(|kind| {
            let others = [&*kind.resource.plural, &kind.singular, &kind.kind, &kind.list_kind];
            others.contains(&word) || kind.short_names.iter().any(|short| **short == *word)
        })
    };
    let shorts = names["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut conflict = None;
    for (reason, word) in [
        ("PluralConflict", text(&names, "/plural")),
        ("SingularConflict", text(&names, "/singular")),
        ("KindConflict", text(&names, "/kind")),
        ("ListKindConflict", text(&names, "/listKind")),
    ]
    .into_iter()
    .chain(shorts.map(|short| ("ShortNamesConflict", short)))
    {
        if !word.is_empty() && taken(word) {
            conflict = Some((reason, format!("{word:?} is already in use")));
            break;
        }
    }
    let accepted = conflict.is_none();
    let status = &mut definition["status"];
    if accepted {
        status["acceptedNames"] = names;
    }
    let (reason, message) =
        conflict.unwrap_or_else(|| ("NoConflicts", "no conflicts found".to_owned()));
    set_condition(status, "NamesAccepted", accepted, reason, &message, moment);
    let established = condition_is(status, "Established", "True");
    if accepted && !established {
        let message = "the initial names have been accepted";
        set_condition(status, "Established", true, "InitialNamesAccepted", message, moment);
    } else if !accepted && !established {
        let message = "not all names are accepted";
        set_condition(status, "Established", false, "NotAccepted", message, moment);
    }
    accepted || established
}

/// Marks a definition whose objects are about to be deleted with it.
pub(crate) fn mark_terminating(definition: &mut Value, moment: &str) {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will \
                   begin soon";
    let status = &mut definition["status"];
    set_condition(status, "Terminating", true, "InstanceDeletionPending", message, moment);
}

/// The finalizer that holds a definition until its objects are gone.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn condition_is(status: &Value, kind: &str, value: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|c| c["type"] == kind && c["status"] == value)
}

fn set_condition(
    status: &mut Value,
    kind: &str,
    value: bool,
    reason: &str,
    message: &str,
    moment: &str,
) {
    let value = if value { "True" } else { "False" };
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    let known = conditions.iter_mut().find(|condition| condition["type"] == kind);
    let changed = known.as_ref().is_none_or(|condition| condition["status"] != value);
    let since = match &known {
        Some(condition) if !changed => condition["lastTransitionTime"].clone(),
        _ => moment.into(),
    };
    let condition = json!({
        "type": kind, "status": value, "lastTransitionTime": since,
        "reason": reason, "message": message,
    });
    match known {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}

/// The resource whose objects a definition describes.
pub(crate) fn described(definition: &Value) -> Resource {
    Resource::new(text(definition, "/spec/group"), text(definition, "/spec/names/plural"))
}

/// The name of the resource of definitions.
pub(crate) fn definitions() -> Resource {
    Resource::new("apiextensions.k8s.io", "customresourcedefinitions")
}
