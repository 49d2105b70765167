//! What people and the world do to a cloud from outside, past its API.

use std::collections::BTreeMap;

use crate::{
    cloud::CloudStack,
    estate::{Kind, Number, VmState, limit::Resource},
    guest::{GuestVm, Router},
    inventory::Behaviour,
    world::{Due, World},
};

/// There is no such object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} {name:?}")]
pub struct NoSuchObject {
    kind: &'static str,
    name: String,
}

/// A VM as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmPicture {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: VmState,
    /// The name of its zone.
    pub zone: String,
    /// The name of its host.
    pub host: Option<String>,
    /// Its details.
    pub details: BTreeMap<String, String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// What its guest finds.
    pub guest: GuestVm,
}

impl CloudStack {
    /// The id of the first object of a kind that has a name. Kinds are called as in answers, such
    /// as `zone` or `serviceoffering`; VMs are `vm`.
    pub fn id(&self, kind: &'static str, name: &str) -> Result<String, NoSuchObject> {
        let known = Kind::read(kind);
        let found = self.look(|world| {
            let kind = known?;
            let number = world.estate.named(kind, name)?;
            world.estate.id(kind, number).map(str::to_owned)
        });
        found.ok_or_else(|| NoSuchObject { kind, name: name.to_owned() })
    }

    /// All VMs that are not expunged, oldest first.
    pub fn vms(&self) -> Vec<VmPicture> {
        self.look(|world| {
            let vms = world.estate.vms.iter();
            vms.map(|(number, _)| world.picture(*number)).collect()
        })
    }

    /// What the virtual router answers to the guest that has an address.
    pub fn router(&self, address: &str, path: &str) -> Option<Vec<u8>> {
        let router: Option<Router> = self.look(|world| {
            let (vm, _) = world.estate.vm_at(address)?;
            world.guest(vm).router
        });
        router?.get(path)
    }

    /// Changes how the server behaves.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.look(|world| change(&mut world.behaviour));
    }

    /// Puts a VM into a state, as its host or an administrator may.
    pub fn set_state(&self, name: &str, state: VmState) -> Result<(), NoSuchObject> {
        self.on(Kind::Vm, "VM", name, |world, vm| {
            let ran = world.estate.vms[&vm].state == VmState::Running;
            world.change_vm(vm, |vm| {
                vm.state = state;
                if !matches!(state, VmState::Running | VmState::Migrating | VmState::Unknown) {
                    vm.host = None;
                }
            });
            if ran && state != VmState::Running {
                world.tell_stopped(vm);
            }
        })
    }

    /// Removes a VM for good.
    pub fn expunge(&self, name: &str) -> Result<(), NoSuchObject> {
        self.on(Kind::Vm, "VM", name, World::expunge)
    }

    /// Breaks or mends the connection to a host. VMs there keep running.
    pub fn set_host(&self, name: &str, connected: bool) -> Result<(), NoSuchObject> {
        self.on(Kind::Host, "host", name, |world, host| {
            if let Some(host) = world.estate.hosts.get_mut(&host) {
                host.connected = connected;
            }
        })
    }

    /// Changes how many addresses a network has for guests.
    pub fn set_addresses(&self, network: &str, addresses: u32) -> Result<(), NoSuchObject> {
        self.on(Kind::Network, "network", network, |world, network| {
            if let Some(network) = world.estate.networks.get_mut(&network) {
                network.facts.addresses = addresses;
            }
        })
    }

    /// Sets the limit of an account, or takes it away.
    pub fn set_limit(
        &self,
        account: &str,
        resource: Resource,
        limit: Option<u64>,
    ) -> Result<(), NoSuchObject> {
        self.on(Kind::Account, "account", account, |world, account| {
            let owner = crate::estate::Owner::Account(account);
            if let Some(limits) = world.estate.limits_mut(owner) {
                match limit {
                    Some(limit) => limits.insert(resource, limit),
                    None => limits.remove(&resource),
                };
            }
        })
    }

    /// Enables or disables a zone for new VMs.
    pub fn set_zone(&self, name: &str, enabled: bool) -> Result<(), NoSuchObject> {
        self.on(Kind::Zone, "zone", name, |world, zone| {
            if let Some(zone) = world.estate.zones.get_mut(&zone) {
                zone.facts.disabled = !enabled;
            }
        })
    }

    /// Makes an offering active or inactive for new VMs.
    pub fn set_offering(&self, name: &str, active: bool) -> Result<(), NoSuchObject> {
        self.on(Kind::ServiceOffering, "service offering", name, |world, offering| {
            if let Some(offering) = world.estate.service_offerings.get_mut(&offering) {
                offering.facts.inactive = !active;
            }
        })
    }

    /// Accepts or refuses the key of an account.
    pub fn set_account(&self, name: &str, enabled: bool) -> Result<(), NoSuchObject> {
        self.on(Kind::Account, "account", name, |world, account| {
            if let Some(account) = world.estate.accounts.get_mut(&account) {
                account.disabled = !enabled;
            }
        })
    }

    /// Gives an account another key.
    pub fn rotate_key(&self, account: &str, key: &str, secret: &str) -> Result<(), NoSuchObject> {
        self.on(Kind::Account, "account", account, |world, account| {
            if let Some(account) = world.estate.accounts.get_mut(&account) {
                key.clone_into(&mut account.api_key);
                secret.clone_into(&mut account.secret_key);
            }
        })
    }

    /// Restarts the server: its jobs are interrupted, and hosts are away until they have connected
    /// again.
    pub fn restart(&self) {
        self.look(|world| {
            world.interrupt_jobs();
            world.estate.hosts.values_mut().for_each(|host| host.connected = false);
            world.agenda.plan(world.behaviour.durations.reconnect, Due::HostsReconnect);
        });
    }

    fn on(
        &self,
        kind: Kind,
        word: &'static str,
        name: &str,
        change: impl FnOnce(&mut World, Number),
    ) -> Result<(), NoSuchObject> {
        let missing = || NoSuchObject { kind: word, name: name.to_owned() };
        self.look(|world| {
            let number = world.estate.named(kind, name).ok_or_else(missing)?;
            change(world, number);
            Ok(())
        })
    }
}

impl World {
    fn picture(&self, number: Number) -> VmPicture {
        let vm = &self.estate.vms[&number];
        let tags = self.estate.tags.of(Kind::Vm, number);
        let host = vm.host.and_then(|host| self.estate.hosts.get(&host));
        VmPicture {
            name: vm.name.clone(),
            id: vm.id.clone(),
            state: vm.state,
            zone: self.estate.zones[&vm.zone].facts.name.clone(),
            host: host.map(|host| host.facts.name.clone()),
            details: vm.details.clone(),
            tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            guest: self.guest(vm),
        }
    }
}
