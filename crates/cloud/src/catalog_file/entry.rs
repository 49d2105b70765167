//! One entry of an instance type file.

use std::{collections::BTreeMap, sync::Arc};

use joiner_core::{
    instance_type::{InstanceType, Offering, Overhead},
    quantity::Quantity,
    requirement::{Operator, RequirementSpec, Requirements},
    resources::Resources,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Form, Problem, deserialize};

/// A type and the pools it is for.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) instance_type: Arc<InstanceType>,
    /// Empty: every pool.
    pub(super) pools: Vec<String>,
    /// The API group of the cloud whose form it has; none for the full form.
    pub(super) group: Option<&'static str>,
}

/// The full form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FullEntry {
    name: String,
    #[serde(default)]
    requirements: Vec<RequirementSpec>,
    capacity: Resources,
    #[serde(default)]
    overhead: OverheadForm,
    #[serde(default)]
    offerings: Vec<FullOffering>,
    #[serde(default)]
    node_pools: Vec<String>,
    #[serde(default)]
    volume_limits: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FullOffering {
    #[serde(default)]
    price: f64,
    available: bool,
    #[serde(default)]
    reservation_capacity: u32,
    #[serde(default)]
    requirements: Vec<RequirementSpec>,
    #[serde(default)]
    capacity: Resources,
    #[serde(default)]
    overhead: OverheadForm,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct OverheadForm {
    kube_reserved: Resources,
    system_reserved: Resources,
    eviction_threshold: Resources,
}

impl From<OverheadForm> for Overhead {
    fn from(form: OverheadForm) -> Self {
        Self {
            kube_reserved: form.kube_reserved,
            system_reserved: form.system_reserved,
            eviction_threshold: form.eviction_threshold,
        }
    }
}

impl Entry {
    /// Reads one entry of any form.
    pub(super) fn read(
        value: Value,
        reservation_id_label: Option<&str>,
        forms: &[&dyn Form],
    ) -> Result<Self, Problem> {
        let Value::Object(fields) = &value else {
            return Err(Problem::new(
                "",
                "is not an object; write {\"name\": ..., \"capacity\": ...}",
            ));
        };
        let entry = if let Some(form) = forms.iter().find(|form| form.is_of(fields)) {
            let full_only = ["requirements", "capacity", "overhead", "nodePools", "volumeLimits"];
            if let Some(key) = full_only.iter().find(|key| fields.contains_key(**key)) {
                let text = format!(
                    "belongs to the full form, but the entry has {}; write one form",
                    form.marks()
                );
                return Err(Problem::new(*key, text));
            }
            let instance_type = Arc::new(form.read(value)?);
            Self { instance_type, pools: Vec::new(), group: Some(form.group()) }
        } else {
            read_full(deserialize(value)?)?
        };
        if entry.instance_type.name.is_empty() {
            return Err(Problem::new("name", "is empty; name the type"));
        }
        check_reservations(&entry.instance_type, reservation_id_label)?;
        Ok(entry)
    }
}

fn read_full(entry: FullEntry) -> Result<Entry, Problem> {
    check_amounts("capacity", &entry.capacity)?;
    check_overhead("overhead", &entry.overhead)?;
    if let Some(i) = entry.node_pools.iter().position(String::is_empty) {
        return Err(Problem::new(format!("nodePools[{i}]"), "is empty; name a NodePool"));
    }
    let mut pools = entry.node_pools;
    pools.sort();
    pools.dedup();
    let mut offerings = Vec::with_capacity(entry.offerings.len());
    for (i, offering) in entry.offerings.into_iter().enumerate() {
        let field = |name: &str| format!("offerings[{i}].{name}");
        check_price(&field("price"), offering.price)?;
        check_amounts(&field("capacity"), &offering.capacity)?;
        check_overhead(&field("overhead"), &offering.overhead)?;
        offerings.push(Offering {
            requirements: requirements(&field("requirements"), &offering.requirements)?,
            price: offering.price,
            available: offering.available,
            reservation_capacity: offering.reservation_capacity,
            capacity: offering.capacity,
            overhead: Overhead::from(offering.overhead).total(),
        });
    }
    let instance_type = InstanceType {
        requirements: requirements("requirements", &entry.requirements)?,
        name: entry.name,
        capacity: entry.capacity,
        overhead: entry.overhead.into(),
        offerings,
        volume_limits: entry.volume_limits,
        price_overlaid: false,
        capacity_overlaid: false,
    };
    Ok(Entry { instance_type: Arc::new(instance_type), pools, group: None })
}

/// Reads requirements; a requirement that no label can meet is a problem.
pub fn requirements(field: &str, specs: &[RequirementSpec]) -> Result<Requirements, Problem> {
    for (i, spec) in specs.iter().enumerate() {
        if spec.key.is_empty() {
            return Err(Problem::new(format!("{field}[{i}].key"), "is empty; name a label"));
        }
        let at_values = |text: String| Err(Problem::new(format!("{field}[{i}].values"), text));
        match spec.operator {
            Operator::In | Operator::NotIn if spec.values.is_empty() => {
                return at_values(format!("is empty; {} needs values", spec.operator));
            }
            Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte
                if spec.values.len() != 1 || spec.values[0].parse::<u64>().is_err() =>
            {
                return at_values(format!("{} needs one whole number of 0 or more", spec.operator));
            }
            _ => {}
        }
    }
    Ok(Requirements::from_specs(specs))
}

/// Refuses a price below zero.
pub fn check_price(field: &str, price: f64) -> Result<(), Problem> {
    if price.is_finite() && price >= 0.0 {
        return Ok(());
    }
    Err(Problem::new(field, format!("{price} is no price; write a number of 0 or more")))
}

/// Refuses an amount below zero.
pub fn check_amounts(field: &str, amounts: &Resources) -> Result<(), Problem> {
    match amounts.iter().find(|(_, amount)| *amount < Quantity::ZERO) {
        Some((name, amount)) => Err(Problem::new(
            format!("{field}.{name}"),
            format!("{amount} is below zero; write an amount of 0 or more"),
        )),
        None => Ok(()),
    }
}

fn check_overhead(field: &str, overhead: &OverheadForm) -> Result<(), Problem> {
    check_amounts(&format!("{field}.kubeReserved"), &overhead.kube_reserved)?;
    check_amounts(&format!("{field}.systemReserved"), &overhead.system_reserved)?;
    check_amounts(&format!("{field}.evictionThreshold"), &overhead.eviction_threshold)
}

/// Without an id, two reservations could not be told apart and would be drawn from as one.
fn check_reservations(instance_type: &InstanceType, id_label: Option<&str>) -> Result<(), Problem> {
    for (i, offering) in instance_type.offerings.iter().enumerate() {
        if !offering.is_reserved() {
            continue;
        }
        let field = format!("offerings[{i}].requirements");
        let Some(id_label) = id_label else {
            return Err(Problem::new(
                field,
                "has capacity type reserved, but the file has no reservationIDLabel; \
                 write {\"instanceTypes\": [...], \
                 \"reservationIDLabel\": \"example.com/reservation-id\"}",
            ));
        };
        if offering
            .requirements
            .get(id_label)
            .and_then(|requirement| requirement.single())
            .is_none()
        {
            return Err(Problem::new(
                field,
                format!(
                    "has capacity type reserved, but not one value of {id_label}; add it with In"
                ),
            ));
        }
    }
    Ok(())
}
