//! Sizes as written, checked and made comparable.

use std::fmt::Display;

use joiner_cloud::scalar::written;
use joiner_core::{
    label::{self, Labels, WellKnown},
    quantity::Quantity,
    resources::Resources,
};

use crate::{
    GIB, MIB, NODE_CLASS_GROUP, Problem, Reason,
    kubelet::pods,
    node_class::{Entry, NodeClass},
    passthrough::{self, HostDevice},
};

/// How many CPUs an instance may have.
const MAX_CPUS: i64 = 9999;
/// How many pods a size may ask for.
const MAX_PODS: i64 = 512;
/// What instances are where nobody says.
const DEFAULT_ARCH: &str = "amd64";
/// vSphere gives memory in steps of this many MiB.
const MEMORY_STEP_MIB: i64 = 4;

/// What an instance is; two sizes of equal shape are one type in two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) cpus: i64,
    pub(crate) memory_mib: i64,
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
    pub(crate) pods: i64,
    /// 0 if nobody has said.
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
    /// Whether both are the same place, whatever the prices.
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

/// Reads the fields of one entry and collects what is wrong with them. A field that is wrong is
/// read as if it were empty; nobody uses it then.
struct Reader<'c> {
    field: String,
    problems: &'c mut Vec<Problem>,
}

impl Size {
    /// Checks entry `i`; all that is wrong with it is added to `problems`.
    pub(crate) fn read(
        class: &NodeClass,
        i: usize,
        entry: &Entry,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let problems_before = problems.len();
        let mut reader = Reader { field: format!("spec.instanceTypes[{i}]"), problems };
        let cpus = reader.cpus(entry);
        let (memory_mib, memory) = reader.memory(entry);
        let os = reader.os(entry);
        let arch = reader.arch(entry);
        let place = Place {
            zone: reader.label_value("zone", entry.zone.as_ref()),
            region: reader.label_value("region", entry.region.as_ref()),
            price: reader.price(entry),
        };
        let own_name = reader.label_value("name", entry.name.as_ref());
        let name = own_name.clone().unwrap_or_else(|| type_name(cpus, &memory, os, arch));
        let disk_gib = reader.disk(entry).or(class.spec.disk_size).unwrap_or_default();
        reader.check_sockets(class, entry, cpus);
        let devices = HostDevice::read(entry, |field, text| reader.refuse(field, text));
        let mut extended = reader.extended(entry);
        passthrough::add_resources(&devices, &mut extended);
        let shape = Shape {
            pods: pods(reader.max_pods(entry), cpus, class.spec.kubelet.as_ref()),
            disk_gib: disk_gib.max(class.template_disk_gib.unwrap_or_default()),
            extended,
            devices,
            labels: reader.labels(entry),
            cores_per_socket: entry.cores_per_socket.filter(|cores| *cores > 0),
            own_name,
            cpus,
            memory_mib,
            os,
            arch,
        };
        // Each part of a made-up name may be fit for a label and the whole not.
        if reader.problems.len() == problems_before && !label::is_valid_value(&name) {
            let remedy = "write memory such as 16Gi, or give the entry a name";
            reader.refuse(
                "memory",
                format!("makes the name {name:?}, which no label can have; {remedy}"),
            );
        }
        (problems.len() == problems_before).then_some(Self { shape, name, place })
    }
}

/// The name that the cloud controller manager gives to instances of this size, so that the label of
/// a node is the same whoever writes it.
fn type_name(cpus: i64, memory: &str, os: &str, arch: &str) -> String {
    let memory = memory.strip_suffix("Gi").unwrap_or(memory);
    let suffix = if arch == DEFAULT_ARCH { String::new() } else { format!(".arch-{arch}") };
    format!("vsphere-vm.cpu-{cpus}.mem-{memory}gb.os-{os}{suffix}")
}

impl Reader<'_> {
    fn refuse(&mut self, field: &str, text: impl Into<String>) {
        let field = format!("{}.{field}", self.field);
        self.problems.push(Problem::new(Reason::InvalidInstanceType, field, text));
    }

    /// The text of a field that must be there.
    fn required(
        &mut self,
        field: &str,
        value: Option<&impl Display>,
        remedy: &str,
    ) -> Option<String> {
        let text = written(value);
        if text.is_none() {
            self.refuse(field, format!("is missing; {remedy}"));
        }
        text
    }

    fn cpus(&mut self, entry: &Entry) -> i64 {
        const REMEDY: &str = "write a whole number from 1 to 9999";
        let Some(text) = self.required("cpu", entry.cpu.as_ref(), REMEDY) else { return 0 };
        whole(&text, MAX_CPUS).unwrap_or_else(|| {
            self.refuse("cpu", format!("{text:?} is no number of CPUs; {REMEDY}"));
            0
        })
    }

    /// Memory of the instance in MiB, and as it is written.
    ///
    /// COMPAT: upstream reads a bare number as bytes, while its README speaks of gigabytes.
    fn memory(&mut self, entry: &Entry) -> (i64, String) {
        const REMEDY: &str = "write GiB as a whole number such as 16, or an amount such as 16Gi";
        let text = self.required("memory", entry.memory.as_ref(), REMEDY);
        let Some(text) = text else { return Default::default() };
        let bytes = if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse::<i64>().ok().and_then(|gib| gib.checked_mul(GIB))
        } else {
            text.parse().ok().map(Quantity::floor)
        };
        let steps = bytes.map_or(0, |bytes| bytes / (MEMORY_STEP_MIB * MIB));
        if steps < 1 {
            self.refuse("memory", format!("{text:?} is no instance's memory; {REMEDY}"));
        }
        (steps * MEMORY_STEP_MIB, text)
    }

    fn max_pods(&mut self, entry: &Entry) -> Option<i64> {
        let text = written(entry.max_pods.as_ref())?;
        let pods = whole(&text, MAX_PODS);
        if pods.is_none() {
            let remedy = "write a whole number from 1 to 512, or leave it out";
            self.refuse("maxPods", format!("{text:?} is no number of pods; {remedy}"));
        }
        pods
    }

    fn os(&mut self, entry: &Entry) -> &'static str {
        const REMEDY: &str = "write linux or windows";
        let text = self.required("os", entry.os.as_ref(), REMEDY).unwrap_or_default();
        let known = ["linux", "windows"].into_iter().find(|os| os.eq_ignore_ascii_case(&text));
        if known.is_none() && !text.is_empty() {
            self.refuse("os", format!("{text:?} is not known; {REMEDY}"));
        }
        known.unwrap_or_default()
    }

    fn arch(&mut self, entry: &Entry) -> &'static str {
        let text = written(entry.arch.as_ref()).unwrap_or_else(|| DEFAULT_ARCH.to_owned());
        let known = [DEFAULT_ARCH, "arm64"].into_iter().find(|arch| *arch == text);
        known.unwrap_or_else(|| {
            self.refuse("arch", format!("{text:?} is not known; write amd64 or arm64"));
            DEFAULT_ARCH
        })
    }

    /// vSphere makes no instance whose last socket is not full.
    fn check_sockets(&mut self, class: &NodeClass, entry: &Entry, cpus: i64) {
        let of_class = class.spec.num_cores_per_socket.filter(|cores| *cores > 0);
        let own = entry.cores_per_socket.filter(|cores| *cores > 0);
        let Some(cores) = own.or(of_class) else { return };
        if cpus % i64::from(cores) != 0 {
            let from = if own.is_some() { "" } else { " (spec.numCoresPerSocket)" };
            self.refuse(
                "coresPerSocket",
                format!(
                    "{cores}{from} does not divide its {cpus} CPUs; write a number that does, or \
                     leave it out"
                ),
            );
        }
    }

    /// The entry's own size of disk; the class's is checked once, not for every entry.
    fn disk(&mut self, entry: &Entry) -> Option<i64> {
        if let Some(gib) = entry.disk_size.filter(|gib| !is_disk(*gib)) {
            self.refuse("diskSize", not_a_disk(gib));
        }
        entry.disk_size
    }

    fn extended(&mut self, entry: &Entry) -> Resources {
        let mut extended = Resources::new();
        for (name, &amount) in entry.extended_resources.iter().flatten() {
            let field = format!("extendedResources[{name:?}]");
            if !name.contains('/') || !label::is_valid_key(name) {
                self.refuse(&field, "is no extended resource; write a name such as nvidia.com/gpu");
            } else if amount < Quantity::ZERO || amount != Quantity::whole(amount.floor()) {
                self.refuse(&field, format!("{amount} cannot be had; write a whole number"));
            }
            extended.set(name, amount);
        }
        extended
    }

    fn labels(&mut self, entry: &Entry) -> Labels {
        let reserved = WellKnown::default().restricting([NODE_CLASS_GROUP.to_owned()]);
        for (key, value) in entry.labels.iter().flatten() {
            let field = format!("labels[{key:?}]");
            if !label::is_valid_key(key) {
                self.refuse(&field, "is no label; write a key such as example.com/disk");
            } else if reserved.contains(key) || reserved.is_restricted(key) {
                self.refuse(&field, "is not yours to set; use a domain of your own");
            } else if !label::is_valid_value(value) {
                self.refuse(&field, not_a_label_value(value));
            }
        }
        entry.labels.clone().unwrap_or_default()
    }

    fn price(&mut self, entry: &Entry) -> Option<f64> {
        let text = written(entry.price.as_ref())?;
        let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
        if price.is_none() {
            self.refuse("price", format!("{text:?} is no price; write a number of 0 or more"));
        }
        price
    }

    fn label_value(&mut self, field: &str, value: Option<&String>) -> Option<String> {
        let text = written(value)?;
        if !label::is_valid_value(&text) {
            self.refuse(field, not_a_label_value(&text));
        }
        Some(text)
    }
}

/// What to say of a text that no label can have.
pub(crate) fn not_a_label_value(text: &str) -> String {
    format!(
        "{text:?} is not a valid value of a label; use at most 63 letters, digits and, between \
         them, - _ ."
    )
}

/// Whether a disk can have this size in GiB, and its bytes can be counted.
pub(crate) fn is_disk(gib: i64) -> bool {
    (0..=i64::MAX / GIB).contains(&gib)
}

/// What to say of a size that is none.
pub(crate) fn not_a_disk(gib: i64) -> String {
    format!("{gib} is no disk's size; write GiB, or 0 to keep the template's")
}

/// A whole number from 1 to `max`, in any of the ways to write an amount.
fn whole(text: &str, max: i64) -> Option<i64> {
    let amount: Quantity = text.parse().ok()?;
    let number = amount.floor();
    (Quantity::whole(number) == amount && (1..=max).contains(&number)).then_some(number)
}
