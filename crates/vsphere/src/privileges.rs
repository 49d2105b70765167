//! The privileges that the account needs, and the objects where it needs them.

use std::collections::BTreeSet;

/// An object that something is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The folder that instances are made in.
    Folder,
    /// The template that they are cloned from.
    Template,
    /// A virtual machine that is no template and that they are cloned from.
    Source,
    /// The resource pool that they run in.
    Pool,
    /// A datastore of theirs.
    Datastore,
    /// A network of theirs.
    Network,
    /// The folder of instances whose hardware is upgraded.
    UpgradeFolder,
    /// The cluster whose groups or modules they are put into.
    GroupsCluster,
    /// The folder of instances that have devices of their hosts.
    DevicesFolder,
}

impl Role {
    /// What the account needs there.
    pub(crate) fn needed(self) -> &'static [&'static str] {
        match self {
            Self::Folder => &[
                "VirtualMachine.Inventory.CreateFromExisting",
                "VirtualMachine.Inventory.Delete",
                "VirtualMachine.Config.AddNewDisk",
                "VirtualMachine.Config.AddRemoveDevice",
                "VirtualMachine.Config.AdvancedConfig",
                "VirtualMachine.Config.Annotation",
                "VirtualMachine.Config.CPUCount",
                "VirtualMachine.Config.DiskExtend",
                "VirtualMachine.Config.EditDevice",
                "VirtualMachine.Config.Memory",
                "VirtualMachine.Config.RemoveDisk",
                "VirtualMachine.Config.Rename",
                "VirtualMachine.Config.Resource",
                "VirtualMachine.Config.Settings",
                "VirtualMachine.Interact.PowerOff",
                "VirtualMachine.Interact.PowerOn",
                // Appliances' settings are taken off clones.
                "VApp.ApplicationConfig",
            ],
            Self::Template => &["VirtualMachine.Provisioning.DeployTemplate"],
            Self::Source => &["VirtualMachine.Provisioning.Clone"],
            Self::Pool => &["Resource.AssignVMToPool"],
            Self::Datastore => &["Datastore.AllocateSpace"],
            Self::Network => &["Network.Assign"],
            Self::GroupsCluster => &["Host.Inventory.EditCluster"],
            Self::DevicesFolder => &["VirtualMachine.Config.RawDevice"],
            Self::UpgradeFolder => &["VirtualMachine.Config.UpgradeVirtualHardware"],
        }
    }

    /// The needed privileges that the account lacks.
    pub(crate) fn missing(self, had: &BTreeSet<String>) -> Vec<&'static str> {
        self.needed().iter().filter(|id| !had.contains(**id)).copied().collect()
    }
}

/// What is said of privileges that are missing.
pub(crate) fn message(missing: &[(&str, Vec<&'static str>)]) -> Option<String> {
    let parts: Vec<String> = missing
        .iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(object, ids)| format!("{} on {object}", ids.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| {
        format!("the account lacks privileges: {}; add them to its role", parts.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::objections;

    #[test]
    fn what_is_missing_is_named_with_its_object() {
        let had: BTreeSet<String> = [].into();
        let network = Role::Network.missing(&had);
        let all: BTreeSet<String> = Role::Pool.needed().iter().map(|id| (*id).to_owned()).collect();
        let pool = Role::Pool.missing(&all);
        assert_eq!(
            message(&[("workers", network), ("Cluster01", pool.clone())]).as_deref(),
            Some("the account lacks privileges: Network.Assign on workers; add them to its role")
        );
        assert_eq!(message(&[("Cluster01", pool)]), None);
    }

    #[test]
    fn the_page_about_the_role_has_all_that_is_needed() {
        let page = include_str!("../../../docs/vsphere-start.md");
        let roles = [
            Role::Folder,
            Role::Template,
            Role::Source,
            Role::Pool,
            Role::Datastore,
            Role::Network,
            Role::GroupsCluster,
            Role::DevicesFolder,
            Role::UpgradeFolder,
        ];
        let of_tags = [
            objections::ATTACH_TAG,
            objections::CREATE_TAG,
            objections::CREATE_CATEGORY,
            objections::OBJECT_ATTACHABLE,
        ];
        let needed = roles.iter().flat_map(|role| role.needed());
        for id in needed.copied().chain(of_tags) {
            assert!(page.contains(&format!("`{id}`")), "docs/vsphere-start.md lacks {id}");
        }
    }

    #[test]
    fn a_template_is_deployed_and_an_instance_is_cloned() {
        assert_ne!(Role::Template.needed(), Role::Source.needed());
    }
}
