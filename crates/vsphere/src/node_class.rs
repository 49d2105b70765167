//! The API object: what a user wrote, in every documented spelling.

pub(crate) mod crd;
mod devices;
pub(crate) mod fold;
pub(crate) mod hash;
pub(crate) mod networks;
pub(crate) mod resources;
mod schema;
mod validate;

pub(crate) use self::devices::{PciDevice, Vgpu};

use std::collections::BTreeMap;

use joiner_api::duration::Duration;
use joiner_cloud::{
    scalar::{IntOrString, NumberOrString},
    spec::{self, entry::is_disk, kubelet::Kubelet},
};
use joiner_core::{label::Labels, quantity::Quantity};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{NODE_CLASS_KIND, NotANodeClass, Problem};

/// A `VsphereNodeClass`. Every field may be absent or null.
#[derive(Debug, Clone)]
pub struct NodeClass {
    pub(crate) name: String,
    pub(crate) spec: Spec,
    /// Size in GiB of the template's disk, once a controller has looked.
    pub(crate) template_disk_gib: Option<i64>,
    /// Bytes of memory that guests of types were seen to have, by the type's name.
    pub(crate) measured_memory: BTreeMap<String, i64>,
    /// Unknown fields of sizes.
    pub(crate) unknown_fields: Vec<String>,
    /// Problems of the spellings.
    spelling: Vec<Problem>,
    hash: String,
}

#[derive(Debug, Deserialize)]
struct Object {
    spec: Option<Spec>,
    status: Option<Status>,
}

/// What instances are made of, where, and how they join.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    /// Where instances run: a cluster or a resource pool.
    pub(crate) compute_selector: Option<Selector>,
    /// Where their disks are: a datastore, or several of which the one with most room is used.
    pub(crate) datastore_selector: Option<Selector>,
    /// The network of their first adapter.
    pub(crate) network_selector: Option<Selector>,
    /// Their adapters, if there are several or guests have to be told about them; one in the
    /// network of networkSelector where nobody says.
    pub(crate) networks: Option<Vec<networks::Adapter>>,
    /// The template they are cloned from.
    pub(crate) image_selector: Option<ImageSelector>,
    /// The datacenter that everything is looked for in; the controller's where nobody says.
    pub(crate) dc_selector: Option<DatacenterSelector>,
    /// Size of the first disk in GiB; 0 keeps the template's.
    #[schemars(extend("format" = "int64"))]
    pub(crate) disk_size: Option<i64>,
    /// The sizes that instances can have.
    pub(crate) instance_types: Option<Vec<Entry>>,
    /// How an instance becomes a node.
    pub(crate) user_data: Option<UserData>,
    /// The distribution of Kubernetes that instances join; the controller's where nobody says.
    #[serde(rename = "k8SDistro")]
    pub(crate) k8s_distro: Option<String>,
    /// vSphere tags that each instance gets: category and tag.
    pub(crate) tags: Option<BTreeMap<String, String>>,
    /// Places that instances can be made in. What a zone does not say is as the class says.
    pub(crate) zones: Option<Vec<Zone>>,
    /// auto, linkedClone or fullClone. A linked clone is made in seconds, needs a snapshot of the
    /// template, and its disk cannot be larger; auto makes one where it can.
    pub(crate) clone_mode: Option<String>,
    /// The template's snapshot that linked clones are made from; its current one where nobody says.
    pub(crate) snapshot: Option<String>,
    /// Folder of the instances, below the controller's.
    pub(crate) folder: Option<String>,
    /// The storage policy of the instances' files and disks, by its name. Only datastores that meet
    /// it are used.
    pub(crate) storage_policy_name: Option<String>,
    /// The guest system that vSphere is told of; the template's where nobody says.
    pub(crate) guest_id: Option<String>,
    /// The version of the virtual hardware, such as vmx-19; the template's where nobody says.
    pub(crate) hardware_version: Option<String>,
    /// What instances are promised of their hosts, and how much of it they may take.
    pub(crate) resources: Option<resources::HostResources>,
    /// Cores of each virtual socket; vSphere decides where nobody says.
    #[schemars(extend("format" = "int32", "minimum" = null))]
    pub(crate) num_cores_per_socket: Option<u32>,
    /// Whether it is looked, before instances are asked for, if hosts and datastores have room for
    /// them; sizes without room are not offered.
    pub(crate) capacity_check: Option<bool>,
    /// Further settings of the virtual machine, by key.
    #[serde(rename = "customVMXKeys")]
    pub(crate) custom_vmx_keys: Option<BTreeMap<String, String>>,
    /// Disks besides the first.
    pub(crate) data_disks: Option<Vec<DataDisk>>,
    /// none or preferred: whether the cluster keeps instances of the class on different hosts where
    /// it can.
    pub(crate) anti_affinity: Option<String>,
    /// What the kubelet is told, in the words of its own configuration.
    pub(crate) kubelet: Option<Kubelet>,
    /// hard or trySoft: whether the guest may shut down before its instance is removed.
    pub(crate) power_off_mode: Option<String>,
    /// How long a guest may take to shut down, 5m where nobody says.
    pub(crate) guest_soft_power_off_timeout: Option<Duration>,
}

/// Finds things by their tags or by their name; tags win.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct Selector {
    /// Category and tag; the tag * stands for any of its category.
    #[schemars(schema_with = "schema::tags")]
    pub(crate) tags: Option<BTreeMap<String, String>>,
    /// A name, or a path in the inventory.
    pub(crate) name: Option<String>,
}

/// Finds templates by their tags, their name or a pattern of names; the first of these wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct ImageSelector {
    /// Category and tag; the tag * stands for any of its category.
    #[schemars(schema_with = "schema::tags")]
    pub(crate) tags: Option<BTreeMap<String, String>>,
    /// The whole name, or a path in the inventory.
    pub(crate) name: Option<String>,
    /// A pattern of names such as ubuntu-*; of several templates the newest is used.
    pub(crate) pattern: Option<String>,
}

/// Finds the datacenter by its tags or by its name; tags win.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct DatacenterSelector {
    /// Category and tag; the tag * stands for any of its category.
    #[schemars(schema_with = "schema::tags")]
    pub(crate) tags: Option<BTreeMap<String, String>>,
    /// Its name.
    pub(crate) id: Option<String>,
}

/// The requirement of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted<'c> {
    /// Objects that carry all of these tags.
    Tags(&'c BTreeMap<String, String>),
    /// An object with this name, or at this path.
    Name(&'c str),
    /// Objects whose names match this pattern.
    Pattern(&'c str),
}

impl Selector {
    /// What it asks for; none when it says nothing.
    pub(crate) fn wanted(&self) -> Option<Wanted<'_>> {
        tags(self.tags.as_ref()).or_else(|| name(self.name.as_ref()))
    }
}

impl ImageSelector {
    /// What it asks for; none when it says nothing.
    pub(crate) fn wanted(&self) -> Option<Wanted<'_>> {
        let pattern = self.pattern.as_deref().filter(|pattern| !pattern.is_empty());
        tags(self.tags.as_ref())
            .or_else(|| name(self.name.as_ref()))
            .or(pattern.map(Wanted::Pattern))
    }
}

impl DatacenterSelector {
    /// What it asks for; none when it says nothing.
    pub(crate) fn wanted(&self) -> Option<Wanted<'_>> {
        tags(self.tags.as_ref()).or_else(|| name(self.id.as_ref()))
    }
}

fn tags(tags: Option<&BTreeMap<String, String>>) -> Option<Wanted<'_>> {
    tags.filter(|tags| !tags.is_empty()).map(Wanted::Tags)
}

fn name(name: Option<&String>) -> Option<Wanted<'_>> {
    name.filter(|name| !name.is_empty()).map(|name| Wanted::Name(name))
}

/// A size of instances.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// Virtual CPUs.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) cpu: Option<IntOrString>,
    /// Memory: a number of GiB, or an amount such as 16Gi.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) memory: Option<IntOrString>,
    /// Pods that a node takes.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) max_pods: Option<IntOrString>,
    /// linux or windows.
    pub(crate) os: Option<String>,
    /// amd64 or arm64; amd64 where nobody says.
    pub(crate) arch: Option<String>,
    /// The zone it can be had in.
    pub(crate) zone: Option<String>,
    /// The region of its zone.
    pub(crate) region: Option<String>,
    /// Instead of the name that is made of the size.
    pub(crate) name: Option<String>,
    /// For an hour, in any unit; only comparisons matter.
    #[schemars(schema_with = "schema::number_or_string")]
    pub(crate) price: Option<NumberOrString>,
    /// Labels that nodes of this size get.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub(crate) labels: Option<Labels>,
    /// Further resources, such as GPUs.
    #[schemars(schema_with = "schema::quantities")]
    pub(crate) extended_resources: Option<BTreeMap<String, Quantity>>,
    /// Size of the first disk in GiB, instead of the class's.
    #[schemars(extend("format" = "int64"))]
    pub(crate) disk_size: Option<i64>,
    /// Cores of each virtual socket, instead of the class's.
    #[schemars(extend("format" = "int32", "minimum" = null))]
    pub(crate) cores_per_socket: Option<u32>,
    /// Devices of a host that each instance has to itself. All of its memory is reserved then.
    pub(crate) pci_devices: Option<Vec<PciDevice>>,
    /// Shares of graphics cards that each instance has. All of its memory is reserved then.
    pub(crate) vgpu: Option<Vgpu>,
}

/// The fields of a size.
const ENTRY_FIELDS: [&str; 15] = [
    "arch",
    "coresPerSocket",
    "cpu",
    "diskSize",
    "extendedResources",
    "labels",
    "maxPods",
    "memory",
    "name",
    "os",
    "pciDevices",
    "price",
    "region",
    "vgpu",
    "zone",
];

/// A place that instances can be made in.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Zone {
    /// The value of the zone label.
    #[serde(default)]
    pub(crate) name: String,
    /// The value of the region label.
    pub(crate) region: Option<String>,
    /// Instead of the class's.
    pub(crate) compute_selector: Option<Selector>,
    /// Instead of the class's.
    pub(crate) datastore_selector: Option<Selector>,
    /// Instead of the class's.
    pub(crate) network_selector: Option<Selector>,
    /// Folder of the zone's instances, below the controller's.
    pub(crate) folder: Option<String>,
    /// A group of the cluster's virtual machines that the zone's belong to, such as those that
    /// should run on the hosts of one rack. Administrators make it.
    pub(crate) vm_group: Option<String>,
}

/// How an instance becomes a node.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserData {
    /// What the image understands: cloud-config, ignition or talos.
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// The user's own text.
    pub(crate) additional_userdata: Option<String>,
    /// merge adds the user's text to what is generated, replace uses it alone.
    pub(crate) mode: Option<String>,
    /// A Secret whose key userData is the user's own text, instead of `additionalUserdata`.
    pub(crate) secret_ref: Option<SecretRef>,
    /// Of early versions, and refused: write `additionalUserdata` instead.
    pub(crate) template_base64: Option<String>,
    /// Of early versions, and refused: write `additionalUserdata` instead.
    pub(crate) values: Option<SecretRef>,
}

/// A Secret.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct SecretRef {
    /// Its name.
    #[serde(default)]
    pub(crate) name: String,
    /// Its namespace; the controller's where nobody says.
    pub(crate) namespace: Option<String>,
}

/// A disk besides the first.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataDisk {
    /// For people and messages.
    pub(crate) name: Option<String>,
    /// Size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(extend("format" = "int64"))]
    pub(crate) size_gib: Option<i64>,
    /// `Thin`, `Thick` or `EagerlyZeroed`; the datastore decides where nobody says.
    pub(crate) provisioning_mode: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Status {
    image: Option<Image>,
}

#[derive(Debug, Deserialize)]
struct Image {
    #[serde(rename = "diskGiB")]
    disk_gib: Option<i64>,
}

impl NodeClass {
    /// Reads an object; what its schema refuses is an error.
    pub fn read(object: &Value) -> Result<Self, NotANodeClass> {
        let mut folded = object.clone();
        let spelling = folded.get_mut("spec").map(fold::fold).unwrap_or_default();
        let read: Object = spec::read(NODE_CLASS_KIND, &folded)?;
        Ok(Self {
            name: spec::name_of(object).to_owned(),
            spec: read.spec.unwrap_or_default(),
            template_disk_gib: read
                .status
                .and_then(|status| status.image)
                .and_then(|image| image.disk_gib)
                .filter(|gib| is_disk(*gib)),
            measured_memory: BTreeMap::new(),
            unknown_fields: spec::unknown_fields(object, &ENTRY_FIELDS),
            hash: hash::hash(&folded["spec"]),
            spelling,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fingerprint of the inputs of its instances.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every set of tags that its selectors ask for, but that of the datacenter.
    pub(crate) fn tags_asked_for(&self) -> Vec<&BTreeMap<String, String>> {
        let spec = &self.spec;
        let of_class = [&spec.compute_selector, &spec.datastore_selector, &spec.network_selector];
        let of_zones = spec.zones.iter().flatten().flat_map(|zone| {
            [&zone.compute_selector, &zone.datastore_selector, &zone.network_selector]
        });
        let of_adapters = spec.adapters().iter().map(|adapter| &adapter.selector);
        let of_image = spec.image_selector.as_ref().and_then(ImageSelector::wanted);
        let wanted = of_class.into_iter().chain(of_zones).chain(of_adapters);
        wanted
            .filter_map(|selector| selector.as_ref()?.wanted())
            .chain(of_image)
            .filter_map(|wanted| match wanted {
                Wanted::Tags(tags) => Some(tags),
                Wanted::Name(_) | Wanted::Pattern(_) => None,
            })
            .collect()
    }

    /// The name of the storage policy, if there is to be one.
    pub(crate) fn storage_policy(&self) -> Option<&str> {
        self.spec.storage_policy_name.as_deref().filter(|name| !name.is_empty())
    }

    /// Sets the size of the template's disk, which is the default of the first disk.
    pub(crate) fn with_template_disk(mut self, gib: Option<i64>) -> Self {
        self.template_disk_gib = gib.or(self.template_disk_gib);
        self
    }

    /// Sets the measured memory of guests. Without it, the memory is an estimate.
    pub(crate) fn with_measured_memory(mut self, by_type: BTreeMap<String, i64>) -> Self {
        self.measured_memory = by_type;
        self
    }
}
