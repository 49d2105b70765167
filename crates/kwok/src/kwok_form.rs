//! The defaults that Karpenter's KWOK provider adds to a type.

use std::collections::BTreeMap;

use joiner_core::{
    instance_type::{InstanceType, Offering, Overhead},
    label,
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY, PODS, Resources},
};

use crate::{INSTANCE_CPU, INSTANCE_FAMILY, INSTANCE_MEMORY, INSTANCE_SIZE};

/// Pods a node takes when the type does not say: Kubernetes' own default.
const DEFAULT_PODS: i64 = 110;

/// A type in KWOK's form.
pub(crate) struct KwokType {
    pub(crate) name: String,
    pub(crate) architecture: String,
    pub(crate) operating_systems: Vec<String>,
    pub(crate) resources: Resources,
    /// All zones that an offering lists.
    pub(crate) zones: Vec<String>,
    /// All capacity types that an offering lists.
    pub(crate) capacity_types: Vec<String>,
    pub(crate) offerings: Vec<Offering>,
}

impl KwokType {
    /// The type with KWOK's labels, overhead and default number of pods.
    pub(crate) fn into_instance_type(self) -> InstanceType {
        let amount = |name: &str| {
            if self.resources.contains(name) {
                self.resources.get(name).to_string()
            } else {
                String::new()
            }
        };
        let cpu = amount(CPU);
        let mut requirements = Requirements::new();
        let mut require =
            |key, values: Vec<String>| requirements.add(key, Requirement::one_of(values));
        require(INSTANCE_SIZE, vec![size(&self.name).unwrap_or(&cpu).to_owned()]);
        require(INSTANCE_FAMILY, vec![family(&self.name).to_owned()]);
        require(INSTANCE_MEMORY, vec![amount(MEMORY)]);
        require(INSTANCE_CPU, vec![cpu]);
        require(label::INSTANCE_TYPE, vec![self.name.clone()]);
        require(label::ARCH, vec![self.architecture]);
        require(label::OS, self.operating_systems);
        require(label::ZONE, self.zones);
        require(label::CAPACITY_TYPE, self.capacity_types);

        let mut capacity = self.resources;
        if !capacity.contains(PODS) {
            capacity.set(PODS, Quantity::whole(DEFAULT_PODS));
        }
        InstanceType {
            name: self.name,
            requirements,
            capacity,
            overhead: Overhead {
                kube_reserved: Resources::from_iter([
                    (CPU, Quantity::milli(100)),
                    (MEMORY, Quantity::bytes(10 << 20)),
                ]),
                ..Overhead::default()
            },
            offerings: self.offerings,
            volume_limits: BTreeMap::new(),
            price_overlaid: false,
            capacity_overlaid: false,
        }
    }
}

/// The size in a name such as `m5.2xlarge`.
fn size(name: &str) -> Option<&str> {
    let (family, size) = name.split_once('.')?;
    let is_family =
        !family.is_empty() && family.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_size = matches!(size, "nano" | "micro" | "small" | "medium" | "large" | "metal")
        || size
            .strip_suffix("xlarge")
            .is_some_and(|factor| factor.chars().all(|c| c.is_ascii_digit()));
    (is_family && is_size).then_some(size)
}

/// The text before the first `.` or `-`, else the first character.
fn family(name: &str) -> &str {
    match name.split_once(['.', '-']) {
        Some((family, _)) => family,
        None => name.split_at(name.chars().next().map_or(0, char::len_utf8)).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_families_are_read_from_names() {
        let read = |name| (size(name).unwrap_or("-"), family(name));
        assert_eq!(read("m5.large"), ("large", "m5"));
        assert_eq!(read("m5.xlarge"), ("xlarge", "m5"));
        assert_eq!(read("m5.24xlarge"), ("24xlarge", "m5"));
        assert_eq!(read("m5d.metal"), ("metal", "m5d"));
        assert_eq!(read("m5.huge"), ("-", "m5"));
        assert_eq!(read("a.b.large"), ("-", "a"));
        assert_eq!(read("n1-standard-8"), ("-", "n1"));
        assert_eq!(read("Standard_D8s_v5"), ("-", "S"));
        assert_eq!(read("ähnlich"), ("-", "ä"));
        assert_eq!(read(""), ("-", ""));
    }
}
