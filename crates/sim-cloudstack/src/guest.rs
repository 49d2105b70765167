//! What happens in VMs, and what their virtual router tells them.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    estate::{Number, Vm},
    world::World,
};

/// Something that happened to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// A VM runs; its guest begins to boot.
    Started(GuestVm),
    /// A VM does not run any more.
    Stopped {
        /// The VM's name.
        name: String,
        /// Its id.
        id: String,
    },
}

/// What a guest finds itself in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestVm {
    /// The VM's name, which is its host name.
    pub name: String,
    /// Its id, which KVM shows to the guest as its system's UUID.
    pub id: String,
    /// The name of its zone.
    pub zone: String,
    /// Its first address; none in networks without addresses.
    pub address: Option<String>,
    /// What the virtual router tells it; none where the network has no such service.
    pub router: Option<Router>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_mib: u64,
}

/// What the virtual router of a network tells a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Router {
    /// The user data, decoded.
    pub user_data: Vec<u8>,
    /// The meta-data by their names.
    pub meta_data: BTreeMap<String, String>,
}

impl Router {
    /// Answers a guest's request, such as `/latest/user-data` or `/latest/meta-data/instance-id`.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        match path.strip_prefix("/latest/")? {
            "user-data" => Some(self.user_data.clone()),
            "meta-data" | "meta-data/" => {
                let names: Vec<&str> = self.meta_data.keys().map(String::as_str).collect();
                Some(names.join("\n").into_bytes())
            }
            path => {
                let name = path.strip_prefix("meta-data/")?;
                self.meta_data.get(name).map(|value| value.clone().into_bytes())
            }
        }
    }
}

impl World {
    /// Tells that a VM runs.
    pub(crate) fn tell_started(&mut self, vm: Number) {
        if let Some(guest) = self.estate.vms.get(&vm).map(|vm| self.guest(vm)) {
            self.guest_events.push(GuestEvent::Started(guest));
        }
    }

    /// Tells that a VM does not run any more.
    pub(crate) fn tell_stopped(&mut self, vm: Number) {
        if let Some(vm) = self.estate.vms.get(&vm) {
            let (name, id) = (vm.name.clone(), vm.id.clone());
            self.guest_events.push(GuestEvent::Stopped { name, id });
        }
    }

    /// What a guest finds.
    pub(crate) fn guest(&self, vm: &Vm) -> GuestVm {
        let zone = self.estate.zones[&vm.zone].facts.name.clone();
        let first = vm.nics.first();
        let address = first.and_then(|nic| self.estate.address(nic));
        let served = first.is_some_and(|nic| self.estate.networks[&nic.network].facts.user_data);
        let router = served.then(|| self.router(vm, &zone, address.as_deref()));
        let (name, id) = (vm.name.clone(), vm.id.clone());
        GuestVm { name, id, zone, address, router, cpus: vm.cpus, memory_mib: vm.memory_mib }
    }

    fn router(&self, vm: &Vm, zone: &str, address: Option<&str>) -> Router {
        let offering = &self.estate.service_offerings[&vm.offering].facts.name;
        let mut meta_data = BTreeMap::from(
            [
                ("instance-id", vm.id.as_str()),
                ("vm-id", &vm.id),
                ("local-hostname", &vm.name),
                ("availability-zone", zone),
                ("service-offering", offering),
                ("local-ipv4", address.unwrap_or_default()),
                ("public-keys", &vm.key_pairs.join("\n")),
                ("cloud-identifier", "CloudStack-{simulated}"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        meta_data.extend(vm.user_data_details.clone());
        // Refused at deployment where it is no base64.
        let user_data = BASE64_STANDARD.decode(&vm.user_data).unwrap_or_default();
        Router { user_data, meta_data }
    }
}
