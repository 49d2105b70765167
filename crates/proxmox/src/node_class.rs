//! `ProxmoxNodeClass`: what instances are cloned from, where, and how they join.

mod kubelet;
mod validate;

use std::collections::BTreeMap;

use joiner_api::{
    condition::Condition,
    schema::{self, QUANTITY},
};
use joiner_cloud::class::ClassKind;
use joiner_core::quantity::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

pub use self::kubelet::KubeletConfiguration;
use crate::{
    NODE_CLASS,
    object::{self, Object},
};

/// A class.
pub type NodeClass = Object<Spec>;

/// Names of resource pools, nested up to three levels.
pub(crate) const RESOURCE_POOL: &str =
    "^[a-zA-Z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*){0,2}$";

/// What instances are cloned from, where, and how they join.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["instanceTemplateRef"]))]
pub struct Spec {
    /// The region that instances are made in; every region where it is left out.
    #[schemars(extend("minLength" = 1))]
    pub region: Option<String>,
    /// In which order zones are tried.
    #[schemars(extend("default" = {"zoneBalance": "Balanced"}))]
    pub placement_strategy: Option<PlacementStrategy>,
    /// The template that instances are cloned from.
    pub instance_template_ref: Option<TemplateReference>,
    /// What the kubelet of an instance is told, where the instance's text passes it on.
    pub kubelet_configuration: Option<KubeletConfiguration>,
    /// The first disk.
    #[schemars(extend("default" = {"size": "30G"}))]
    pub boot_device: Option<BootDevice>,
    /// Tags of the virtual machines.
    #[schemars(extend("maxItems" = 10))]
    pub tags: Option<Vec<String>>,
    /// How an instance is given its text.
    #[schemars(extend("default" = {"type": "none"}))]
    pub metadata_options: Option<MetadataOptions>,
    /// Security groups of the firewall, in the order of their rules.
    #[schemars(extend("maxItems" = 10))]
    pub security_groups: Option<Vec<SecurityGroup>>,
    /// The resource pool that virtual machines are put into. It has to exist.
    #[schemars(extend("maxLength" = 64, "pattern" = RESOURCE_POOL))]
    pub resource_pool: Option<String>,
}

/// In which order zones are tried.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStrategy {
    /// Balanced tries the zone with the least load first, `AvailabilityFirst` any zone.
    #[schemars(extend("default" = "Balanced", "enum" = ["Balanced", "AvailabilityFirst"]))]
    pub zone_balance: Option<String>,
}

/// The object that says what instances are cloned from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct TemplateReference {
    /// Its kind.
    #[schemars(extend("enum" = ["ProxmoxTemplate", "ProxmoxUnmanagedTemplate"]))]
    pub kind: String,
    /// Its name.
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}

/// The first disk of an instance.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[schemars(extend("required" = null))]
pub struct BootDevice {
    /// Its size in Gi, G, Ti or T; the template's where it is left out.
    #[schemars(schema_with = "disk_size")]
    pub size: Option<Quantity>,
    /// The storage it is in; the template's where it is left out.
    #[schemars(extend("maxLength" = 30))]
    pub storage: Option<String>,
}

/// How an instance is given its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetadataOptions {
    /// none gives it nothing, cdrom attaches an image with cloud-init's files.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "none", "enum" = ["none", "cdrom"]))]
    pub type_: Option<String>,
    /// The Secret with the templates of cloud-init's files.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub templates_ref: Option<SecretReference>,
    /// The Secret with values that the templates use.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub values_ref: Option<SecretReference>,
}

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
}

/// A security group of the firewall, on one interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub struct SecurityGroup {
    /// The interface it protects.
    #[schemars(extend("default" = "net0", "pattern" = "net[0-9]+"))]
    pub interface: Option<String>,
    /// The group's name.
    #[schemars(extend("maxLength" = 30))]
    pub name: String,
}

impl SecurityGroup {
    /// The interface it protects.
    pub fn interface(&self) -> &str {
        self.interface.as_deref().unwrap_or("net0")
    }
}

/// What its controller says about a class.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = null))]
pub struct Status {
    /// Whether the class can be used.
    pub conditions: Option<Vec<Condition>>,
    /// How many zones the class can be used in.
    #[schemars(schema_with = "schema::resource_list")]
    pub resources: Option<BTreeMap<String, Quantity>>,
    /// Where the class can be used: region, zone and id of the template, separated by slashes.
    pub selected_zones: Option<Vec<String>>,
}

impl object::Spec for Spec {
    type Status = Status;
    const KIND: ClassKind = NODE_CLASS;
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("Zones", ".status.resources.zones"),
        ("Balance", ".spec.placementStrategy.zoneBalance"),
        ("Template", ".spec.instanceTemplateRef.name"),
        ("Metadata", ".spec.metadataOptions.type"),
        ("Disk", ".spec.bootDevice.size"),
    ];
}

/// A zone that has a template: an entry of `status.selectedZones` or of a template's `status.zones`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateZone {
    /// The region.
    pub region: String,
    /// The zone, which is the name of a host.
    pub zone: String,
    /// The id of the template's virtual machine.
    pub template: u32,
}

impl TemplateZone {
    /// Reads `<region>/<zone>/<id>`; none if it is not written so.
    pub fn parse(text: &str) -> Option<Self> {
        let (region, rest) = text.split_once('/')?;
        let (zone, template) = rest.split_once('/')?;
        let template = template.parse().ok()?;
        let is_whole = !region.is_empty() && !zone.is_empty();
        is_whole.then(|| Self { region: region.to_owned(), zone: zone.to_owned(), template })
    }
}

impl std::fmt::Display for TemplateZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.region, self.zone, self.template)
    }
}

impl Object<Spec> {
    /// The zones that the class can be used in, as its status says. An entry that cannot be read is
    /// left out.
    pub fn selected_zones(&self) -> Vec<TemplateZone> {
        let entries = self.status.selected_zones.iter().flatten();
        entries.filter_map(|entry| TemplateZone::parse(entry)).collect()
    }

    /// The template that instances in a zone are cloned from: the one with the highest number where
    /// several are there, so that creation and drift mean the same one.
    ///
    /// COMPAT: upstream takes any of them.
    pub fn template_in(&self, region: &str, zone: &str) -> Option<u32> {
        let zones = self.selected_zones().into_iter();
        let here = zones.filter(|own| own.region == region && own.zone == zone);
        here.map(|own| own.template).max()
    }

    /// The size of the first disk in bytes; none keeps the template's.
    ///
    /// COMPAT: upstream ends with a panic where the size is left out.
    pub fn disk_bytes(&self) -> Option<u64> {
        let size = self.spec.boot_device.as_ref()?.size?;
        u64::try_from(size.floor()).ok().filter(|bytes| *bytes > 0)
    }

    /// The storage of the first disk; none keeps the template's.
    ///
    /// COMPAT: upstream looks for a storage without a name, so that such a class is never ready.
    pub fn storage(&self) -> Option<&str> {
        let storage = self.spec.boot_device.as_ref()?.storage.as_deref();
        storage.filter(|storage| !storage.is_empty())
    }
}

fn disk_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Its size in Gi, G, Ti or T; the template's where it is left out.",
        "type": "string",
        "allOf": [{"pattern": QUANTITY}, {"pattern": r"^\d+(T|G|Ti|Gi)$"}],
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": true,
    })
}
