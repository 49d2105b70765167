//! The file of types that replaces the built-in list.

use std::collections::BTreeMap;

use joiner_core::{
    instance_type::Overhead,
    label,
    quantity::Quantity,
    resources::{CPU, MEMORY, Resources},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Type;
use crate::configuration::{from_json, with_known_case};

/// What a reservation of instances holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its id, which is the value of a label.
    pub id: String,
    /// How many instances it holds, in all zones together.
    pub count: u32,
}

/// Why the file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is no list.
    #[error("is not valid: {0}; write a JSON list of instance types")]
    NotAList(String),
    /// A type cannot be meant.
    #[error("instance type {name:?}: {problem}")]
    Type {
        /// Its name, or its position where it has none.
        name: String,
        /// What is wrong and what to write.
        problem: String,
    },
}

const KEYS: [&str; 6] =
    ["name", "capacity", "capacitytype", "reservation", "overhead", "offerings"];
const OVERHEADS: [&str; 3] = ["KubeReserved", "SystemReserved", "EvictionThreshold"];

#[derive(Deserialize)]
struct Written {
    name: Option<String>,
    capacity: Option<Resources>,
    capacitytype: Option<String>,
    reservation: Option<Reservation>,
    overhead: Option<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Overheads {
    kube_reserved: Option<Resources>,
    system_reserved: Option<Resources>,
    eviction_threshold: Option<Resources>,
}

/// Reads the file. What it says of offerings is not used: they follow from classes and hosts.
pub fn read(text: &str) -> Result<Vec<Type>, FileError> {
    let list: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| FileError::NotAList(error.to_string()))?;
    let mut types: Vec<Type> = Vec::with_capacity(list.len());
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for (i, entry) in list.iter().enumerate() {
        let entry = with_known_case(entry, &KEYS);
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let shown = if name.is_empty() { format!("#{}", i + 1) } else { name };
        let refused = |problem: String| FileError::Type { name: shown.clone(), problem };
        let read = read_type(&Value::Object(entry)).map_err(refused)?;
        if types.iter().any(|earlier| earlier.name == read.name) {
            return Err(refused("is there twice; rename one".to_owned()));
        }
        if let Some(Reservation { id, count }) = &read.reservation {
            let earlier = *counts.entry(id.clone()).or_insert(*count);
            if earlier != *count {
                let text = format!(
                    "reservation {id:?} has the count {count}, and another type says {earlier}; \
                     make them equal"
                );
                return Err(refused(text));
            }
        }
        types.push(read);
    }
    Ok(types)
}

fn read_type(entry: &Value) -> Result<Type, String> {
    let at = |(field, problem): (String, String)| {
        if field == "." { problem } else { format!("{field}: {problem}") }
    };
    let written: Written = from_json(entry).map_err(at)?;
    let name = written.name.unwrap_or_default();
    if name.is_empty() {
        return Err("name: is missing; write one such as c1.2VCPU-4GB".to_owned());
    }
    let family = name.split('.').next().unwrap_or_default();
    if !label::is_valid_value(&name) || !label::is_valid_value(family) {
        return Err("name: cannot be the value of a label; write 63 characters at most, of \
                    letters, digits and, between them, - _ and ."
            .to_owned());
    }
    let capacity = written.capacity.unwrap_or_default();
    for resource in [CPU, MEMORY] {
        if capacity.get(resource) < Quantity::whole(1) {
            return Err(format!("capacity.{resource}: is missing or below 1; write an amount"));
        }
    }
    let capacity_type = written.capacitytype.filter(|word| !word.is_empty());
    let capacity_type = capacity_type.unwrap_or(label::CAPACITY_TYPE_ON_DEMAND.to_owned());
    let known =
        [label::CAPACITY_TYPE_ON_DEMAND, label::CAPACITY_TYPE_SPOT, label::CAPACITY_TYPE_RESERVED];
    if !known.contains(&capacity_type.as_str()) {
        return Err(format!(
            "capacitytype {capacity_type:?} is not known; write {}",
            known.join(", ")
        ));
    }
    let is_reserved = capacity_type == label::CAPACITY_TYPE_RESERVED;
    match &written.reservation {
        None if is_reserved => {
            return Err("capacitytype \"reserved\" needs reservation {id, count}".to_owned());
        }
        Some(_) if !is_reserved => {
            return Err(format!(
                "reservation {{id, count}} needs capacitytype \"reserved\", not {capacity_type:?}"
            ));
        }
        Some(own) if own.id.is_empty() || !label::is_valid_value(&own.id) => {
            return Err(format!("reservation.id: {:?} cannot be the value of a label", own.id));
        }
        _ => {}
    }
    let overheads = with_known_case(&written.overhead.unwrap_or_default(), &OVERHEADS);
    let overheads: Overheads = from_json(&Value::Object(overheads))
        .map_err(|(field, problem)| format!("overhead.{field}: {problem}"))?;
    Ok(Type {
        name,
        capacity,
        capacity_type,
        reservation: written.reservation,
        overhead: Overhead {
            kube_reserved: overheads.kube_reserved.unwrap_or_default(),
            system_reserved: overheads.system_reserved.unwrap_or_default(),
            eviction_threshold: overheads.eviction_threshold.unwrap_or_default(),
        },
    })
}
