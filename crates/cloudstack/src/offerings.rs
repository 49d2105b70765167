//! From service offerings to instance types.
//!
//! [`instance_types`] is a function of what a class resolved to. Service offerings of one name and
//! size in several zones are one type, with an offering for each zone.

mod gpu;
mod price;
mod size;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use joiner_cloud::kubelet::{self, Defaults, EVICTION};
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
    price::UnitPrices,
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};

pub use self::size::Size;
use self::units::{Unit, units};
pub(crate) use self::{
    gpu::gpus,
    price::{PRICE, written_price},
    size::sizes,
};
use crate::{
    GIB, MIB, NODE_CLASS_KIND, NodeClass,
    client::objects::{ServiceOffering, Template},
    labels::{
        self, CSI_ZONE, DISK_OFFERING_ID, INSTANCE_CPU, INSTANCE_CPU_MHZ, INSTANCE_GPU_COUNT,
        INSTANCE_GPU_NAME, INSTANCE_MEMORY, INSTANCE_NETWORK_RATE, NETWORK_ID, NETWORK_NAME, Named,
        SERVICE_OFFERING_ID, SERVICE_OFFERING_NAME, TEMPLATE_ID, TEMPLATE_NAME, ZONE_ID, ZONE_NAME,
    },
    resolve::{Resolution, ZoneResolution, arch_of},
};

/// What the kubelet keeps where the class says nothing: upstream's numbers.
const KUBE_RESERVED_CPU: Quantity = Quantity::milli(100);
const KUBE_RESERVED_MEMORY: Quantity = Quantity::bytes(256 * MIB);

/// What the user can choose about instances for all classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Prices of instances whose service offering has none.
    pub prices: UnitPrices,
    /// The price of a virtual CPU, instead of that of all clouds.
    pub price_per_cpu: Option<f64>,
    /// The price of a GiB of memory, instead of that of all clouds.
    pub price_per_gib: Option<f64>,
    /// The share of an instance's memory that its guest does not see, from 0 to below 1.
    pub memory_overhead: f64,
    /// What nodes call graphics cards, by a part of CloudStack's name for them.
    pub gpu_resources: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prices: UnitPrices::default(),
            price_per_cpu: None,
            price_per_gib: None,
            memory_overhead: 0.075,
            gpu_resources: BTreeMap::new(),
        }
    }
}

/// What instances a class can make.
#[derive(Debug, Clone, Default)]
pub struct Instances {
    /// In the order of price, size and name.
    pub types: Vec<InstanceType>,
    /// What CloudStack is asked for, by the type's name.
    pub made_of: BTreeMap<String, MadeOf>,
    /// The names of the types, to find what others call them.
    pub names: Vec<Named>,
    /// One sentence for each thing that its author may not expect.
    pub notes: Vec<String>,
}

/// What CloudStack is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MadeOf {
    /// The size.
    pub size: Size,
    /// The service offering in each zone, by the zone's id.
    pub by_zone: BTreeMap<String, ChosenOffering>,
}

/// A service offering in a zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChosenOffering {
    /// Its id.
    pub id: String,
    /// Size of the root disk that is asked for, where the offering leaves it open.
    pub root_disk_gib: Option<i64>,
    /// Whether its disk offering cannot be replaced.
    pub has_strict_disk: bool,
}

impl MadeOf {
    /// The details that say the size, where the service offering leaves it open. CloudStack refuses
    /// them for any other.
    pub fn details(&self) -> BTreeMap<String, String> {
        let Size { cpus, memory_mib, is_custom, asked_mhz, .. } = self.size;
        let mut details = BTreeMap::new();
        if is_custom {
            details.insert("cpuNumber".to_owned(), cpus.to_string());
            details.insert("memory".to_owned(), memory_mib.to_string());
            if let Some(mhz) = asked_mhz {
                details.insert("cpuSpeed".to_owned(), mhz.to_string());
            }
        }
        details
    }
}

/// Makes the instance types of a class.
pub fn instance_types(
    class: &NodeClass,
    resolution: &Resolution,
    settings: &Settings,
) -> Instances {
    let mut made = Instances { notes: resolution.notes.clone(), ..Instances::default() };
    let maker = Maker { class, resolution, settings, zones: zone_labels(resolution) };
    let units = units(&resolution.zones);
    let bases = labels::sanitized(units.iter().map(|unit| (unit.id(), unit.name())));
    for unit in &units {
        maker.note_traps(unit, &mut made.notes);
        let sizes = match sizes(unit.offering, class) {
            Ok(sizes) => sizes,
            Err(problem) => {
                made.notes.push(maker.note(unit, &problem));
                continue;
            }
        };
        made.notes.extend(sizes.left_out.iter().map(|problem| maker.note(unit, problem)));
        let base = &bases[unit.id()];
        for size in sizes.sizes {
            let name = size.name(base);
            if made.made_of.contains_key(&name) {
                let problem = format!("another offering is called {name} already; rename one");
                made.notes.push(maker.note(unit, &problem));
                continue;
            }
            made.types.push(maker.instance_type(unit, &name, base, size));
            made.made_of.insert(name.clone(), maker.made_of(unit, size));
            let raw = unit.name().to_owned();
            made.names.push(Named { value: name, ids: unit.ids(), name: raw });
        }
    }
    made.types.sort_by(|one, other| {
        let price = |of: &InstanceType| of.offerings.first().map_or(0.0, |own| own.price);
        let parts = |of: &InstanceType| (of.capacity.get(CPU), of.capacity.get(MEMORY));
        price(one)
            .total_cmp(&price(other))
            .then_with(|| parts(one).cmp(&parts(other)))
            .then_with(|| one.name.cmp(&other.name))
    });
    let knows_disk = |of: &InstanceType| of.capacity.contains(EPHEMERAL_STORAGE);
    if !made.types.iter().all(knows_disk) {
        made.notes.push(format!(
            "{NODE_CLASS_KIND} {:?}: the size of the root disk is not known, so pods that request \
             ephemeral-storage have no place there; set spec.rootDiskSize",
            class.name()
        ));
    }
    made
}

/// The values of the zone label, by the zones' ids.
pub(crate) fn zone_labels(resolution: &Resolution) -> BTreeMap<String, String> {
    let zones = resolution.zones.iter().map(|own| (own.zone.id.as_str(), own.zone.name.as_str()));
    labels::sanitized(zones)
}

/// The default network and the templates that instances of a zone are made of: the first template of
/// each architecture.
pub fn chosen_templates(zone: &ZoneResolution) -> BTreeMap<&'static str, &Template> {
    let mut chosen = BTreeMap::new();
    for template in &zone.templates {
        if let Some(arch) = arch_of(template) {
            chosen.entry(arch).or_insert(template);
        }
    }
    chosen
}

struct Maker<'m> {
    class: &'m NodeClass,
    resolution: &'m Resolution,
    settings: &'m Settings,
    zones: BTreeMap<String, String>,
}

impl Maker<'_> {
    fn note(&self, unit: &Unit<'_>, problem: &str) -> String {
        let class = self.class.name();
        format!("{NODE_CLASS_KIND} {class:?}: service offering {:?}: {problem}", unit.name())
    }

    /// What the author of a class may not expect of an offering.
    fn note_traps(&self, unit: &Unit<'_>, notes: &mut Vec<String>) {
        let offering = unit.offering;
        if offering.is_volatile {
            let problem = "is volatile: the root disk is made anew at every start";
            notes.push(self.note(unit, problem));
        }
        if let Some(days) = offering.lease_days.filter(|days| *days > 0) {
            let problem = format!("has a lease: CloudStack ends its instances after {days} days");
            notes.push(self.note(unit, &problem));
        }
        let (_, unknown) = gpu::resources(offering, &self.settings.gpu_resources);
        if let Some(card) = unknown {
            let problem = format!(
                "the resource that nodes call {card:?} by is not known; no pod is given it"
            );
            notes.push(self.note(unit, &problem));
        }
    }

    fn made_of(&self, unit: &Unit<'_>, size: Size) -> MadeOf {
        let by_zone = unit.by_zone.iter().map(|(index, offering)| {
            let zone = &self.resolution.zones[*index];
            let chosen = ChosenOffering {
                id: offering.id.clone(),
                root_disk_gib: self.asked_disk(zone, offering),
                has_strict_disk: offering.has_strict_disk,
            };
            (zone.zone.id.clone(), chosen)
        });
        MadeOf { size, by_zone: by_zone.collect() }
    }

    /// The size of the root disk to ask for: none where the offering decides it, and none below the
    /// template's, which CloudStack refuses.
    fn asked_disk(&self, zone: &ZoneResolution, offering: &ServiceOffering) -> Option<i64> {
        let of_class = self.class.spec.root_disk_size?;
        let is_open = offering.root_disk_gib.unwrap_or_default() == 0;
        let is_enough = template_disk_gib(zone).is_none_or(|(_, largest)| of_class >= largest);
        (is_open && is_enough).then_some(of_class)
    }

    /// The size of the root disk, as far as it is known.
    fn disk_gib(&self, zone: &ZoneResolution, offering: &ServiceOffering) -> Option<i64> {
        let own = offering.root_disk_gib.filter(|gib| *gib > 0);
        let asked = || self.asked_disk(zone, offering);
        own.or_else(asked).or_else(|| template_disk_gib(zone).map(|(smallest, _)| smallest))
    }

    fn instance_type(&self, unit: &Unit<'_>, name: &str, base: &str, size: Size) -> InstanceType {
        let offering = unit.offering;
        let (gpus, _) = gpu::resources(offering, &self.settings.gpu_resources);
        let mut instance: Resources = gpus;
        instance.set(CPU, Quantity::whole(size.cpus));
        instance.set(MEMORY, Quantity::bytes(size.memory_mib.saturating_mul(MIB)));
        let price = price::of(offering, size, &instance, self.settings);
        let pods = kubelet::pods(None, size.cpus, self.class.spec.kubelet.as_ref());
        let mut capacity = instance;
        capacity.set(PODS, Quantity::whole(pods));
        capacity.set(MEMORY, self.visible_memory(size.memory_mib));
        let disks = unit.by_zone.iter().map(|(index, own)| {
            self.disk_gib(&self.resolution.zones[*index], own).unwrap_or_default()
        });
        let disk_gib = disks.min().unwrap_or_default();
        if disk_gib > 0 {
            let bytes = disk_gib.saturating_mul(GIB);
            capacity.set(EPHEMERAL_STORAGE, Quantity::bytes(bytes));
        }
        let kube_reserved =
            [(CPU, KUBE_RESERVED_CPU), (MEMORY, KUBE_RESERVED_MEMORY)].into_iter().collect();
        let defaults =
            Defaults { kube_reserved, system_reserved: Resources::new(), eviction: &EVICTION };
        let offerings: Vec<Offering> = unit
            .by_zone
            .iter()
            .map(|(index, own)| self.offering(&self.resolution.zones[*index], own, price))
            .collect();
        InstanceType {
            name: name.to_owned(),
            requirements: self.requirements(unit, name, base, size, &offerings),
            overhead: kubelet::overhead(&defaults, &capacity, self.class.spec.kubelet.as_ref()),
            capacity,
            offerings,
            volume_limits: BTreeMap::new(),
            price_overlaid: false,
            capacity_overlaid: false,
        }
    }

    /// What is left of an instance's memory for its guest.
    ///
    /// COMPAT: upstream promises all of it, and pods then do not fit on the node.
    fn visible_memory(&self, mib: i64) -> Quantity {
        let bytes = mib.saturating_mul(MIB);
        let visible = (bytes as f64 * (1.0 - self.settings.memory_overhead)).floor() as i64;
        Quantity::bytes(visible.clamp(0, bytes))
    }

    /// A service offering in a zone, with what instances there are made of.
    fn offering(&self, own: &ZoneResolution, of: &ServiceOffering, price: f64) -> Offering {
        let zone = &own.zone;
        let mut requirements = Requirements::new();
        let mut require = |key: &str, values: Vec<String>| {
            requirements.add(key, Requirement::one_of(values));
        };
        let value = self.zones.get(&zone.id).cloned().unwrap_or_default();
        require(label::ZONE, vec![value.clone()]);
        require(label::CAPACITY_TYPE, vec![label::CAPACITY_TYPE_ON_DEMAND.to_owned()]);
        require(ZONE_NAME, vec![value]);
        // Files may not say a zone's id; a label that is not known rules nothing out.
        if crate::provider_id::is_uuid(&zone.id) {
            require(ZONE_ID, vec![zone.id.clone()]);
            require(CSI_ZONE, vec![zone.id.clone()]);
        }
        require(SERVICE_OFFERING_ID, vec![of.id.clone()]);
        let templates = chosen_templates(own);
        require(label::ARCH, templates.keys().map(|arch| (*arch).to_owned()).collect());
        let ids = templates.values().map(|template| template.id.clone());
        require(TEMPLATE_ID, ids.collect());
        let names = templates.values().map(|template| labels::sanitize(&template.name));
        require(TEMPLATE_NAME, names.filter(|name| !name.is_empty()).collect());
        let network = own.networks.first();
        require(NETWORK_ID, network.iter().map(|network| network.id.clone()).collect());
        let names = network.iter().map(|network| labels::sanitize(&network.name));
        require(NETWORK_NAME, names.filter(|name| !name.is_empty()).collect());
        let available = own.networks.iter().any(|own| own.can_use_for_deploy != Some(false));
        Offering { requirements, price, available, ..Offering::default() }
    }

    /// The labels that instances of a type can have. A label that they cannot have is ruled out, or
    /// a pod that asks for it would be taken for one that fits.
    fn requirements(
        &self,
        unit: &Unit<'_>,
        name: &str,
        base: &str,
        size: Size,
        offerings: &[Offering],
    ) -> Requirements {
        let mut requirements = Requirements::new();
        let number = |number: Option<i64>| number.iter().map(i64::to_string).collect();
        let gpu = gpus(unit.offering);
        let gpu_name = gpu.as_ref().map(|gpu| labels::sanitize(&gpu.name));
        let of_class = self.resolution.disk_offering.as_ref().map(|own| own.id.clone());
        let single: [(&str, Vec<String>); 12] = [
            (label::INSTANCE_TYPE, vec![name.to_owned()]),
            (label::OS, vec!["linux".to_owned()]),
            (label::REGION, Vec::new()),
            (label::WINDOWS_BUILD, Vec::new()),
            (SERVICE_OFFERING_NAME, vec![base.to_owned()]),
            (INSTANCE_CPU, number(Some(size.cpus))),
            (INSTANCE_CPU_MHZ, number(size.mhz)),
            (INSTANCE_MEMORY, number(Some(size.memory_mib))),
            (INSTANCE_NETWORK_RATE, number(unit.offering.network_rate)),
            (INSTANCE_GPU_NAME, gpu_name.into_iter().filter(|name| !name.is_empty()).collect()),
            (INSTANCE_GPU_COUNT, number(gpu.map(|gpu| gpu.count))),
            (DISK_OFFERING_ID, of_class.into_iter().collect()),
        ];
        for (key, values) in single {
            requirements.add(key, Requirement::one_of(values));
        }
        // Of what differs between zones, all that any zone has.
        let mut by_key: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
        for (key, own) in offerings.iter().flat_map(|offering| offering.requirements.iter()) {
            by_key.entry(key).or_default().extend(own.values());
        }
        for (key, values) in by_key {
            requirements.add(key, Requirement::one_of(values.into_iter().cloned()));
        }
        requirements
    }
}

/// The smallest and the largest disk of the templates that instances of a zone are made of, in GiB.
fn template_disk_gib(zone: &ZoneResolution) -> Option<(i64, i64)> {
    let sizes = chosen_templates(zone).into_values().filter_map(|template| {
        template.size.filter(|bytes| *bytes > 0).map(|bytes| (bytes + GIB - 1) / GIB)
    });
    let sizes: Vec<i64> = sizes.collect();
    Some((*sizes.iter().min()?, *sizes.iter().max()?))
}
