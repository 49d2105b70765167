//! Instances, and what belongs to them.

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Formatter},
};

use serde::Deserialize;

use super::{lenient, listed_by_id};

/// An instance.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct VirtualMachine {
    /// Its id, a UUID.
    pub id: String,
    /// Its name, which is its guest's host name.
    pub name: String,
    /// The name for people.
    #[serde(rename = "displayname")]
    pub display_name: Option<String>,
    /// `Running`, `Stopped`, `Error`…
    pub state: String,
    /// The account that owns it.
    pub account: Option<String>,
    /// The project that owns it.
    #[serde(rename = "projectid")]
    pub project_id: Option<String>,
    /// When it was made, as CloudStack writes times.
    pub created: Option<String>,
    /// Its zone.
    #[serde(rename = "zoneid")]
    pub zone_id: String,
    /// The zone's name.
    #[serde(rename = "zonename")]
    pub zone_name: Option<String>,
    /// Its template.
    #[serde(rename = "templateid")]
    pub template_id: Option<String>,
    /// The template's name.
    #[serde(rename = "templatename")]
    pub template_name: Option<String>,
    /// Its service offering.
    #[serde(rename = "serviceofferingid")]
    pub service_offering_id: Option<String>,
    /// The service offering's name.
    #[serde(rename = "serviceofferingname")]
    pub service_offering_name: Option<String>,
    /// CPUs.
    #[serde(rename = "cpunumber", deserialize_with = "lenient::number")]
    pub cpus: Option<i64>,
    /// Memory in MiB.
    #[serde(rename = "memory", deserialize_with = "lenient::number")]
    pub memory_mib: Option<i64>,
    /// The architecture of its template.
    pub arch: Option<String>,
    /// Its network cards.
    #[serde(rename = "nic", deserialize_with = "lenient::list")]
    pub nics: Vec<Nic>,
    /// Its tags.
    #[serde(deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
    /// What was written into it when it was made.
    #[serde(deserialize_with = "lenient::texts")]
    pub details: BTreeMap<String, String>,
    /// Whether it is protected from being removed.
    #[serde(rename = "deleteprotection", deserialize_with = "lenient::flag")]
    pub delete_protection: bool,
    /// The job that is at work on it.
    #[serde(rename = "jobid")]
    pub job: Option<String>,
    /// Its affinity groups.
    #[serde(rename = "affinitygroup", deserialize_with = "lenient::list")]
    pub affinity_groups: Vec<super::AffinityGroup>,
}

impl VirtualMachine {
    /// Its tags by key.
    pub fn tags(&self) -> BTreeMap<&str, &str> {
        self.tags.iter().map(|tag| (tag.key.as_str(), tag.value.as_str())).collect()
    }

    /// The card that its default route goes through.
    pub fn default_nic(&self) -> Option<&Nic> {
        self.nics.iter().find(|nic| nic.is_default)
    }
}

impl Debug for VirtualMachine {
    /// Without details, where people keep what they like.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualMachine")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Nic {
    /// Its id.
    pub id: String,
    /// Its network.
    #[serde(rename = "networkid")]
    pub network_id: String,
    /// The network's name.
    #[serde(rename = "networkname")]
    pub network_name: Option<String>,
    /// Its address.
    #[serde(rename = "ipaddress")]
    pub address: Option<String>,
    /// Its IPv6 address.
    #[serde(rename = "ip6address")]
    pub address6: Option<String>,
    /// Whether the default route goes through it.
    #[serde(rename = "isdefault", deserialize_with = "lenient::flag")]
    pub is_default: bool,
}

/// A tag of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Tag {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(deserialize_with = "null_as_empty")]
    pub value: String,
}

fn null_as_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `ROOT` or `DATADISK`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `Ready`, `Allocated`…
    pub state: String,
    /// Its size in bytes.
    #[serde(deserialize_with = "lenient::number")]
    pub size: Option<i64>,
    /// Its zone.
    #[serde(rename = "zoneid")]
    pub zone_id: Option<String>,
    /// The instance that it is attached to.
    #[serde(rename = "virtualmachineid")]
    pub instance_id: Option<String>,
    /// When it was made, as CloudStack writes times.
    pub created: Option<String>,
    /// Its tags.
    #[serde(deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
}

listed_by_id! {
    VirtualMachine => "virtualmachine",
    Volume => "volume",
}
