//! Sizes of instances, those of customized service offerings among them.

use crate::{
    CustomShape, NodeClass,
    client::objects::ServiceOffering,
    labels::{VALUE_MAX, cut},
};

/// MiB of a GiB.
const MIB_PER_GIB: i64 = 1024;
/// GiB for each CPU of the sizes that are made where the class names none.
const RATIOS: [i64; 3] = [2, 4, 8];
/// CPUs of the largest size that is made where the class names none. No host has more.
const CPUS_MAX: i64 = 1024;
/// What CloudStack refuses to go below: CPUs, and MiB.
const CPUS_MIN: i64 = 1;
const MEMORY_MIN_MIB: i64 = 32;

/// The size of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size {
    /// CPUs.
    pub cpus: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// MHz of each CPU, where it is known.
    pub mhz: Option<i64>,
    /// MHz that have to be asked for.
    pub asked_mhz: Option<i64>,
    /// Whether the size has to be asked for.
    pub is_custom: bool,
}

/// The sizes of a service offering, and what became of those that it cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    pub(crate) sizes: Vec<Size>,
    /// In a sentence each.
    pub(crate) left_out: Vec<String>,
}

impl Size {
    /// The name of its type, by the name of its service offering.
    pub(crate) fn name(&self, base: &str) -> String {
        if !self.is_custom {
            return base.to_owned();
        }
        let Self { cpus, memory_mib, .. } = self;
        let memory = if memory_mib % MIB_PER_GIB == 0 {
            format!("{}g", memory_mib / MIB_PER_GIB)
        } else {
            format!("{memory_mib}m")
        };
        let suffix = format!("-{cpus}c-{memory}");
        format!("{}{suffix}", cut(base, VALUE_MAX - suffix.len()))
    }
}

/// What a customized service offering allows.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    cpus: (i64, i64),
    memory_mib: (i64, i64),
    /// Whether it says all of it.
    is_whole: bool,
}

impl Bounds {
    fn of(offering: &ServiceOffering) -> Self {
        let number = |key: &str| offering.details.get(key)?.trim().parse::<i64>().ok();
        let (cpus_min, cpus_max) = (number("mincpunumber"), number("maxcpunumber"));
        let (memory_min, memory_max) = (number("minmemory"), number("maxmemory"));
        Self {
            cpus: (cpus_min.unwrap_or(CPUS_MIN).max(CPUS_MIN), cpus_max.unwrap_or(i64::MAX)),
            memory_mib: (
                memory_min.unwrap_or(MEMORY_MIN_MIB).max(MEMORY_MIN_MIB),
                memory_max.unwrap_or(i64::MAX),
            ),
            is_whole: [cpus_min, cpus_max, memory_min, memory_max].iter().all(Option::is_some),
        }
    }

    fn take(&self, cpus: i64, memory_mib: i64) -> bool {
        (self.cpus.0..=self.cpus.1).contains(&cpus)
            && (self.memory_mib.0..=self.memory_mib.1).contains(&memory_mib)
    }
}

/// The sizes of a service offering, or why it has none.
pub(crate) fn sizes(offering: &ServiceOffering, class: &NodeClass) -> Result<Sizes, String> {
    if !offering.is_customized {
        return match (offering.cpus, offering.memory_mib) {
            (Some(cpus), Some(memory_mib)) if cpus > 0 && memory_mib > 0 => {
                let size = Size { cpus, memory_mib, mhz: offering.cpu_mhz, ..Size::default() };
                Ok(Sizes { sizes: vec![size], left_out: Vec::new() })
            }
            _ => Err("does not say its CPUs and memory; it is left out".to_owned()),
        };
    }
    let bounds = Bounds::of(offering);
    let shapes = class.spec.custom_offering_shapes.as_deref().unwrap_or_default();
    if !shapes.is_empty() {
        return Ok(of_class(offering, bounds, shapes));
    }
    if !bounds.is_whole {
        return Err(
            "is customized and says no bounds, so its sizes are not known; it is left out: \
                    list sizes in spec.customOfferingShapes"
                .to_owned(),
        );
    }
    let mut made = Sizes::default();
    let Some(mhz) = offering.cpu_mhz.filter(|mhz| *mhz > 0) else {
        return Err("does not say the speed of its CPUs; it is left out: list sizes with \
                    cpuSpeedMHz in spec.customOfferingShapes"
            .to_owned());
    };
    let mut cpus = 1;
    while cpus <= bounds.cpus.1.min(CPUS_MAX) {
        for ratio in RATIOS {
            let memory_mib = cpus * ratio * MIB_PER_GIB;
            if bounds.take(cpus, memory_mib) {
                let mhz = Some(mhz);
                made.sizes.push(Size { cpus, memory_mib, mhz, asked_mhz: None, is_custom: true });
            }
        }
        cpus *= 2;
    }
    if made.sizes.is_empty() {
        return Err(
            "allows no size of 1, 2, 4, … CPUs with 2, 4 or 8 GiB for each; it is left out: \
                    list sizes in spec.customOfferingShapes"
                .to_owned(),
        );
    }
    Ok(made)
}

/// The sizes that a class lists, as far as the service offering allows them.
fn of_class(offering: &ServiceOffering, bounds: Bounds, shapes: &[CustomShape]) -> Sizes {
    let mut made = Sizes::default();
    for CustomShape { cpu, memory_mib, cpu_mhz } in shapes {
        let shape = format!("{cpu} CPUs with {memory_mib} MiB");
        let fixed_mhz = offering.cpu_mhz.filter(|mhz| *mhz > 0);
        if !bounds.take(*cpu, *memory_mib) {
            made.left_out.push(format!("does not allow {shape}"));
            continue;
        }
        let (mhz, asked_mhz) = match (fixed_mhz, cpu_mhz) {
            (Some(fixed), _) => (Some(fixed), None),
            (None, Some(asked)) => (Some(*asked), Some(*asked)),
            (None, None) => {
                made.left_out.push(format!(
                    "does not say the speed of its CPUs, so {shape} are left out: write their \
                     cpuSpeedMHz"
                ));
                continue;
            }
        };
        let size = Size { cpus: *cpu, memory_mib: *memory_mib, mhz, asked_mhz, is_custom: true };
        if !made.sizes.contains(&size) {
            made.sizes.push(size);
        }
    }
    made
}
