//! What is on offer.

use serde_json::{Value, json};

use super::world::{ARCH, CAPACITY_TYPE, CPUS, FAMILY, INSTANCE_TYPE, OS, World, ZONE};
use crate::rng::Rng;

const RESERVATION: &str = "example.com/reservation";
/// A device that the catalogue may offer.
pub(super) const GPU: &str = "example.com/gpu";

/// A device that only some offerings of a type have.
const FPGA: &str = "example.com/fpga";

/// An instance type.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) family: &'static str,
    pub(super) arch: &'static str,
    pub(super) cpus: usize,
    pub(super) memory_gib: usize,
    pub(super) pods: usize,
    pub(super) gpus: usize,
    /// Millicores and mebibytes that the instance keeps for itself.
    reserved: (usize, usize),
    overhead: Value,
    offerings: Vec<Offering>,
}

#[derive(Clone)]
struct Offering {
    zone: String,
    capacity_type: &'static str,
    price: f64,
    available: bool,
    reservation: Option<(String, usize)>,
    capacity: Value,
    overhead: Value,
}

/// Between three and twelve types over all zones.
pub(super) fn shapes(zones: &[String], rng: &mut Rng) -> Vec<Shape> {
    let mut all = Vec::new();
    for cpus in [1, 2, 4, 8, 16] {
        for (family, ratio) in [("c", 2), ("s", 4), ("m", 8)] {
            for arch in ["amd64", "arm64"] {
                all.push((cpus, family, ratio, arch));
            }
        }
    }
    // With small instances a plan has many of them. One of the largest is always there, or most pods
    // would not fit.
    let largest = *rng.pick(&[4, 8, 16]);
    let always = (largest, "s", 4, "amd64");
    all.retain(|shape| shape.0 <= largest && *shape != always);
    let count = rng.between(2, 11);
    let mut chosen = rng.pick_some(&all, count);
    chosen.push(always);
    chosen
        .into_iter()
        .map(|(cpus, family, ratio, arch)| {
            let price = 0.025 * cpus as f64 + 0.0035 * (cpus * ratio) as f64;
            let price = if arch == "arm64" { price * 0.8 } else { price };
            Shape {
                name: format!("{family}{cpus}-{arch}"),
                family,
                arch,
                cpus,
                memory_gib: cpus * ratio,
                pods: (cpus * 16).min(110),
                gpus: 0,
                reserved: (0, 0),
                overhead: Value::Null,
                offerings: zones
                    .iter()
                    .flat_map(|zone| {
                        [("on-demand", 1.0), ("spot", 0.6)]
                            .map(|(kind, factor)| (zone, kind, factor))
                    })
                    .map(|(zone, capacity_type, factor)| Offering {
                        zone: zone.clone(),
                        capacity_type,
                        price: price * factor,
                        available: true,
                        reservation: None,
                        capacity: Value::Null,
                        overhead: Value::Null,
                    })
                    .collect(),
            }
        })
        .collect()
}

impl Shape {
    /// What an instance of this type has.
    pub(super) fn capacity(&self) -> Value {
        let mut capacity = json!({
            "cpu": self.cpus.to_string(), "memory": format!("{}Gi", self.memory_gib),
            "pods": self.pods.to_string(),
        });
        if self.gpus > 0 {
            capacity[GPU] = json!(self.gpus.to_string());
        }
        capacity
    }

    /// What pods can use of it, besides what it does not keep for itself.
    pub(super) fn allocatable(&self) -> Value {
        let mut allocatable = self.capacity();
        allocatable["cpu"] = json!(format!("{}m", self.millicores()));
        allocatable["memory"] = json!(format!("{}Mi", self.memory_gib * 1024 - self.reserved.1));
        allocatable
    }

    /// How many millicores pods can use.
    pub(super) fn millicores(&self) -> usize {
        self.cpus * 1000 - self.reserved.0
    }

    /// The labels of an instance of this type in `zone`.
    pub(super) fn labels(&self, zone: &str, capacity_type: &str) -> Value {
        json!({
            INSTANCE_TYPE: self.name, ARCH: self.arch, OS: "linux", FAMILY: self.family,
            CPUS: self.cpus.to_string(), ZONE: zone, CAPACITY_TYPE: capacity_type,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut zones: Vec<&str> =
            self.offerings.iter().map(|offering| offering.zone.as_str()).collect();
        zones.sort_unstable();
        zones.dedup();
        let mut capacity_types: Vec<&str> =
            self.offerings.iter().map(|offering| offering.capacity_type).collect();
        capacity_types.sort_unstable();
        capacity_types.dedup();
        let mut requirements = vec![
            one_of(INSTANCE_TYPE, &[&self.name]),
            one_of(ARCH, &[self.arch]),
            one_of(OS, &["linux"]),
            one_of(FAMILY, &[self.family]),
            one_of(CPUS, &[&self.cpus.to_string()]),
            one_of(ZONE, &zones),
            one_of(CAPACITY_TYPE, &capacity_types),
        ];
        let reservations: Vec<&str> = self
            .offerings
            .iter()
            .filter_map(|offering| offering.reservation.as_ref())
            .map(|(id, _)| id.as_str())
            .collect();
        if !reservations.is_empty() {
            requirements.push(one_of(RESERVATION, &reservations));
        }
        let has_reservations = !reservations.is_empty();
        let offerings: Vec<Value> =
            self.offerings.iter().map(|offering| offering.to_json(has_reservations)).collect();
        let mut entry = json!({
            "name": self.name,
            "requirements": requirements,
            "capacity": self.capacity(),
            "offerings": offerings,
        });
        if !self.overhead.is_null() {
            entry["overhead"] = self.overhead.clone();
        }
        entry
    }
}

impl Offering {
    fn to_json(&self, type_has_reservations: bool) -> Value {
        let mut requirements =
            vec![one_of(ZONE, &[&self.zone]), one_of(CAPACITY_TYPE, &[self.capacity_type])];
        if let Some((id, _)) = &self.reservation {
            requirements.push(one_of(RESERVATION, &[id]));
        } else if type_has_reservations {
            requirements.push(json!({"key": RESERVATION, "operator": "DoesNotExist"}));
        }
        let mut entry =
            json!({"price": self.price, "available": self.available, "requirements": requirements});
        if let Some((_, instances)) = &self.reservation {
            entry["reservationCapacity"] = json!(instances);
        }
        if !self.capacity.is_null() {
            entry["capacity"] = self.capacity.clone();
        }
        if !self.overhead.is_null() {
            entry["overhead"] = self.overhead.clone();
        }
        entry
    }
}

fn one_of(key: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": "In", "values": values})
}

pub(super) fn overhead(world: &mut World, rng: &mut Rng) {
    for shape in &mut world.shapes {
        let (kube, system, evict) = (rng.between(1, 3) * 40, rng.below(3) * 50, rng.below(3) * 64);
        shape.overhead = json!({
            "kubeReserved": {"cpu": format!("{kube}m"), "memory": format!("{}Mi", 2 * kube)},
            "systemReserved": {"cpu": format!("{system}m")},
            "evictionThreshold": {"memory": format!("{evict}Mi")},
        });
        shape.reserved = (kube + system, 2 * kube + evict);
    }
}

pub(super) fn spot_prices(world: &mut World, rng: &mut Rng) {
    for offering in world.shapes.iter_mut().flat_map(|shape| &mut shape.offerings) {
        let percent = if offering.capacity_type == "spot" {
            rng.between(30, 130)
        } else {
            rng.between(95, 105)
        };
        offering.price *= percent as f64 / 100.0;
    }
}

pub(super) fn unavailable_offerings(world: &mut World, rng: &mut Rng) {
    let share = rng.between(10, 70);
    for offering in world.shapes.iter_mut().flat_map(|shape| &mut shape.offerings) {
        offering.available = !rng.chance(share);
    }
}

/// Offerings that add a device or some overhead, and in some scenarios replace what the type has.
pub(super) fn offering_overrides(world: &mut World, rng: &mut Rng) {
    let replace = rng.chance(25);
    for shape in &mut world.shapes {
        let (cpus, memory, bare) = (shape.cpus, shape.memory_gib, shape.overhead.is_null());
        for offering in &mut shape.offerings {
            match rng.below(5) {
                0 if replace => {
                    offering.capacity = json!({"cpu": (cpus + cpus.div_ceil(2)).to_string()});
                }
                1 if replace => {
                    offering.capacity = json!({"memory": format!("{}Mi", memory * 768)});
                }
                0 | 1 => offering.capacity = json!({FPGA: rng.between(1, 3).to_string()}),
                2 if replace || bare => {
                    offering.overhead = json!({"kubeReserved": {"cpu": "200m", "memory": "300Mi"}});
                }
                _ => {}
            }
        }
    }
    if !replace {
        let chosen = rng.below(world.workloads.len());
        let resources = &mut world.workloads[chosen].pod["spec"]["containers"][0]["resources"];
        resources["requests"][FPGA] = json!("1");
        resources["limits"][FPGA] = json!("1");
    }
}

pub(super) fn extended_resources(world: &mut World, rng: &mut Rng) {
    for shape in &mut world.shapes {
        if rng.chance(50) {
            shape.gpus = rng.between(1, 4);
        }
    }
    for workload in world.some_workloads(rng) {
        let count = json!(rng.between(1, 2).to_string());
        let resources = &mut workload.pod["spec"]["containers"][0]["resources"];
        resources["requests"][GPU] = count.clone();
        resources["limits"][GPU] = count;
        workload.replicas = workload.replicas.min(8);
    }
}

pub(super) fn reserved(world: &mut World, rng: &mut Rng) {
    world.reservation_label = Some(RESERVATION);
    let zones = world.zones.clone();
    for index in 0..rng.between(1, 3) {
        let instances = rng.between(1, 3);
        let zone = rng.pick(&zones).clone();
        // One reservation may be good for several types.
        for _ in 0..rng.between(1, 2) {
            let chosen = rng.below(world.shapes.len());
            let shape = &mut world.shapes[chosen];
            let id = format!("r-{index}");
            if shape.offerings.iter().any(|offering| {
                offering.reservation.as_ref().is_some_and(|(known, _)| *known == id)
            }) {
                continue;
            }
            shape.offerings.push(Offering {
                zone: zone.clone(),
                capacity_type: "reserved",
                price: 0.0001 * shape.cpus as f64,
                available: true,
                reservation: Some((id, instances)),
                capacity: Value::Null,
                overhead: Value::Null,
            });
        }
    }
}
