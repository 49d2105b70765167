//! Instance type files with entries in KWOK's own form, besides those of
//! [`joiner_cloud::catalog_file`].

use joiner_cloud::catalog_file::{
    self, Form, Problem, check_amounts, check_price, deserialize, requirements,
};
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
    requirement::RequirementSpec,
    resources::Resources,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{NODE_CLASS_GROUP, kwok_form::KwokType};

pub use joiner_cloud::catalog_file::{CatalogFile, CatalogFileError};

/// Reads an instance type file, which may have entries in KWOK's form. `file_name` is what errors
/// call it.
pub fn parse(text: &str, file_name: &str) -> Result<CatalogFile, CatalogFileError> {
    catalog_file::parse(text, file_name, &[&KwokForm])
}

/// KWOK's form, to which KWOK's labels and overhead are added.
struct KwokForm;

impl Form for KwokForm {
    fn is_of(&self, fields: &Map<String, Value>) -> bool {
        let keys = ["architecture", "Architecture", "resources", "Resources"];
        keys.iter().any(|key| fields.contains_key(*key))
    }

    fn marks(&self) -> &'static str {
        "KWOK's architecture or resources"
    }

    fn read(&self, entry: Value) -> Result<InstanceType, Problem> {
        read(deserialize(entry)?)
    }

    fn group(&self) -> &'static str {
        NODE_CLASS_GROUP
    }
}

/// KWOK's form. Go reads keys in any case, so files have both. Unknown keys are ignored, as in Go.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KwokEntry {
    #[serde(alias = "Name")]
    name: String,
    #[serde(default, alias = "Architecture")]
    architecture: String,
    #[serde(default, alias = "OperatingSystems")]
    operating_systems: Vec<String>,
    #[serde(default, alias = "Resources")]
    resources: Resources,
    #[serde(default, alias = "Offerings")]
    offerings: Vec<KwokOffering>,
}

/// An offering in KWOK's form. All offerings are available; the field for it is ignored.
#[derive(Deserialize)]
struct KwokOffering {
    #[serde(default, rename = "Price", alias = "price")]
    price: f64,
    #[serde(default, rename = "ReservationCapacity", alias = "reservationCapacity")]
    reservation_capacity: u32,
    #[serde(default, rename = "Requirements", alias = "requirements")]
    requirements: Vec<RequirementSpec>,
}

fn read(entry: KwokEntry) -> Result<InstanceType, Problem> {
    check_amounts("resources", &entry.resources)?;
    // As in Karpenter's provider: the values of the first requirement on the key, with any operator.
    let listed = |key: &str| {
        let mut all: Vec<String> = Vec::new();
        for offering in &entry.offerings {
            let values =
                offering.requirements.iter().find(|spec| spec.key == key).map(|spec| &spec.values);
            for value in values.into_iter().flatten() {
                if !all.contains(value) {
                    all.push(value.clone());
                }
            }
        }
        all
    };
    let (zones, capacity_types) = (listed(label::ZONE), listed(label::CAPACITY_TYPE));
    let mut offerings = Vec::with_capacity(entry.offerings.len());
    for (i, offering) in entry.offerings.into_iter().enumerate() {
        check_price(&format!("offerings[{i}].Price"), offering.price)?;
        offerings.push(Offering {
            requirements: requirements(
                &format!("offerings[{i}].Requirements"),
                &offering.requirements,
            )?,
            price: offering.price,
            reservation_capacity: offering.reservation_capacity,
            ..Offering::default()
        });
    }
    let kwok = KwokType {
        name: entry.name,
        architecture: entry.architecture,
        operating_systems: entry.operating_systems,
        resources: entry.resources,
        zones,
        capacity_types,
        offerings,
    };
    Ok(kwok.into_instance_type())
}

#[cfg(test)]
mod tests;
