//! Schemas of the built-in kinds, made from the facts.

use std::sync::Arc;

use crate::{
    Resource,
    types::{Field, Held, Shape, Struct, types},
};
use joiner_schema::{Additional, ListType, Patch, Schema, Type};

/// The schema of a resource's objects: names, list types, map keys, patch strategies and defaults as
/// OpenAPI has them.
pub fn schema(resource: &Resource) -> Arc<Schema> {
    types().named(&resource.type_name).map(of_struct).unwrap_or_default()
}

/// The schema of a type by its published name, such as `io.k8s.api.autoscaling.v1.Scale`.
pub fn schema_named(published: &str) -> Option<Arc<Schema>> {
    let parts: Vec<&str> = published.split('.').collect();
    let short = parts[parts.len().checked_sub(3)?..].join(".");
    types().named(&short).filter(|one| published_name(one.name) == published).map(of_struct)
}

fn of_struct(one: &Struct) -> Arc<Schema> {
    one.schema.get_or_init(|| Arc::new(build(one))).clone()
}

fn build(one: &Struct) -> Schema {
    Schema {
        name: Some(published_name(one.name).into()),
        kind: Some(Type::Object),
        atomic_map: one.atomic,
        properties: one
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), of_field(field)))
            .collect(),
        required: one
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name.to_owned())
            .collect(),
        ..Schema::default()
    }
}

fn of_field(field: &Field) -> Arc<Schema> {
    let schema = of_held(&field.held);
    if field.merging.is_empty() {
        return schema;
    }
    let mut schema = Arc::unwrap_or_clone(schema);
    let list = schema.kind == Some(Type::Array);
    for flag in &field.merging {
        let (word, value) = flag.split_once('=').unwrap_or((flag, ""));
        match word {
            "atomic" if list => schema.list_type = Some(ListType::Atomic),
            "atomic" => schema.atomic_map = true,
            "set" => schema.list_type = Some(ListType::Set),
            "map" => {
                schema.list_type = Some(ListType::Map);
                schema.list_map_keys = value.split(',').map(str::to_owned).collect();
            }
            "merge" => {
                let patch = schema.patch.get_or_insert_default();
                patch.merge = true;
                patch.merge_key = (!value.is_empty()).then(|| value.to_owned());
            }
            "replace" => schema.patch = Some(Patch::default()),
            "granular" => schema.atomic_map = false,
            "retainKeys" => schema.patch.get_or_insert_with(Patch::default).retain_keys = true,
            _ => schema.default = serde_json::from_str(value).ok(),
        }
    }
    Arc::new(schema)
}

fn of_held(held: &Held) -> Arc<Schema> {
    let plain = |kind| Schema { kind: Some(kind), ..Schema::default() };
    let formatted = |kind, format: &str| Schema {
        kind: Some(kind),
        format: Some(format.to_owned()),
        ..Schema::default()
    };
    let named = |name: &str, schema| Schema { name: Some(published_name(name).into()), ..schema };
    Arc::new(match &held.shape {
        Shape::Struct(index) => return of_struct(types().at(*index)),
        Shape::Bool => plain(Type::Boolean),
        Shape::Integer(32) => formatted(Type::Integer, "int32"),
        Shape::Integer(_) => formatted(Type::Integer, "int64"),
        Shape::Float => formatted(Type::Number, "double"),
        Shape::String => plain(Type::String),
        Shape::Bytes => formatted(Type::String, "byte"),
        Shape::Time => named("meta.v1.Time", formatted(Type::String, "date-time")),
        Shape::MicroTime => named("meta.v1.MicroTime", formatted(Type::String, "date-time")),
        Shape::Quantity => {
            named("api.resource.Quantity", Schema { int_or_string: true, ..Schema::default() })
        }
        Shape::IntOrString => {
            named("util.intstr.IntOrString", Schema { int_or_string: true, ..Schema::default() })
        }
        // Nobody knows what is inside, so it has one owner.
        Shape::Any => {
            Schema { preserve_unknown_fields: true, atomic_map: true, ..plain(Type::Object) }
        }
        Shape::List(entry) => Schema { items: Some(of_held(entry)), ..plain(Type::Array) },
        Shape::Map(_, value) => {
            Schema { additional: Some(Additional::Schema(of_held(value))), ..plain(Type::Object) }
        }
    })
}

/// The name under which OpenAPI documents have a type.
fn published_name(name: &str) -> String {
    let package = match name.split('.').next() {
        Some("meta") => "io.k8s.apimachinery.pkg.apis.",
        Some("api" | "util" | "runtime") => "io.k8s.apimachinery.pkg.",
        Some("apiextensions") => "io.k8s.apiextensions-apiserver.pkg.apis.",
        Some("apiregistration") => "io.k8s.kube-aggregator.pkg.apis.",
        _ => "io.k8s.api.",
    };
    format!("{package}{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{find, resources};

    #[test]
    fn every_resource_has_a_schema() {
        for resource in resources() {
            let schema = schema(resource);
            let name = schema.name.as_deref().unwrap_or_default();
            assert!(name.ends_with(resource.kind), "{}: {name:?}", resource.plural);
        }
    }

    #[test]
    fn lists_know_how_their_entries_are_told_apart() {
        let pods = find("", "v1", "pods").expect("pods");
        let pod = schema(pods);
        let spec = &pod.properties["spec"];
        assert_eq!(spec.name.as_deref(), Some("io.k8s.api.core.v1.PodSpec"));
        assert_eq!(spec.required, ["containers"]);
        let containers = &spec.properties["containers"];
        assert_eq!(containers.list_map_keys, ["name"]);
        let ports = &containers.items.as_ref().expect("items").properties["ports"];
        assert_eq!(ports.list_map_keys, ["containerPort", "protocol"]);
        let protocol = &ports.items.as_ref().expect("items").properties["protocol"];
        assert_eq!(protocol.default, Some(json!("TCP")));
        let volumes = spec.properties["volumes"].patch.clone().expect("a strategy");
        assert!(volumes.merge && volumes.retain_keys);
        assert_eq!(volumes.merge_key.as_deref(), Some("name"));
        assert!(spec.properties["nodeSelector"].atomic_map);
    }
}
