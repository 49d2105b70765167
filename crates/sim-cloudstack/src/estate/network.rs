//! Addresses of networks, and who may use them.

use super::{Estate, Nic, Number, Owner};
use crate::refusal::{Refusal, code};

/// The last part of the first address that a guest can get; those before are the router's.
const FIRST_ADDRESS: u32 = 10;

impl Estate {
    /// Whether an owner may put VMs into a network.
    pub(crate) fn may_use_network(&self, owner: Owner, network: Number) -> bool {
        self.networks
            .get(&network)
            .is_some_and(|network| network.owner.is_none_or(|of| of == owner))
    }

    /// Whether a network has room for another guest.
    pub(crate) fn has_addresses(&self, network: Number) -> bool {
        self.networks.get(&network).is_some_and(|network| {
            network.facts.kind == "L2" || (network.taken.len() as u32) < network.facts.addresses
        })
    }

    /// Takes addresses in some networks, or in none of them.
    pub(crate) fn plug(&mut self, networks: &[Number]) -> Result<Vec<Nic>, Refusal> {
        if let Some(full) = networks.iter().find(|network| !self.has_addresses(**network)) {
            let name = self.networks.get(full).map(|network| network.facts.name.clone());
            return Err(Refusal::plain(
                code::CAPACITY,
                format!(
                    "Insufficient address capacity: no free address in network {}",
                    name.unwrap_or_default()
                ),
            ));
        }
        let mut nics = Vec::new();
        for number in networks {
            let (_, id) = self.identify(super::Kind::Other);
            let low = self.random.draw() as u32;
            let Some(network) = self.networks.get_mut(number) else { continue };
            let address = (network.facts.kind != "L2").then(|| {
                let free = |part: &u32| !network.taken.contains(part);
                // Free at once as long as no guest has left.
                let next = FIRST_ADDRESS + network.taken.len() as u32;
                std::iter::once(next).chain(FIRST_ADDRESS..next).find(free).unwrap_or(next)
            });
            network.taken.extend(address);
            if network.state == "Allocated" {
                "Implemented".clone_into(&mut network.state);
            }
            let [_, a, b, c] = low.to_be_bytes();
            let mac = format!("02:00:4c:{a:02x}:{b:02x}:{c:02x}");
            nics.push(Nic { id, network: *number, address, mac });
        }
        Ok(nics)
    }

    /// Gives the addresses of a VM back.
    pub(crate) fn unplug(&mut self, vm: Number) {
        let nics = self.vms.get_mut(&vm).map(|vm| std::mem::take(&mut vm.nics));
        for nic in nics.unwrap_or_default() {
            if let (Some(network), Some(address)) =
                (self.networks.get_mut(&nic.network), nic.address)
            {
                network.taken.remove(&address);
            }
        }
    }

    /// The address of an adapter, as text.
    pub(crate) fn address(&self, nic: &Nic) -> Option<String> {
        let network = self.networks.get(&nic.network)?;
        nic.address.map(|last| format!("{}.{last}", network.facts.prefix))
    }

    /// Whether a name is free in some networks. VMs hold theirs until they have no adapter.
    pub(crate) fn name_is_free(&self, name: &str, networks: &[Number], except: Number) -> bool {
        !self.vms.iter().any(|(number, vm)| {
            *number != except
                && vm.name.eq_ignore_ascii_case(name)
                && vm.nics.iter().any(|nic| networks.contains(&nic.network))
        })
    }
}
