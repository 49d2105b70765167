//! A schema with its regular expressions and rules compiled.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use regex::Regex;

use crate::{
    cel::CompiledRule,
    formats::Format,
    regexes,
    schema::{Additional, ListType, Schema, Type},
};

/// One schema, and what it takes to validate with it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) schema: Arc<Schema>,
    pub(crate) format: Option<Format>,
    pub(crate) pattern: Option<Result<Regex, String>>,
    pub(crate) properties: BTreeMap<String, Arc<Node>>,
    pub(crate) additional: Option<Arc<Node>>,
    pub(crate) items: Option<Arc<Node>>,
    pub(crate) all_of: Vec<Arc<Node>>,
    pub(crate) any_of: Vec<Arc<Node>>,
    pub(crate) one_of: Vec<Arc<Node>>,
    pub(crate) not: Option<Arc<Node>>,
    /// What rules see: the schema, with the fields of resources where there are some.
    pub(crate) rule_schema: Arc<Schema>,
    pub(crate) rules: Vec<CompiledRule>,
    /// Whether there are rules here or below.
    pub(crate) has_rules: bool,
    /// Whether there are sets or maps as lists here or below.
    pub(crate) has_lists: bool,
    /// Whether there are resources in resources here or below.
    pub(crate) has_embedded: bool,
}

impl Node {
    /// Compiles a schema; `resource` is whether its values are resources.
    pub(crate) fn compile(schema: &Arc<Schema>, resource: bool) -> Arc<Self> {
        let rule_schema = augmented(schema, resource);
        Compiler { known: HashMap::new() }.node(schema, &rule_schema)
    }
}

/// Built-in kinds share schemas; each is compiled once.
struct Compiler {
    known: HashMap<(*const Schema, *const Schema), Arc<Node>>,
}

impl Compiler {
    fn node(&mut self, schema: &Arc<Schema>, rule_schema: &Arc<Schema>) -> Arc<Node> {
        let pointers = (Arc::as_ptr(schema), Arc::as_ptr(rule_schema));
        if let Some(known) = self.known.get(&pointers) {
            return Arc::clone(known);
        }
        let node = Arc::new(self.build(schema, rule_schema));
        self.known.insert(pointers, Arc::clone(&node));
        node
    }

    fn build(&mut self, schema: &Arc<Schema>, rule_schema: &Arc<Schema>) -> Node {
        let properties: BTreeMap<String, Arc<Node>> = schema
            .properties
            .iter()
            .map(|(name, property)| {
                let seen = rule_schema.properties.get(name).unwrap_or(property);
                // Fields of metadata that rules see differently are still validated as they are.
                (name.clone(), self.node(property, seen))
            })
            .collect();
        let additional = schema
            .additional_schema()
            .map(|values| self.node(values, rule_schema.additional_schema().unwrap_or(values)));
        let items = schema
            .items
            .as_ref()
            .map(|items| self.node(items, rule_schema.items.as_ref().unwrap_or(items)));
        let rules = CompiledRule::compile_all(schema, rule_schema);
        let children = || properties.values().chain(&additional).chain(&items);
        let has = |what: fn(&Node) -> bool| children().any(|child| what(child));
        Node {
            format: schema.format.as_deref().and_then(|format| {
                let kind = if schema.int_or_string { None } else { schema.kind };
                Format::find(format, kind)
            }),
            pattern: schema.pattern.as_deref().map(regexes::compile),
            has_rules: !rules.is_empty() || has(|child| child.has_rules),
            has_lists: matches!(schema.list_type, Some(ListType::Set | ListType::Map))
                || has(|child| child.has_lists),
            has_embedded: schema.embedded_resource || has(|child| child.has_embedded),
            all_of: self.junctors(&schema.all_of),
            any_of: self.junctors(&schema.any_of),
            one_of: self.junctors(&schema.one_of),
            not: schema.not.as_deref().map(|not| self.junctor(not)),
            rules,
            rule_schema: Arc::clone(rule_schema),
            schema: Arc::clone(schema),
            properties,
            additional,
            items,
        }
    }

    fn junctors(&mut self, schemas: &[Schema]) -> Vec<Arc<Node>> {
        schemas.iter().map(|schema| self.junctor(schema)).collect()
    }

    /// A schema of a logical junctor; it has no rules, so rules see nothing of it.
    fn junctor(&mut self, schema: &Schema) -> Arc<Node> {
        let schema = Arc::new(schema.clone());
        Arc::new(self.build(&schema, &schema))
    }
}

/// The schema as rules see it: resources have `apiVersion`, `kind`, `metadata.name` and
/// `metadata.generateName`, whatever the schema says about them. What has no resources in it stays
/// the same schema.
pub(crate) fn augmented(schema: &Arc<Schema>, resource: bool) -> Arc<Schema> {
    let mut changed: Option<Schema> = None;
    for (name, property) in &schema.properties {
        let seen = augmented(property, property.embedded_resource);
        if !Arc::ptr_eq(&seen, property) {
            let copy = changed.get_or_insert_with(|| Schema::clone(schema));
            copy.properties.insert(name.clone(), seen);
        }
    }
    if let Some(values) = schema.additional_schema() {
        let seen = augmented(values, values.embedded_resource);
        if !Arc::ptr_eq(&seen, values) {
            let copy = changed.get_or_insert_with(|| Schema::clone(schema));
            copy.additional = Some(Additional::Schema(seen));
        }
    }
    if let Some(items) = &schema.items {
        let seen = augmented(items, items.embedded_resource);
        if !Arc::ptr_eq(&seen, items) {
            changed.get_or_insert_with(|| Schema::clone(schema)).items = Some(seen);
        }
    }
    if resource {
        let copy = changed.get_or_insert_with(|| Schema::clone(schema));
        let text = Arc::new(Schema { kind: Some(Type::String), ..Schema::default() });
        let metadata = Schema {
            kind: Some(Type::Object),
            properties: ["name", "generateName"]
                .map(|name| (name.to_owned(), Arc::clone(&text)))
                .into(),
            ..Schema::default()
        };
        copy.properties.insert("apiVersion".to_owned(), Arc::clone(&text));
        copy.properties.insert("kind".to_owned(), text);
        copy.properties.insert("metadata".to_owned(), Arc::new(metadata));
    }
    changed.map_or_else(|| Arc::clone(schema), Arc::new)
}
