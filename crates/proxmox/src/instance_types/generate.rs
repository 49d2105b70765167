//! Lists of types by CPUs and memory for each CPU.

use joiner_core::{
    instance_type::Overhead,
    label,
    quantity::Quantity,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};
use serde::Serialize;

use super::Type;
use crate::{GIB, MIB};

/// CPUs, and GiB for each of them, that a type has at most: more than any host.
const NUMBER_MAX: u32 = 8192;

/// What a list is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// Numbers of virtual CPUs.
    pub cpus: Vec<u32>,
    /// GiB of memory for each of them.
    pub memory_factors: Vec<u32>,
    /// GiB of the disk; 0 leaves it out.
    pub storage_gib: u32,
    /// Whether something is kept for the kubelet.
    pub keeps_kubelet: bool,
    /// Whether something is kept for the system.
    pub keeps_system: bool,
    /// Whether something is kept for evictions.
    pub keeps_eviction: bool,
}

impl Default for Generator {
    /// The built-in list, which is the predecessor's.
    fn default() -> Self {
        Self {
            cpus: vec![1, 2, 4, 8, 16],
            memory_factors: vec![2, 3, 4, 8],
            storage_gib: 30,
            keeps_kubelet: true,
            keeps_system: true,
            keeps_eviction: true,
        }
    }
}

impl Generator {
    /// The list, by CPUs and then by memory.
    pub fn types(&self) -> Vec<Type> {
        let sizes = self
            .cpus
            .iter()
            .flat_map(|cpus| self.memory_factors.iter().map(move |factor| (*cpus, *factor)));
        sizes.map(|(cpus, factor)| self.type_of(cpus, factor)).collect()
    }

    fn type_of(&self, cpus: u32, factor: u32) -> Type {
        let gib = u64::from(cpus) * u64::from(factor);
        let mut capacity = Resources::from_iter([
            (CPU, Quantity::whole(i64::from(cpus))),
            (MEMORY, bytes(gib * GIB)),
            (PODS, Quantity::whole(pods(gib))),
        ]);
        if self.storage_gib > 0 {
            capacity.set(EPHEMERAL_STORAGE, bytes(u64::from(self.storage_gib) * GIB));
        }
        let kept = |is_kept: bool, cpu: Option<i64>, mib: u64| {
            let cpu = cpu.map(|milli| (CPU, Quantity::milli(milli)));
            let all = cpu.into_iter().chain([(MEMORY, bytes(mib * MIB))]);
            if is_kept { all.collect() } else { Resources::new() }
        };
        Type {
            name: format!("{}1.{cpus}VCPU-{gib}GB", family(factor)),
            capacity,
            capacity_type: label::CAPACITY_TYPE_ON_DEMAND.to_owned(),
            reservation: None,
            overhead: Overhead {
                kube_reserved: kept(self.keeps_kubelet, Some(kubelet_cpu(cpus)), 384),
                system_reserved: kept(self.keeps_system, Some(10), 64),
                eviction_threshold: kept(self.keeps_eviction, None, 100),
            },
        }
    }
}

/// Numbers that are typed with commas between them. COMPAT: upstream passes over what is none.
pub fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let mut numbers = Vec::new();
    for word in text.split(',').map(str::trim) {
        let number = word.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number));
        let number = number.ok_or_else(|| {
            format!("{word:?} is no number from 1 to {NUMBER_MAX}; write numbers such as 1,2,4")
        })?;
        if numbers.contains(&number) {
            return Err(format!("{number} is there twice; write it once"));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// The letter of a family, by GiB of memory for each CPU.
fn family(factor: u32) -> char {
    match factor {
        2 => 'c',
        3 => 't',
        4 => 's',
        8 => 'm',
        16 => 'x',
        _ => 'e',
    }
}

/// Pods that an instance takes, by GiB of its memory.
fn pods(gib: u64) -> i64 {
    match gib {
        0 | 1 => 32,
        2 => 64,
        _ => 110,
    }
}

/// Thousandths of a CPU that the kubelet keeps.
fn kubelet_cpu(cpus: u32) -> i64 {
    match cpus {
        0 => 10,
        1 => 20,
        2 | 3 => 50,
        _ => 100,
    }
}

fn bytes(bytes: u64) -> Quantity {
    Quantity::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// An entry of the file.
#[derive(Serialize)]
struct Entry<'t> {
    name: &'t str,
    capacity: &'t Resources,
    capacitytype: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation: Option<&'t super::Reservation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead: Option<Overheads<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Overheads<'t> {
    kube_reserved: Option<&'t Resources>,
    system_reserved: Option<&'t Resources>,
    eviction_threshold: Option<&'t Resources>,
}

/// The text of a file with these types.
pub fn to_json(types: &[Type]) -> String {
    let entries: Vec<Entry<'_>> = types
        .iter()
        .map(|own| {
            let written = |resources: &'_ Resources| !resources.is_empty();
            let Overhead { kube_reserved, system_reserved, eviction_threshold } = &own.overhead;
            let overhead = Overheads {
                kube_reserved: Some(kube_reserved).filter(|own| written(own)),
                system_reserved: Some(system_reserved).filter(|own| written(own)),
                eviction_threshold: Some(eviction_threshold).filter(|own| written(own)),
            };
            Entry {
                name: &own.name,
                capacity: &own.capacity,
                capacitytype: &own.capacity_type,
                reservation: own.reservation.as_ref(),
                overhead: (!own.overhead.total().is_empty()).then_some(overhead),
            }
        })
        .collect();
    serde_json::to_string_pretty(&entries).expect("types are made of texts")
}
