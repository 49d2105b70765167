//! Limits of accounts and projects, and what they use.

use std::collections::BTreeMap;

use super::{Estate, Owner, VmState};
use crate::refusal::{Refusal, code};

/// What limits are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// VMs.
    UserVm,
    /// Volumes.
    Volume,
    /// CPUs.
    Cpu,
    /// Memory, in MiB.
    Memory,
    /// Disk space, in GiB.
    PrimaryStorage,
    /// GPUs.
    Gpu,
}

/// Limits by resource; none where it may use as much as there is.
pub(crate) type Limits = BTreeMap<Resource, u64>;

impl Resource {
    /// All of them, in the order in which a deployment is checked.
    pub const ALL: [Self; 6] =
        [Self::UserVm, Self::Cpu, Self::Memory, Self::Gpu, Self::Volume, Self::PrimaryStorage];

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserVm => "user_vm",
            Self::Volume => "volume",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::PrimaryStorage => "primary_storage",
            Self::Gpu => "gpu",
        }
    }

    /// Its number in answers.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::UserVm => 0,
            Self::Volume => 2,
            Self::Cpu => 8,
            Self::Memory => 9,
            Self::PrimaryStorage => 10,
            Self::Gpu => 14,
        }
    }
}

impl Estate {
    /// How much of a resource an owner uses. VMs that are destroyed or failed count no more; a
    /// volume counts until it is gone.
    pub(crate) fn used(&self, owner: Owner, resource: Resource) -> u64 {
        let vms = self.vms.values().filter(|vm| {
            vm.owner == owner && !vm.state.is_destroyed() && vm.state != VmState::Error
        });
        let volumes = self.volumes.values().filter(|volume| volume.owner == owner);
        match resource {
            Resource::UserVm => vms.count() as u64,
            Resource::Cpu => vms.map(|vm| u64::from(vm.cpus)).sum(),
            Resource::Memory => vms.map(|vm| vm.memory_mib).sum(),
            Resource::Gpu => vms.map(|vm| self.gpus(vm.offering)).sum(),
            Resource::Volume => volumes.count() as u64,
            Resource::PrimaryStorage => volumes.map(|volume| volume.size_gib).sum(),
        }
    }

    pub(crate) fn gpus(&self, offering: u64) -> u64 {
        self.service_offerings.get(&offering).map_or(0, |offering| u64::from(offering.facts.gpus))
    }

    /// The limits of an owner.
    pub(crate) fn limits_mut(&mut self, owner: Owner) -> Option<&mut Limits> {
        match owner {
            Owner::Account(number) => {
                self.accounts.get_mut(&number).map(|account| &mut account.limits)
            }
            Owner::Project(number) => {
                self.projects.get_mut(&number).map(|project| &mut project.limits)
            }
        }
    }

    /// The limit of an owner for a resource, if there is one.
    pub(crate) fn limit(&self, owner: Owner, resource: Resource) -> Option<u64> {
        let limits = match owner {
            Owner::Account(number) => &self.accounts.get(&number)?.limits,
            Owner::Project(number) => &self.projects.get(&number)?.limits,
        };
        limits.get(&resource).copied()
    }

    /// Refuses what would pass a limit.
    pub(crate) fn within_limits(
        &self,
        owner: Owner,
        wanted: &[(Resource, u64)],
    ) -> Result<(), Refusal> {
        for (resource, amount) in wanted {
            let Some(limit) = self.limit(owner, *resource) else { continue };
            let used = self.used(owner, *resource);
            if *amount > 0 && used + amount > limit {
                let (whose, level) = match owner {
                    Owner::Account(number) => {
                        let account = &self.accounts[&number];
                        (format!("Account Name = {}", account.name), "Account")
                    }
                    Owner::Project(number) => {
                        (format!("Project Name = {}", self.projects[&number].name), "Project")
                    }
                };
                let name = resource.name();
                return Err(Refusal::plain(
                    code::ALLOCATION,
                    format!(
                        "Maximum amount of resources of Type = '{name}', tag = 'null' for {whose} \
                         is exceeded: {level} Resource Limit = {limit}, used = {used}, requested = \
                         {amount}."
                    ),
                ));
            }
        }
        Ok(())
    }
}
