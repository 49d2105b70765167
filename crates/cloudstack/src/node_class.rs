//! The API object: what a user wrote.

pub(crate) mod crd;
pub(crate) mod hash;
mod schema;
mod status;
mod validate;

use std::collections::BTreeMap;

use joiner_cloud::spec::{self, NotANodeClass, kubelet::Kubelet};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::status::STATUS_MAX;
pub use self::status::{ResolvedStatus, StatusGpu, StatusNetwork, StatusOffering, StatusTemplate};
use crate::NODE_CLASS_KIND;

/// A `CloudStackNodeClass`. Every field may be absent or null.
#[derive(Debug, Clone)]
pub struct NodeClass {
    name: String,
    /// What the user wants.
    pub spec: Spec,
    /// What was found out about it.
    pub status: ResolvedStatus,
    hash: String,
}

#[derive(Debug, Deserialize)]
struct Object {
    spec: Option<Spec>,
    status: Option<ResolvedStatus>,
}

/// What instances are made of, where, and how they join.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Name or id of the zone that instances are made in.
    pub zone: Option<String>,
    /// Names or ids of further zones. Networks, templates and offerings are looked for in each.
    #[schemars(extend("maxItems" = 30))]
    pub zones: Option<Vec<String>>,
    /// Networks, by terms of which one has to match. Instances are in the first of them.
    #[schemars(schema_with = "schema::network_terms")]
    pub network_selector_terms: Option<Vec<SelectorTerm>>,
    /// Service offerings, by terms of which one has to match.
    #[schemars(schema_with = "schema::service_offering_terms")]
    pub service_offering_selector_terms: Option<Vec<SelectorTerm>>,
    /// Templates, by terms of which one has to match. Of several the first of the right architecture
    /// is used.
    #[schemars(schema_with = "schema::template_terms")]
    pub template_selector_terms: Option<Vec<TemplateSelectorTerm>>,
    /// What guests are given: cloud-init's text, plain.
    pub user_data: Option<String>,
    /// How instances join the cluster. Without it, userData is sent as it is.
    pub bootstrap: Option<Bootstrap>,
    /// How userData is sent: raw, gzip, or auto, which compresses what would be too long.
    pub user_data_format: Option<String>,
    /// CloudStack tags that each instance gets.
    #[schemars(schema_with = "schema::instance_tags")]
    pub tags: Option<BTreeMap<String, String>>,
    /// Size of the root disk in GiB, where the service offering does not decide it.
    #[schemars(extend("format" = "int64", "minimum" = 1, "maximum" = 1000))]
    pub root_disk_size: Option<i64>,
    /// Name or id of the disk offering of a data disk.
    pub disk_offering: Option<String>,
    /// Size of the data disk in GiB, where its offering leaves it open.
    #[serde(rename = "diskSizeGiB")]
    #[schemars(extend("format" = "int64"))]
    pub disk_size_gib: Option<i64>,
    /// Name or id of a disk offering for the root disk, instead of the service offering's.
    pub override_disk_offering: Option<String>,
    /// Name of an SSH key pair.
    pub ssh_key_pair: Option<String>,
    /// Id of the project that owns the instances, instead of the controller's.
    #[serde(rename = "projectID")]
    pub project_id: Option<String>,
    /// Affinity groups of each instance.
    #[schemars(extend("maxItems" = 30))]
    pub affinity_groups: Option<Vec<GroupRef>>,
    /// host or soft-host: one affinity group for each pool keeps its instances on different hosts,
    /// always or where it can.
    pub anti_affinity: Option<String>,
    /// Security groups of each instance.
    #[schemars(extend("maxItems" = 30))]
    pub security_groups: Option<Vec<GroupRef>>,
    /// Further networks: a network card in the first network that each term finds.
    #[schemars(schema_with = "schema::additional_network_terms")]
    pub additional_networks: Option<Vec<SelectorTerm>>,
    /// UEFI or BIOS.
    pub boot_type: Option<String>,
    /// LEGACY or SECURE.
    pub boot_mode: Option<String>,
    /// Further details of each instance, by key.
    pub details: Option<BTreeMap<String, String>>,
    /// Sizes of instances of customized service offerings.
    #[schemars(extend("maxItems" = 100))]
    pub custom_offering_shapes: Option<Vec<CustomShape>>,
    /// What the kubelet is told, in the words of its own configuration.
    pub kubelet: Option<Kubelet>,
    /// The instance group of each instance.
    pub instance_group: Option<String>,
}

/// Finds networks or service offerings. Every field that is written has to match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SelectorTerm {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its tags; of a service offering its details, or one of its hosttags or storagetags. The value
    /// * stands for any.
    #[schemars(schema_with = "schema::term_tags")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// Finds templates. Every field that is written has to match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateSelectorTerm {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its tags. The value * stands for any.
    #[schemars(schema_with = "schema::term_tags")]
    pub tags: Option<BTreeMap<String, String>>,
    /// Name or id of its operating system.
    pub os_type: Option<String>,
}

/// A group, by its id or its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupRef {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// A size of instances of a customized service offering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CustomShape {
    /// CPUs.
    #[schemars(extend("format" = "int64"))]
    pub cpu: i64,
    /// Memory in MiB.
    #[serde(rename = "memoryMiB")]
    #[schemars(extend("format" = "int64"))]
    pub memory_mib: i64,
    /// MHz of each CPU, where the service offering leaves it open.
    #[serde(rename = "cpuSpeedMHz")]
    #[schemars(extend("format" = "int64"))]
    pub cpu_mhz: Option<i64>,
}

/// How instances join the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// The distribution: kubeadm, rke2, rke2airgapped, k3s, talos or none. It is found out where
    /// nothing is written.
    pub distro: Option<String>,
    /// Address of the API server; the cluster's own where nothing is written.
    pub endpoint: Option<String>,
    /// The Secret with the token that instances join with. Each instance gets its own where nothing
    /// is written, as far as the distribution allows it.
    pub token_secret_ref: Option<TokenSecretRef>,
    /// merge adds userData to what is generated, replace uses it alone.
    pub mode: Option<String>,
}

/// A key of a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenSecretRef {
    /// The Secret's name.
    pub name: String,
    /// Its namespace; the controller's where nothing is written.
    pub namespace: Option<String>,
    /// The key; token where nothing is written.
    pub key: Option<String>,
}

/// What a term of a selector asks for, whatever it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'t> {
    pub(crate) id: Option<&'t str>,
    pub(crate) name: Option<&'t str>,
    pub(crate) tags: Option<&'t BTreeMap<String, String>>,
    pub(crate) os_type: Option<&'t str>,
}

impl Term<'_> {
    /// Whether it asks for nothing, and so finds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { id, name, tags, os_type } = self;
        id.is_none() && name.is_none() && os_type.is_none() && tags.is_none_or(BTreeMap::is_empty)
    }
}

/// A text that is written and not empty.
pub(crate) fn written(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

impl SelectorTerm {
    pub(crate) fn term(&self) -> Term<'_> {
        Term {
            id: written(self.id.as_ref()),
            name: written(self.name.as_ref()),
            tags: self.tags.as_ref(),
            os_type: None,
        }
    }
}

impl TemplateSelectorTerm {
    pub(crate) fn term(&self) -> Term<'_> {
        Term {
            id: written(self.id.as_ref()),
            name: written(self.name.as_ref()),
            tags: self.tags.as_ref(),
            os_type: written(self.os_type.as_ref()),
        }
    }
}

impl NodeClass {
    /// Reads an object; what its schema refuses is an error.
    pub fn read(object: &Value) -> Result<Self, NotANodeClass> {
        let read: Object = spec::read(NODE_CLASS_KIND, object)?;
        Ok(Self {
            name: spec::name_of(object).to_owned(),
            spec: read.spec.unwrap_or_default(),
            status: read.status.unwrap_or_default(),
            hash: hash::hash(&object["spec"]),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of what its instances are made with.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The zones that it asks for, each by its name or its id, in order.
    pub fn zones(&self) -> Vec<&str> {
        let zones = self.spec.zones.iter().flatten();
        let mut asked: Vec<&str> = Vec::new();
        for zone in self.spec.zone.iter().chain(zones).map(|zone| zone.trim()) {
            if !zone.is_empty() && !asked.contains(&zone) {
                asked.push(zone);
            }
        }
        asked
    }
}
