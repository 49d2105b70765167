//! Instance types for tests.

use super::{RESERVATION_ID, labels, quantity, requirement, resources};
use crate::{
    instance_type::{InstanceType, Offering, Overhead},
    label,
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
    resources::{CPU, MEMORY, PODS, Resources},
};

/// A type with 4 CPUs, 4Gi and room for 110 pods, without overhead. It is offered on demand at a price of 1 in zones
/// `a`, `b` and `c`.
pub fn instance_type(name: &str) -> TypeBuilder {
    TypeBuilder {
        name: name.to_owned(),
        capacity: resources([(CPU, "4"), (MEMORY, "4Gi"), (PODS, "110")]),
        overhead: Resources::new(),
        zones: ["a", "b", "c"].map(str::to_owned).to_vec(),
        capacity_types: vec![label::CAPACITY_TYPE_ON_DEMAND.to_owned()],
        price: 1.0,
        arch: "amd64".to_owned(),
        extra: Vec::new(),
        requirements: Vec::new(),
        volume_limits: Vec::new(),
    }
}

/// Builds an [`InstanceType`].
#[derive(Debug, Clone)]
pub struct TypeBuilder {
    name: String,
    capacity: Resources,
    overhead: Resources,
    zones: Vec<String>,
    capacity_types: Vec<String>,
    price: f64,
    arch: String,
    extra: Vec<Offering>,
    requirements: Vec<RequirementSpec>,
    volume_limits: Vec<(String, u32)>,
}

impl TypeBuilder {
    /// CPUs it has.
    pub fn cpu(self, amount: &str) -> Self {
        self.has(CPU, amount)
    }

    /// Memory it has.
    pub fn mem(self, amount: &str) -> Self {
        self.has(MEMORY, amount)
    }

    /// Pods it takes.
    pub fn pods(self, count: u32) -> Self {
        self.has(PODS, &count.to_string())
    }

    /// Any resource it has.
    pub fn has(mut self, resource: &str, amount: &str) -> Self {
        self.capacity.set(resource, quantity(amount));
        self
    }

    /// Reserves some of a resource for the system.
    pub fn keeps(mut self, resource: &str, amount: &str) -> Self {
        self.overhead.set(resource, quantity(amount));
        self
    }

    /// Zones it is offered in.
    pub fn zones<const N: usize>(mut self, zones: [&str; N]) -> Self {
        self.zones = zones.map(str::to_owned).to_vec();
        self
    }

    /// Capacity types it is offered as, in each of its zones.
    pub fn capacity_types<const N: usize>(mut self, capacity_types: [&str; N]) -> Self {
        self.capacity_types = capacity_types.map(str::to_owned).to_vec();
        self
    }

    /// Price of every offering.
    pub fn price(mut self, price: f64) -> Self {
        self.price = price;
        self
    }

    /// CPU architecture.
    pub fn arch(mut self, arch: &str) -> Self {
        arch.clone_into(&mut self.arch);
        self
    }

    /// Adds a label or another requirement.
    pub fn require<const N: usize>(
        mut self,
        key: &str,
        operator: Operator,
        values: [&str; N],
    ) -> Self {
        self.requirements.push(requirement(key, operator, values));
        self
    }

    /// Adds one more offering.
    pub fn offering(mut self, offering: Offering) -> Self {
        self.extra.push(offering);
        self
    }

    /// Adds reserved capacity in a zone.
    pub fn reserved(self, zone: &str, id: &str, capacity: u32, price: f64) -> Self {
        let mut offering = offering(zone, label::CAPACITY_TYPE_RESERVED, price);
        offering.requirements.add(RESERVATION_ID, Requirement::one_of([id]));
        self.offering(Offering { reservation_capacity: capacity, ..offering })
    }

    /// How many volumes of a driver it can attach.
    pub fn volume_limit(mut self, driver: &str, count: u32) -> Self {
        self.volume_limits.push((driver.to_owned(), count));
        self
    }

    /// The type.
    pub fn build(self) -> InstanceType {
        let mut offerings: Vec<Offering> = self
            .capacity_types
            .iter()
            .flat_map(|capacity_type| {
                self.zones.iter().map(|zone| offering(zone, capacity_type, self.price))
            })
            .collect();
        offerings.extend(self.extra);
        let mut requirements = type_requirements(&self.name, &self.arch, &["linux"], &offerings);
        requirements.add_all(&Requirements::from_specs(&self.requirements));
        InstanceType {
            name: self.name,
            requirements,
            capacity: self.capacity,
            overhead: Overhead { kube_reserved: self.overhead, ..Default::default() },
            offerings,
            volume_limits: self.volume_limits.into_iter().collect(),
            ..InstanceType::default()
        }
    }
}

impl From<TypeBuilder> for InstanceType {
    fn from(builder: TypeBuilder) -> Self {
        builder.build()
    }
}

/// An available offering.
pub fn offering(zone: &str, capacity_type: &str, price: f64) -> Offering {
    Offering {
        requirements: Requirements::from_labels(&labels([
            (label::ZONE, zone),
            (label::CAPACITY_TYPE, capacity_type),
        ])),
        price,
        ..Offering::default()
    }
}

/// The labels of every type: its name, architecture, operating systems, zones and capacity types.
pub(super) fn type_requirements(
    name: &str,
    arch: &str,
    systems: &[&str],
    offerings: &[Offering],
) -> Requirements {
    let offered = |key: &str| {
        let available = offerings.iter().filter(|offering| offering.available);
        Requirement::one_of(
            available
                .filter_map(|offering| offering.requirements.get(key)?.any())
                .collect::<Vec<_>>(),
        )
    };
    let mut requirements = Requirements::new();
    requirements.add(label::INSTANCE_TYPE, Requirement::one_of([name]));
    requirements.add(label::ARCH, Requirement::one_of([arch]));
    requirements.add(label::OS, Requirement::one_of(systems.iter().copied()));
    requirements.add(label::ZONE, offered(label::ZONE));
    requirements.add(label::CAPACITY_TYPE, offered(label::CAPACITY_TYPE));
    requirements
}
