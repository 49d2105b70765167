//! Commands of the provider, each made of what it is about.

use std::collections::BTreeMap;

use joiner_cloud::bootstrap::Secret;

use super::{Api, Command, Scope, api};

/// The kind of objects that tags are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagged {
    /// An instance.
    Instance,
    /// A volume.
    Volume,
}

impl Tagged {
    fn word(self) -> &'static str {
        match self {
            Self::Instance => "UserVm",
            Self::Volume => "Volume",
        }
    }
}

/// An instance that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deploy {
    /// The zone.
    pub zone_id: String,
    /// The service offering.
    pub service_offering_id: String,
    /// The template.
    pub template_id: String,
    /// Its networks, the default one first.
    pub network_ids: Vec<String>,
    /// The name of the instance and its guest.
    pub name: String,
    /// The id that the job gets, so that it can be found again.
    pub job_id: String,
    /// What is written into it: marks, and the size where the offering leaves it open.
    pub details: BTreeMap<String, String>,
    /// What its guest is given, in base64.
    pub user_data: Option<Secret<String>>,
    /// Size of the root disk in GiB, where the offering and the template do not decide.
    pub root_disk_gib: Option<i64>,
    /// The name of an SSH key pair.
    pub key_pair: Option<String>,
    /// The offering of a data disk.
    pub disk_offering_id: Option<String>,
    /// Size of the data disk in GiB, where its offering leaves it open.
    pub disk_gib: Option<i64>,
    /// The offering of the root disk, instead of the service offering's.
    pub override_disk_offering_id: Option<String>,
    /// Affinity groups.
    pub affinity_group_ids: Vec<String>,
    /// Security groups.
    pub security_group_ids: Vec<String>,
    /// The instance group.
    pub group: Option<String>,
    /// `UEFI` or `BIOS`.
    pub boot_type: Option<String>,
    /// `LEGACY` or `SECURE`.
    pub boot_mode: Option<String>,
    /// The hypervisor, where the template has none.
    pub hypervisor: Option<String>,
    /// The project, instead of the client's.
    pub project_id: Option<String>,
}

impl Deploy {
    /// The command.
    pub fn command(&self) -> Command {
        Command::new(api::DEPLOY_VIRTUAL_MACHINE)
            .with("zoneid", self.zone_id.as_str())
            .with("serviceofferingid", self.service_offering_id.as_str())
            .with("templateid", self.template_id.as_str())
            .with_list("networkids", &self.network_ids)
            .with("name", self.name.as_str())
            .with("displayname", self.name.as_str())
            .with("customjobid", self.job_id.as_str())
            .with_fields("details", &self.details)
            .with_some("userdata", self.user_data.as_ref().map(Secret::reveal))
            .with_some("rootdisksize", self.root_disk_gib)
            .with_some("keypair", self.key_pair.as_deref())
            .with_some("diskofferingid", self.disk_offering_id.as_deref())
            .with_some("size", self.disk_gib)
            .with_some("overridediskofferingid", self.override_disk_offering_id.as_deref())
            .with_list("affinitygroupids", &self.affinity_group_ids)
            .with_list("securitygroupids", &self.security_group_ids)
            .with_some("group", self.group.as_deref())
            .with_some("boottype", self.boot_type.as_deref())
            .with_some("bootmode", self.boot_mode.as_deref())
            .with_some("hypervisor", self.hypervisor.as_deref())
            .with_some("projectid", self.project_id.as_deref())
            .with("dynamicscalingenabled", "false")
    }
}

/// A list of what instances of a zone can be made of.
pub fn in_zone(list: Api, zone_id: &str) -> Command {
    Command::new(list).with("zoneid", zone_id)
}

/// The networks that guests of a zone can be in.
pub fn guest_networks(zone_id: &str) -> Command {
    in_zone(api::LIST_NETWORKS, zone_id).with("traffictype", "Guest")
}

/// The templates of a zone that instances can be made of: those of others that are public, own ones
/// (`executable`), and those that were shared with the account (`sharedexecutable`).
pub fn templates(zone_id: &str, filter: &str) -> Command {
    in_zone(api::LIST_TEMPLATES, zone_id).with("templatefilter", filter)
}

/// The number of the resource that is the number of instances.
const INSTANCES: &str = "0";
/// The word for every project that the key may see.
const ALL_PROJECTS: &str = "-1";
/// What instances of a list are told with: enough for their marks, and no statistics.
const DETAILS: &str = "min,tmpl,servoff,nics";

/// The instance of an id.
pub fn instance(id: &str) -> Command {
    Command::new(api::LIST_VIRTUAL_MACHINES).with("id", id).with("details", DETAILS)
}

/// The instances of a name in all zones. Old servers answer with names that contain it, too.
pub fn instances_named(name: &str) -> Command {
    Command::new(api::LIST_VIRTUAL_MACHINES).with("name", name).with("details", DETAILS)
}

/// The instances whose name contains a text; all where the text is empty.
pub fn instances_containing(text: &str) -> Command {
    Command::new(api::LIST_VIRTUAL_MACHINES).with("keyword", text).with("details", DETAILS)
}

/// The instance of an id, wherever the key may see it: in every account and every project.
pub fn instance_anywhere(id: &str) -> Command {
    instance(id).with("listall", "true").with("projectid", ALL_PROJECTS)
}

/// The instances that have one tag. Servers take several tags for alternatives.
pub fn instances_tagged(key: &str, value: &str) -> Command {
    let tag = [(key.to_owned(), value.to_owned())].into();
    Command::new(api::LIST_VIRTUAL_MACHINES).with_pairs("tags", &tag).with("details", DETAILS)
}

/// Has an instance removed. Data disks that are not named are detached and kept.
pub fn destroy(id: &str, expunge: bool, volume_ids: &[String]) -> Command {
    Command::new(api::DESTROY_VIRTUAL_MACHINE)
        .with("id", id)
        .with("expunge", expunge.to_string())
        .with_list("volumeids", volume_ids)
}

/// Adds tags to an object: all of them, or none where one is there already.
pub fn create_tags(of: Tagged, id: &str, tags: &BTreeMap<String, String>) -> Command {
    Command::new(api::CREATE_TAGS)
        .with("resourcetype", of.word())
        .with("resourceids", id)
        .with_pairs("tags", tags)
}

/// The data disks of an instance.
pub fn data_disks(instance_id: &str) -> Command {
    Command::new(api::LIST_VOLUMES).with("virtualmachineid", instance_id).with("type", "DATADISK")
}

/// Has an instance started.
pub fn start(id: &str) -> Command {
    Command::new(api::START_VIRTUAL_MACHINE).with("id", id)
}

/// Has an instance stopped without asking its guest.
pub fn force_stop(id: &str) -> Command {
    Command::new(api::STOP_VIRTUAL_MACHINE).with("id", id).with("forced", "true")
}

/// The limit on the number of instances of the scope's owner. Its row says who that is.
pub fn own_limit(scope: &Scope) -> Command {
    let (account, domain) =
        scope.account.as_ref().map(|(account, domain)| (account, domain)).unzip();
    Command::new(api::LIST_RESOURCE_LIMITS)
        .with("resourcetype", INSTANCES)
        .with_some("projectid", scope.project.as_deref())
        .with_some("account", account)
        .with_some("domainid", domain)
}
