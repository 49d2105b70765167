//! What a `VsphereNodeClass` says, and which instances follow from it.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")]
#![expect(clippy::needless_pass_by_value, reason = "values of tests are made for one call")]

mod adapters;
mod apart;
mod bad_input;
mod bars;
mod bench;
mod class;
mod conformance;
mod copies;
mod crashes;
mod damaged;
mod doctor;
mod faults;
mod groups;
mod hardware;
mod instances;
mod join_data;
mod namesakes;
mod operation;
mod policies;
mod real;
mod real_fields;
mod refused;
mod role;
mod seeds;
mod trouble;
mod zones;

use joiner_core::{instance_type::InstanceType, label};
use joiner_vsphere::{Instances, NodeClass, NotReady, Settings};

/// Reads the spec of a class named `general`, in YAML.
fn read(spec: &str) -> Result<NodeClass, String> {
    let object = format!(
        "apiVersion: karpenter.vsphere.com/v1alpha1\nkind: VsphereNodeClass\n\
         metadata: {{name: general}}\n{spec}"
    );
    let object: serde_json::Value = serde_saphyr::from_str(&object).expect("the test is YAML");
    NodeClass::read(&object).map_err(|error| error.to_string())
}

/// The instances of a class, with the settings that nobody has changed.
fn instances(spec: &str) -> Result<Instances, NotReady> {
    read(spec).expect("the schema accepts it").instances(&Settings::default())
}

/// Everything about instances that a plan depends on.
fn describe(instances: &Instances) -> String {
    let mut lines = Vec::new();
    for made in &instances.types {
        lines.push(made.name.clone());
        for (key, requirement) in made.requirements.iter() {
            let values: Vec<&str> = requirement.values().iter().map(String::as_str).collect();
            let values = if values.is_empty() { "none".to_owned() } else { values.join(" ") };
            lines.push(format!("  {key}: {values}"));
        }
        lines.push(format!("  capacity: {}", made.capacity));
        for offering in &made.offerings {
            lines.push(format!("  offering: {} at {}", offering.price, offering.requirements));
        }
        let free = made.offerings.first().map(|offering| made.allocatable(offering));
        lines.push(format!("  for pods: {}", free.unwrap_or_default()));
    }
    lines.extend(instances.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n") + "\n"
}

/// One line for each type: name, where it can be had and for how much, and one of its resources.
fn summary(instances: &Instances, resource: &str) -> String {
    let line = |made: &InstanceType| {
        let places: Vec<String> = made
            .offerings
            .iter()
            .map(|offering| {
                let zone = offering.requirements.get(label::ZONE);
                let zone = zone.and_then(|zone| zone.single()).unwrap_or("nowhere");
                format!("{zone} {:.4}", offering.price)
            })
            .collect();
        format!("{}: {resource} {}, {}", made.name, made.capacity.get(resource), places.join(", "))
    };
    instances.types.iter().map(line).collect::<Vec<_>>().join("\n")
}
