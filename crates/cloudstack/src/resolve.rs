//! What a class's selectors mean: zones, networks, templates, offerings, groups and keys.
//!
//! [`resolve`] is a function of the class and of what was listed. What is missing is a condition
//! with its reason; a list that could not be read is unknown, and never empty.

mod conditions;
mod groups;
mod select;
mod status;
mod zone;

use joiner_cloud::class::ClassCondition;

pub use self::conditions::{NETWORKS_READY, OFFERINGS_READY, TEMPLATES_READY, ZONE_READY};
use crate::{
    NodeClass, ResolvedStatus,
    client::objects::{
        AffinityGroup, DiskOffering, Network, Project, SecurityGroup, ServiceOffering, SshKeyPair,
        Template, Zone,
    },
};

/// A list, or why it could not be read.
pub type Seen<T> = Result<Vec<T>, String>;

/// What was listed.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Zones.
    pub zones: Seen<Zone>,
    /// Guest networks of the zones.
    pub networks: Seen<Network>,
    /// Templates that instances can be made of, a row for each zone.
    pub templates: Seen<Template>,
    /// Service offerings of the zones.
    pub offerings: Seen<ServiceOffering>,
    /// Disk offerings.
    pub disk_offerings: Seen<DiskOffering>,
    /// SSH key pairs.
    pub key_pairs: Seen<SshKeyPair>,
    /// Affinity groups.
    pub affinity_groups: Seen<AffinityGroup>,
    /// Security groups.
    pub security_groups: Seen<SecurityGroup>,
    /// Projects.
    pub projects: Seen<Project>,
}

impl Default for Listed {
    /// Nothing was asked, so nothing is known.
    fn default() -> Self {
        fn unasked<T>() -> Seen<T> {
            Err("it was not asked for".to_owned())
        }
        Self {
            zones: unasked(),
            networks: unasked(),
            templates: unasked(),
            offerings: unasked(),
            disk_offerings: unasked(),
            key_pairs: unasked(),
            affinity_groups: unasked(),
            security_groups: unasked(),
            projects: unasked(),
        }
    }
}

/// What a class comes to.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// The zones that instances can be made in, in the class's order.
    pub zones: Vec<ZoneResolution>,
    /// The offering of the data disk.
    pub disk_offering: Option<DiskOffering>,
    /// The offering of the root disk, instead of the service offering's.
    pub override_disk_offering: Option<DiskOffering>,
    /// Ids of affinity groups.
    pub affinity_group_ids: Vec<String>,
    /// Ids of security groups.
    pub security_group_ids: Vec<String>,
    /// Aspects of the class's health.
    pub conditions: Vec<ClassCondition>,
    /// What its status says.
    pub status: ResolvedStatus,
    /// One sentence for each thing that the class's author may not expect.
    pub notes: Vec<String>,
}

/// What instances of one zone are made of. None of the lists but the last is empty.
#[derive(Debug, Clone, Default)]
pub struct ZoneResolution {
    /// The zone.
    pub zone: Zone,
    /// Its networks; the first one is the default.
    pub networks: Vec<Network>,
    /// Its templates; of each architecture the first one is used.
    pub templates: Vec<Template>,
    /// Its service offerings.
    pub offerings: Vec<ServiceOffering>,
    /// Further networks of each instance.
    pub additional_networks: Vec<Network>,
}

/// Finds what a class means among what was listed.
pub fn resolve(class: &NodeClass, listed: &Listed) -> Resolution {
    let mut resolution = Resolution::default();
    let zones = zone::asked(class, &listed.zones);
    let each = zone::each(class, listed, &zones);
    let groups = groups::find(class, listed);
    resolution.conditions = conditions::of(class, listed, &zones, &each, &groups);
    resolution.notes = class.ignored();
    resolution.zones = each.into_iter().filter_map(zone::Looked::usable).collect();
    resolution.disk_offering = groups.disk_offering;
    resolution.override_disk_offering = groups.override_disk_offering;
    resolution.affinity_group_ids = groups.affinity_group_ids;
    resolution.security_group_ids = groups.security_group_ids;
    resolution.status = status::of(&resolution);
    resolution
}

/// What a class came to when its status was written, for plans that see no cloud.
pub fn from_status(class: &NodeClass) -> Resolution {
    status::read(class)
}

/// Kubernetes' word for the architecture of a template; none for one that no node has.
pub fn arch_of(template: &Template) -> Option<&'static str> {
    match template.arch.as_deref().unwrap_or("x86_64") {
        "x86_64" | "amd64" => Some("amd64"),
        "aarch64" | "arm64" => Some("arm64"),
        "s390x" => Some("s390x"),
        _ => None,
    }
}
