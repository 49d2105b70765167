//! The commands that are used, with what they take.

use super::command::{Api, Scoped};

/// Zones.
pub const LIST_ZONES: Api = Api::new("listZones", Scoped::No);
/// Service offerings.
pub const LIST_SERVICE_OFFERINGS: Api = Api::new("listServiceOfferings", Scoped::Project);
/// Disk offerings.
pub const LIST_DISK_OFFERINGS: Api = Api::new("listDiskOfferings", Scoped::Project);
/// Templates, one row for each zone.
pub const LIST_TEMPLATES: Api = Api::new("listTemplates", Scoped::Project);
/// Networks.
pub const LIST_NETWORKS: Api = Api::new("listNetworks", Scoped::Project);
/// Instances.
pub const LIST_VIRTUAL_MACHINES: Api = Api::new("listVirtualMachines", Scoped::Project);
/// Volumes.
pub const LIST_VOLUMES: Api = Api::new("listVolumes", Scoped::Project);
/// SSH key pairs.
pub const LIST_SSH_KEY_PAIRS: Api = Api::new("listSSHKeyPairs", Scoped::Project);
/// Affinity groups.
pub const LIST_AFFINITY_GROUPS: Api = Api::new("listAffinityGroups", Scoped::Project);
/// Security groups.
pub const LIST_SECURITY_GROUPS: Api = Api::new("listSecurityGroups", Scoped::Project);
/// Projects.
pub const LIST_PROJECTS: Api = Api::new("listProjects", Scoped::Account);
/// Limits of an account or a project. The command says whose, so that an administrator's key does not
/// list those of all.
pub const LIST_RESOURCE_LIMITS: Api = Api::new("listResourceLimits", Scoped::No);
/// Commands that the key's role has.
pub const LIST_APIS: Api = Api::new("listApis", Scoped::No);
/// What the server can do.
pub const LIST_CAPABILITIES: Api = Api::new("listCapabilities", Scoped::No);
/// What became of a job.
pub const QUERY_ASYNC_JOB_RESULT: Api = Api::new("queryAsyncJobResult", Scoped::No);
/// Makes an instance.
pub const DEPLOY_VIRTUAL_MACHINE: Api = Api::new("deployVirtualMachine", Scoped::Project).slow();
/// Starts an instance.
pub const START_VIRTUAL_MACHINE: Api = Api::new("startVirtualMachine", Scoped::No);
/// Stops an instance.
pub const STOP_VIRTUAL_MACHINE: Api = Api::new("stopVirtualMachine", Scoped::No);
/// Removes an instance.
pub const DESTROY_VIRTUAL_MACHINE: Api = Api::new("destroyVirtualMachine", Scoped::No);
/// Removes what is left of a removed instance.
pub const EXPUNGE_VIRTUAL_MACHINE: Api = Api::new("expungeVirtualMachine", Scoped::No);
/// Adds tags to objects.
pub const CREATE_TAGS: Api = Api::new("createTags", Scoped::No);
/// Removes tags from objects.
pub const DELETE_TAGS: Api = Api::new("deleteTags", Scoped::No);
/// Removes a volume that is attached to nothing.
pub const DELETE_VOLUME: Api = Api::new("deleteVolume", Scoped::No);
/// Makes an affinity group.
pub const CREATE_AFFINITY_GROUP: Api = Api::new("createAffinityGroup", Scoped::Project);
/// Removes an affinity group.
pub const DELETE_AFFINITY_GROUP: Api = Api::new("deleteAffinityGroup", Scoped::Project);

/// The commands without which the provider cannot work; the role of its key has to have them.
pub const NEEDED: [Api; 17] = [
    LIST_ZONES,
    LIST_SERVICE_OFFERINGS,
    LIST_DISK_OFFERINGS,
    LIST_TEMPLATES,
    LIST_NETWORKS,
    LIST_VIRTUAL_MACHINES,
    LIST_VOLUMES,
    LIST_CAPABILITIES,
    LIST_SSH_KEY_PAIRS,
    LIST_AFFINITY_GROUPS,
    LIST_SECURITY_GROUPS,
    QUERY_ASYNC_JOB_RESULT,
    DEPLOY_VIRTUAL_MACHINE,
    START_VIRTUAL_MACHINE,
    STOP_VIRTUAL_MACHINE,
    DESTROY_VIRTUAL_MACHINE,
    CREATE_TAGS,
];
