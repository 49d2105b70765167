//! From the sizes of a class to instance types.

use std::collections::{BTreeMap, BTreeSet};

use joiner_cloud::{
    kubelet,
    spec::entry::{is_disk, not_a_disk, not_a_label_value},
};
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};

use crate::{
    GIB, INSTANCE_CPU, INSTANCE_MEMORY, INSTANCE_SIZE, MIB, NODE_CLASS_KIND, NotReady, Problem,
    Reason, Settings,
    node_class::NodeClass,
    passthrough::HostDevice,
    size::{Place, Shape, Size},
};

/// How many sizes a class may list.
const MAX_SIZES: usize = 100;

/// What instances a class can make.
#[derive(Debug, Clone, Default)]
pub struct Instances {
    /// In the order of their first mention.
    pub types: Vec<InstanceType>,
    /// What the virtual machines of each type are made of, by its name.
    pub hardware: BTreeMap<String, Hardware>,
    /// Devices of a host that virtual machines of a type have, by its name.
    pub devices: BTreeMap<String, Vec<HostDevice>>,
    /// One sentence for each result that its author may not expect.
    pub notes: Vec<String>,
}

/// What virtual machines of a type are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory in MiB, in vSphere's steps.
    pub memory_mib: u64,
    /// Size of the first disk in GiB; 0 keeps the template's.
    pub disk_gib: u64,
    /// Cores of each virtual socket; none leaves it to vSphere.
    pub cores_per_socket: Option<u32>,
}

/// Sizes of one shape: one type.
struct Group {
    shape: Shape,
    name: String,
    /// Index of the first size.
    first: usize,
    places: Vec<Place>,
}

impl NodeClass {
    /// Makes an instance type of each shape that the class lists, with an offering for each place.
    pub fn instances(&self, settings: &Settings) -> Result<Instances, NotReady> {
        let mut problems = Vec::new();
        if let Some(gib) = self.spec.disk_size.filter(|gib| !is_disk(*gib)) {
            let problem = Problem::new(Reason::INVALID_DISK_SIZE, "spec.diskSize", not_a_disk(gib));
            problems.push(problem);
        }
        if let Some(kubelet) = &self.spec.kubelet {
            kubelet::check(kubelet, &mut problems);
        }
        self.check_zones(&mut problems);
        let sizes = self.sizes(&mut problems);
        let groups = groups(&sizes, &mut problems);
        if !problems.is_empty() {
            let class = self.name.clone();
            return Err(NotReady { kind: NODE_CLASS_KIND, class, problems });
        }
        let own_labels: BTreeSet<&str> =
            groups.iter().flat_map(|group| group.shape.labels.keys()).map(String::as_str).collect();
        let types: Vec<InstanceType> =
            groups.iter().map(|group| self.instance_type(group, &own_labels, settings)).collect();
        let hardware = groups.iter().map(|group| (group.name.clone(), self.hardware(&group.shape)));
        let devices = groups.iter().filter(|group| !group.shape.devices.is_empty());
        let devices = devices.map(|group| (group.name.clone(), group.shape.devices.clone()));
        Ok(Instances {
            notes: self.notes(&types),
            hardware: hardware.collect(),
            devices: devices.collect(),
            types,
        })
    }

    fn hardware(&self, shape: &Shape) -> Hardware {
        Hardware {
            cpus: shape.cpus as u32,
            memory_mib: shape.memory_mib as u64,
            disk_gib: shape.disk_gib as u64,
            cores_per_socket: shape
                .cores_per_socket
                .or(self.spec.num_cores_per_socket.filter(|cores| *cores > 0)),
        }
    }

    fn check_zones(&self, problems: &mut Vec<Problem>) {
        for (i, zone) in self.spec.zones.iter().flatten().enumerate() {
            let mut refuse = |field: &str, text: String| {
                let field = format!("spec.zones[{i}].{field}");
                problems.push(Problem::new(Reason::INVALID_ZONE, field, text));
            };
            let region = zone.region.as_deref().unwrap_or_default();
            if zone.name.is_empty() {
                refuse("name", "is empty; name the zone".to_owned());
            } else if !label::is_valid_value(&zone.name) {
                refuse("name", not_a_label_value(&zone.name));
            }
            if !label::is_valid_value(region) {
                refuse("region", not_a_label_value(region));
            }
        }
    }

    /// Every entry with its index, checked.
    fn sizes(&self, problems: &mut Vec<Problem>) -> Vec<(usize, Size)> {
        let entries = self.spec.instance_types.as_deref().unwrap_or_default();
        let mut refuse = |field: &str, text: String| {
            problems.push(Problem::new(Reason::INVALID_INSTANCE_TYPE, field, text));
        };
        if entries.is_empty() {
            let text = "lists no size; add one such as {os: linux, cpu: 4, memory: 16Gi}";
            refuse("spec.instanceTypes", text.to_owned());
        } else if entries.len() > MAX_SIZES {
            let text = format!("lists {} sizes; keep {MAX_SIZES} at most", entries.len());
            refuse("spec.instanceTypes", text);
            return Vec::new();
        }
        let read = |(i, entry)| Size::read(self, i, entry, problems).map(|size| (i, size));
        let sizes: Vec<(usize, Size)> = entries.iter().enumerate().filter_map(read).collect();
        if sizes.iter().any(|(_, size)| size.place.zone.is_some()) {
            for (i, _) in sizes.iter().filter(|(_, size)| size.place.zone.is_none()) {
                problems.push(Problem::new(
                    Reason::INVALID_INSTANCE_TYPE,
                    format!("spec.instanceTypes[{i}].zone"),
                    "is missing, but other entries have one; give every entry a zone, or none",
                ));
            }
        }
        sizes
    }

    fn instance_type(
        &self,
        group: &Group,
        own_labels: &BTreeSet<&str>,
        settings: &Settings,
    ) -> InstanceType {
        let shape = &group.shape;
        let instance = instance(shape);
        let places = self.places(group);
        let mut capacity = instance.clone();
        capacity.set(PODS, Quantity::whole(shape.pods));
        let measured = self.measured_memory.get(&group.name).copied().map(Quantity::bytes);
        let guess = || visible_memory(shape.memory_mib, settings.memory_overhead);
        capacity.set(MEMORY, measured.unwrap_or_else(guess));
        let kubelet = self.spec.kubelet.as_ref();
        let reserved = kubelet::Defaults::growing(shape.cpus, shape.pods, &capacity);
        InstanceType {
            name: group.name.clone(),
            requirements: requirements(group, &places, own_labels),
            overhead: kubelet::overhead(&reserved, &capacity, kubelet),
            capacity,
            offerings: places
                .iter()
                .map(|place| {
                    let price =
                        place.price.unwrap_or_else(|| settings.prices.of_instance(&instance));
                    offering(place, price)
                })
                .collect(),
            volume_limits: BTreeMap::new(),
            price_overlaid: false,
            capacity_overlaid: false,
        }
    }

    /// Where instances of a group can be made, each place once. Sizes that name no zone can be had
    /// in every zone of the class.
    fn places(&self, group: &Group) -> Vec<Place> {
        let zones = self.spec.zones.as_deref().unwrap_or_default();
        let mut places: Vec<Place> = Vec::new();
        let mut add = |place: Place| {
            if !places.iter().any(|known| known.is_where(&place)) {
                places.push(place);
            }
        };
        for place in &group.places {
            if place.zone.is_some() || zones.is_empty() {
                add(place.clone());
                continue;
            }
            for zone in zones {
                let region = zone.region.clone().filter(|region| !region.is_empty());
                add(Place {
                    zone: Some(zone.name.clone()),
                    region: region.or_else(|| place.region.clone()),
                    price: place.price,
                });
            }
        }
        places
    }

    fn notes(&self, types: &[InstanceType]) -> Vec<String> {
        let mut notes = Vec::new();
        let subject = format!("{NODE_CLASS_KIND} {:?}", self.name);
        for field in &self.unknown_fields {
            notes.push(format!("{subject}: {field} is no field, and is not used"));
        }
        if types.iter().any(|made| !made.capacity.contains(EPHEMERAL_STORAGE)) {
            notes.push(format!(
                "{subject}: the size of the disk is not known, so pods that request \
                 ephemeral-storage have no place there; set spec.diskSize"
            ));
        }
        let zoneless = |made: &InstanceType| {
            made.requirements.get(label::ZONE) == Some(&Requirement::DOES_NOT_EXIST)
        };
        if types.iter().any(zoneless) {
            notes.push(format!(
                "{subject}: no zone is known, so pods that ask for one or are spread over zones \
                 have no place there; set spec.instanceTypes[].zone"
            ));
        }
        notes
    }
}

/// Sizes of one shape are one type. Two types with one name are an error, and so are two equal sizes.
///
/// COMPAT: upstream makes a type of each size, two of one name where only the zone differs.
fn groups(sizes: &[(usize, Size)], problems: &mut Vec<Problem>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, size) in sizes {
        let mut refuse = |text: String| {
            let field = format!("spec.instanceTypes[{i}]");
            problems.push(Problem::new(Reason::INVALID_INSTANCE_TYPE, field, text));
        };
        match groups.iter_mut().find(|group| group.shape == size.shape) {
            Some(group) => {
                if group.places.iter().any(|place| place.is_where(&size.place)) {
                    refuse(format!(
                        "has the size of spec.instanceTypes[{}] and a zone that this size was \
                         already given; remove one",
                        group.first
                    ));
                }
                group.places.push(size.place.clone());
            }
            None => {
                if let Some(other) = groups.iter().find(|group| group.name == size.name) {
                    refuse(format!(
                        "is named {:?} like spec.instanceTypes[{}], but is not the same; give one \
                         of them a name of its own",
                        size.name, other.first
                    ));
                }
                groups.push(Group {
                    shape: size.shape.clone(),
                    name: size.name.clone(),
                    first: *i,
                    places: vec![size.place.clone()],
                });
            }
        }
    }
    groups
}

/// What the virtual machine is made of.
fn instance(shape: &Shape) -> Resources {
    let mut instance = shape.extended.clone();
    instance.set(CPU, Quantity::whole(shape.cpus));
    instance.set(MEMORY, Quantity::bytes(shape.memory_mib * MIB));
    if shape.disk_gib > 0 {
        instance.set(EPHEMERAL_STORAGE, Quantity::bytes(shape.disk_gib * GIB));
    }
    instance
}

/// What is left of an instance's memory for its guest, in whole MiB.
///
/// COMPAT: upstream promises all of it, and pods then do not fit on the node.
fn visible_memory(mib: i64, overhead: f64) -> Quantity {
    let hidden = (mib as f64 * overhead).ceil() as i64;
    Quantity::bytes((mib - hidden).max(0) * MIB)
}

/// The labels that instances of a group can have. Impossible labels are excluded, so that pods that
/// require them do not count as fitting.
fn requirements(group: &Group, places: &[Place], own_labels: &BTreeSet<&str>) -> Requirements {
    let shape = &group.shape;
    let mut requirements = Requirements::new();
    let mut require = |key: &str, values: Vec<&str>| {
        requirements.add(key, Requirement::one_of(values));
    };
    require(label::INSTANCE_TYPE, vec![&group.name]);
    require(label::ARCH, vec![shape.arch]);
    require(label::OS, vec![shape.os]);
    require(label::ZONE, places.iter().filter_map(|place| place.zone.as_deref()).collect());
    require(label::REGION, places.iter().filter_map(|place| place.region.as_deref()).collect());
    require(label::CAPACITY_TYPE, vec![label::CAPACITY_TYPE_ON_DEMAND]);
    require(label::WINDOWS_BUILD, Vec::new());
    require(INSTANCE_SIZE, vec![&group.name]);
    require(INSTANCE_CPU, vec![&shape.cpus.to_string()]);
    require(INSTANCE_MEMORY, vec![&shape.memory_mib.to_string()]);
    for key in own_labels {
        require(key, shape.labels.get(*key).map(String::as_str).into_iter().collect());
    }
    requirements
}

fn offering(place: &Place, price: f64) -> Offering {
    let mut requirements = Requirements::new();
    requirements.add(label::CAPACITY_TYPE, Requirement::one_of([label::CAPACITY_TYPE_ON_DEMAND]));
    for (key, value) in [(label::ZONE, &place.zone), (label::REGION, &place.region)] {
        requirements.add(key, Requirement::one_of(value.iter()));
    }
    Offering { requirements, price, ..Offering::default() }
}
