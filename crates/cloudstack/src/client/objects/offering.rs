//! What instances are made of.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Tag, lenient, listed_by_id};

/// A service offering: a size of instances.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ServiceOffering {
    /// Its id.
    pub id: String,
    /// Its name. Several may have one.
    pub name: String,
    /// `Active` or `Inactive`.
    pub state: Option<String>,
    /// CPUs; none where each instance says it.
    #[serde(rename = "cpunumber", deserialize_with = "lenient::number")]
    pub cpus: Option<i64>,
    /// MHz of each CPU; none where each instance says it.
    #[serde(rename = "cpuspeed", deserialize_with = "lenient::number")]
    pub cpu_mhz: Option<i64>,
    /// Memory in MiB; none where each instance says it.
    #[serde(rename = "memory", deserialize_with = "lenient::number")]
    pub memory_mib: Option<i64>,
    /// `shared` or `local`.
    #[serde(rename = "storagetype")]
    pub storage_type: Option<String>,
    /// Tags that storage has to have, with commas between them.
    #[serde(rename = "storagetags")]
    pub storage_tags: Option<String>,
    /// Tags that hosts have to have, with commas between them.
    #[serde(rename = "hosttags")]
    pub host_tags: Option<String>,
    /// Domains that have it, with commas between them; none for all.
    #[serde(rename = "domainid")]
    pub domain_ids: Option<String>,
    /// Zones that have it, with commas between them; none for all.
    #[serde(rename = "zoneid")]
    pub zone_ids: Option<String>,
    /// Whether it is for instances of CloudStack's own.
    #[serde(rename = "issystem", deserialize_with = "lenient::flag")]
    pub is_system: bool,
    /// The network's rate in Mbit/s.
    #[serde(rename = "networkrate", deserialize_with = "lenient::number")]
    pub network_rate: Option<i64>,
    /// What operators wrote into it.
    #[serde(rename = "serviceofferingdetails", deserialize_with = "lenient::texts")]
    pub details: BTreeMap<String, String>,
    /// Whether each instance says its own size.
    #[serde(rename = "iscustomized", deserialize_with = "lenient::flag")]
    pub is_customized: bool,
    /// Size of the root disk in GiB, which wins over what an instance asks for; 0 for none.
    #[serde(rename = "rootdisksize", deserialize_with = "lenient::number")]
    pub root_disk_gib: Option<i64>,
    /// Whether the root disk is made anew at every start.
    #[serde(rename = "isvolatile", deserialize_with = "lenient::flag")]
    pub is_volatile: bool,
    /// Whether its disk offering cannot be replaced by another.
    #[serde(rename = "diskofferingstrictness", deserialize_with = "lenient::flag")]
    pub has_strict_disk: bool,
    /// Days after which instances end.
    #[serde(rename = "leaseduration", deserialize_with = "lenient::number")]
    pub lease_days: Option<i64>,
    /// The graphics card.
    #[serde(rename = "gpucardname")]
    pub gpu_card: Option<String>,
    /// The share of a graphics card.
    #[serde(rename = "vgpuprofilename")]
    pub vgpu_profile: Option<String>,
    /// How many of them.
    #[serde(rename = "gpucount", deserialize_with = "lenient::number")]
    pub gpu_count: Option<i64>,
}

impl ServiceOffering {
    /// Whether it can be had in a zone.
    pub fn is_in_zone(&self, zone_id: &str) -> bool {
        is_listed(self.zone_ids.as_deref(), zone_id)
    }

    /// Whether a domain has it.
    pub fn is_in_domain(&self, domain_id: &str) -> bool {
        is_listed(self.domain_ids.as_deref(), domain_id)
    }
}

/// Whether an id is in a list with commas; nothing is listed where all are meant.
fn is_listed(ids: Option<&str>, id: &str) -> bool {
    let mut listed = ids.unwrap_or_default().split(',').map(str::trim).filter(|id| !id.is_empty());
    let Some(first) = listed.next() else { return true };
    first.eq_ignore_ascii_case(id) || listed.any(|listed| listed.eq_ignore_ascii_case(id))
}

/// A disk offering: a kind of volumes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct DiskOffering {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Size in GiB; 0 where each volume says it.
    #[serde(rename = "disksize", deserialize_with = "lenient::number")]
    pub size_gib: Option<i64>,
    /// Whether each volume says its own size.
    #[serde(rename = "iscustomized", deserialize_with = "lenient::flag")]
    pub is_customized: bool,
    /// `Active` or `Inactive`.
    pub state: Option<String>,
    /// Zones that have it, with commas between them; none for all.
    #[serde(rename = "zoneid")]
    pub zone_ids: Option<String>,
}

impl DiskOffering {
    /// Whether it can be had in a zone.
    pub fn is_in_zone(&self, zone_id: &str) -> bool {
        is_listed(self.zone_ids.as_deref(), zone_id)
    }
}

/// A template in one zone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Template {
    /// Its id, the same in every zone.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The zone.
    #[serde(rename = "zoneid")]
    pub zone_id: String,
    /// Whether instances can be made of it there.
    #[serde(rename = "isready", deserialize_with = "lenient::flag")]
    pub is_ready: bool,
    /// How its download is; told to its owner only.
    pub status: Option<String>,
    /// When it was made, as CloudStack writes times.
    pub created: String,
    /// The id of its operating system.
    #[serde(rename = "ostypeid")]
    pub os_type_id: Option<String>,
    /// Its operating system.
    #[serde(rename = "ostypename")]
    pub os_type_name: Option<String>,
    /// Its disk's size in bytes.
    #[serde(deserialize_with = "lenient::number")]
    pub size: Option<i64>,
    /// `USER`, `VNF`…
    #[serde(rename = "templatetype")]
    pub template_type: Option<String>,
    /// The hypervisor that it is for.
    pub hypervisor: Option<String>,
    /// Whether its guests get a password.
    #[serde(rename = "passwordenabled", deserialize_with = "lenient::flag")]
    pub has_password: bool,
    /// Its architecture; none for that of all before there were several.
    pub arch: Option<String>,
    /// What becomes of the user data of instances where the template brings its own.
    #[serde(rename = "userdatapolicy")]
    pub user_data_policy: Option<String>,
    /// Its tags.
    #[serde(deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
}

impl crate::client::Listed for Template {
    const OBJECT: &'static str = "template";

    /// A template has a row for each zone.
    fn identity(&self) -> String {
        format!("{}/{}", self.id, self.zone_id)
    }
}

listed_by_id! {
    ServiceOffering => "serviceoffering",
    DiskOffering => "diskoffering",
}
