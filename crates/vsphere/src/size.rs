//! Sizes as written, checked and made comparable.

use joiner_cloud::{
    kubelet::pods,
    spec::{
        Problem,
        entry::{DEFAULT_ARCH, Reader},
    },
};
use joiner_core::{
    label::{self, Labels},
    quantity::Quantity,
    resources::Resources,
};

use crate::{
    GIB, MIB, NODE_CLASS_GROUP,
    node_class::{Entry, NodeClass},
    passthrough::{self, HostDevice},
};

/// How many CPUs an instance may have.
const MAX_CPUS: i64 = 9999;
/// How many pods a size may ask for.
const MAX_PODS: i64 = 512;
/// vSphere gives memory in steps of this many MiB.
const MEMORY_STEP_MIB: i64 = 4;

/// The shape of an instance. Two sizes of equal shape are one type in two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) cpus: i64,
    pub(crate) memory_mib: i64,
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
    pub(crate) pods: i64,
    /// 0 if it is not set.
    pub(crate) disk_gib: i64,
    pub(crate) extended: Resources,
    /// Devices of a host.
    pub(crate) devices: Vec<HostDevice>,
    pub(crate) labels: Labels,
    /// None leaves it to the class.
    pub(crate) cores_per_socket: Option<u32>,
    /// The name that the size gives itself.
    own_name: Option<String>,
}

/// Where a size can be had, and for how much if it says so.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) zone: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) price: Option<f64>,
}

impl Place {
    /// Whether both are the same place, ignoring prices.
    pub(crate) fn is_where(&self, other: &Self) -> bool {
        self.zone == other.zone && self.region == other.region
    }
}

/// A checked entry of `spec.instanceTypes`.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    pub(crate) shape: Shape,
    /// The value of the instance type label.
    pub(crate) name: String,
    pub(crate) place: Place,
}

impl Size {
    /// Checks entry `i`; all that is wrong with it is added to `problems`.
    pub(crate) fn read(
        class: &NodeClass,
        i: usize,
        entry: &Entry,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let mut reader = Reader::new(i, problems);
        let cpus = reader.cpus(entry.cpu.as_ref(), MAX_CPUS);
        let (memory_mib, memory) = read_memory(&mut reader, entry);
        let os = reader.os(entry.os.as_ref());
        let arch = reader.arch(entry.arch.as_ref());
        let place = Place {
            zone: reader.label_value("zone", entry.zone.as_ref()),
            region: reader.label_value("region", entry.region.as_ref()),
            price: reader.price(entry.price.as_ref()),
        };
        let own_name = reader.label_value("name", entry.name.as_ref());
        let name = own_name.clone().unwrap_or_else(|| type_name(cpus, &memory, os, arch));
        let disk_gib = reader.disk(entry.disk_size).or(class.spec.disk_size).unwrap_or_default();
        check_sockets(&mut reader, class, entry, cpus);
        let devices = HostDevice::read(entry, |field, text| reader.refuse(field, text));
        let mut extended = reader.extended(entry.extended_resources.as_ref());
        passthrough::add_resources(&devices, &mut extended);
        let max_pods = reader.max_pods(entry.max_pods.as_ref(), MAX_PODS);
        let shape = Shape {
            pods: pods(max_pods, cpus, class.spec.kubelet.as_ref()),
            disk_gib: disk_gib.max(class.template_disk_gib.unwrap_or_default()),
            extended,
            devices,
            labels: reader.labels(entry.labels.as_ref(), NODE_CLASS_GROUP),
            cores_per_socket: entry.cores_per_socket.filter(|cores| *cores > 0),
            own_name,
            cpus,
            memory_mib,
            os,
            arch,
        };
        // Each part of a made-up name may be fit for a label and the whole not.
        if reader.is_sound() && !label::is_valid_value(&name) {
            let remedy = "write memory such as 16Gi, or give the entry a name";
            reader.refuse(
                "memory",
                format!("makes the name {name:?}, which no label can have; {remedy}"),
            );
        }
        reader.is_sound().then_some(Self { shape, name, place })
    }
}

/// The name that the cloud controller manager gives to instances of this size. So both write the same
/// node label.
fn type_name(cpus: i64, memory: &str, os: &str, arch: &str) -> String {
    let memory = memory.strip_suffix("Gi").unwrap_or(memory);
    let suffix = if arch == DEFAULT_ARCH { String::new() } else { format!(".arch-{arch}") };
    format!("vsphere-vm.cpu-{cpus}.mem-{memory}gb.os-{os}{suffix}")
}

/// Memory of the instance in MiB, and as it is written.
///
/// COMPAT: upstream reads a bare number as bytes, while its README speaks of gigabytes.
fn read_memory(reader: &mut Reader<'_>, entry: &Entry) -> (i64, String) {
    const REMEDY: &str = "write GiB as a whole number such as 16, or an amount such as 16Gi";
    let text = reader.required("memory", entry.memory.as_ref(), REMEDY);
    let Some(text) = text else { return Default::default() };
    let bytes = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse::<i64>().ok().and_then(|gib| gib.checked_mul(GIB))
    } else {
        text.parse().ok().map(Quantity::floor)
    };
    let steps = bytes.map_or(0, |bytes| bytes / (MEMORY_STEP_MIB * MIB));
    if steps < 1 {
        reader.refuse("memory", format!("{text:?} is no instance's memory; {REMEDY}"));
    }
    (steps * MEMORY_STEP_MIB, text)
}

/// vSphere makes no instance whose last socket is not full.
fn check_sockets(reader: &mut Reader<'_>, class: &NodeClass, entry: &Entry, cpus: i64) {
    let of_class = class.spec.num_cores_per_socket.filter(|cores| *cores > 0);
    let own = entry.cores_per_socket.filter(|cores| *cores > 0);
    let Some(cores) = own.or(of_class) else { return };
    if cpus % i64::from(cores) != 0 {
        let from = if own.is_some() { "" } else { " (spec.numCoresPerSocket)" };
        reader.refuse(
            "coresPerSocket",
            format!(
                "{cores}{from} does not divide its {cpus} CPUs; write a number that does, or \
                 leave it out"
            ),
        );
    }
}
