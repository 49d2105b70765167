//! Instance types of clouds without a list of types, defined by CPUs and memory.

use joiner_core::{
    instance_type::{InstanceType, Offering, Overhead},
    label,
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY, PODS, Resources},
};

/// Pods that an instance takes: Kubernetes' own default.
const PODS_MAX: i64 = 110;

/// The size of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The value of the instance type label.
    pub name: String,
    /// CPUs.
    pub cpus: i64,
    /// Memory, in GiB.
    pub gib: i64,
}

/// The offering of a shape: zone, capacity type, price and availability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms<'t> {
    /// The value of the zone label.
    pub zone: &'t str,
    /// The value of the capacity type label.
    pub capacity_type: &'t str,
    /// Per hour.
    pub price: f64,
    /// Whether it is available now.
    pub available: bool,
}

impl Shape {
    /// The instance type of this shape: Linux on amd64, of which the kubelet keeps a tenth of a CPU.
    pub fn instance_type(&self, terms: &[Terms<'_>]) -> InstanceType {
        let mut requirements = Requirements::new();
        let mut require = |key: &str, values: Vec<&str>| {
            requirements.add(key, Requirement::one_of(values));
        };
        require(label::INSTANCE_TYPE, vec![&self.name]);
        require(label::ARCH, vec!["amd64"]);
        require(label::OS, vec!["linux"]);
        require(label::ZONE, terms.iter().map(|terms| terms.zone).collect());
        require(label::CAPACITY_TYPE, terms.iter().map(|terms| terms.capacity_type).collect());
        let capacity = [
            (CPU, Quantity::whole(self.cpus)),
            (MEMORY, Quantity::bytes(self.gib << 30)),
            (PODS, Quantity::whole(PODS_MAX)),
        ];
        InstanceType {
            name: self.name.clone(),
            requirements,
            capacity: Resources::from_iter(capacity),
            overhead: Overhead {
                kube_reserved: Resources::from_iter([(CPU, Quantity::milli(100))]),
                ..Overhead::default()
            },
            offerings: terms.iter().map(Terms::offering).collect(),
            ..InstanceType::default()
        }
    }
}

impl Terms<'_> {
    fn offering(&self) -> Offering {
        let mut requirements = Requirements::new();
        requirements.add(label::ZONE, Requirement::one_of([self.zone]));
        requirements.add(label::CAPACITY_TYPE, Requirement::one_of([self.capacity_type]));
        Offering {
            requirements,
            price: self.price,
            available: self.available,
            ..Offering::default()
        }
    }
}
