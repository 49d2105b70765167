//! Filling in what an object does not say.

mod pod;
mod rules;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::{
    Resource,
    decode::round_to_milli,
    edit::is_blank,
    types::{Held, Shape, Struct, types},
};

/// Fills in defaults, as the server does whenever it decodes an object.
pub fn default(resource: &Resource, object: &mut Value) {
    if let (Some(index), Value::Object(fields)) = (types().index_of(&resource.type_name), object) {
        apply(index, fields);
    }
}

/// What to fill in for one type.
#[derive(Default)]
struct Plan {
    /// Fixed values, with whether the field is a pointer: then only "not given" is empty.
    values: Vec<(&'static str, bool, Value)>,
    /// What depends on other fields; runs after the fixed values.
    rule: Option<fn(&mut Map<String, Value>)>,
    /// Fields in which there is something to fill in.
    parts: Vec<(&'static str, Part)>,
}

/// Where the structs in a field are.
#[derive(Clone, Copy)]
enum Part {
    One(usize),
    List(usize),
    Map(usize),
    /// Amounts of resources, which are rounded to thousandths.
    Amounts,
}

static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(plans);

fn apply(index: usize, object: &mut Map<String, Value>) {
    let plan = &PLANS[index];
    for (name, pointer, value) in &plan.values {
        let empty = |given: &Value| given.is_null() || !pointer && is_blank(given);
        if object.get(*name).is_none_or(empty) {
            object.insert((*name).to_owned(), value.clone());
        }
    }
    if let Some(rule) = plan.rule {
        rule(object);
    }
    for (name, part) in &plan.parts {
        match (part, object.get_mut(*name)) {
            (Part::One(of), Some(Value::Object(fields))) => apply(*of, fields),
            (Part::List(of), Some(Value::Array(entries))) => {
                for fields in entries.iter_mut().filter_map(Value::as_object_mut) {
                    apply(*of, fields);
                }
            }
            (Part::Map(of), Some(Value::Object(entries))) => {
                for fields in entries.values_mut().filter_map(Value::as_object_mut) {
                    apply(*of, fields);
                }
            }
            (Part::Amounts, Some(Value::Object(amounts))) => {
                amounts.values_mut().for_each(round_to_milli);
            }
            _ => {}
        }
    }
}

fn plans() -> Vec<Plan> {
    let mut plans: Vec<Plan> = types().all().iter().map(published).collect();
    for line in include_str!("../facts/defaults.txt").lines() {
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().expect("type, field and value");
        let (type_name, name, value) = (next(), next(), next());
        let index = types().index_of(type_name).expect("a type of the facts");
        let field = types().at(index).field(name).expect("a field of the type");
        let value = serde_json::from_str(value).expect("a JSON value");
        plans[index].values.push((field.name, field.held.pointer, value));
    }
    for (type_name, rule) in rules::RULES {
        plans[types().index_of(type_name).expect("a type of the facts")].rule = Some(*rule);
    }
    let mut known = FxHashMap::default();
    for index in 0..plans.len() {
        has_defaults(index, &mut plans, &mut known);
    }
    plans
}

/// The defaults that OpenAPI publishes.
fn published(of: &'static Struct) -> Plan {
    let values = of.fields.iter().filter_map(|field| {
        let default = field.merging.iter().find_map(|flag| flag.strip_prefix("default="))?;
        Some((field.name, field.held.pointer, serde_json::from_str(default).ok()?))
    });
    Plan { values: values.collect(), ..Plan::default() }
}

/// Whether there is something to fill in for a type or below it; notes where.
fn has_defaults(index: usize, plans: &mut Vec<Plan>, known: &mut FxHashMap<usize, bool>) -> bool {
    if let Some(&known) = known.get(&index) {
        return known;
    }
    let mut parts = Vec::new();
    for field in &types().at(index).fields {
        let Some(part) = part(&field.held) else { continue };
        let wanted = match part {
            Part::One(of) | Part::List(of) | Part::Map(of) => has_defaults(of, plans, known),
            Part::Amounts => true,
        };
        if wanted {
            parts.push((field.name, part));
        }
    }
    let plan = &mut plans[index];
    plan.parts = parts;
    let any = !plan.values.is_empty() || plan.rule.is_some() || !plan.parts.is_empty();
    known.insert(index, any);
    any
}

fn part(held: &Held) -> Option<Part> {
    if held.alias == Some("core.v1.ResourceList") {
        return Some(Part::Amounts);
    }
    match &held.shape {
        Shape::Struct(index) => Some(Part::One(*index)),
        Shape::List(entry) => match entry.shape {
            Shape::Struct(index) => Some(Part::List(index)),
            _ => None,
        },
        Shape::Map(_, value) => match value.shape {
            Shape::Struct(index) => Some(Part::Map(index)),
            _ => None,
        },
        _ => None,
    }
}
