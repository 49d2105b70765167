//! Finding objects by what they are called.

use super::{Request, returned};
use crate::{
    reference::{Kind, Ref},
    wire::value::Value,
    world::World,
};

impl World {
    /// VMs by their BIOS uuid or by the uuid of the instance; the first of them, or all.
    pub(super) fn find_by_uuid(&self, request: &Request<'_>, first: bool) -> String {
        let Request { call, viewer, .. } = request;
        let uuid = call.text_of("uuid").unwrap_or_default().to_lowercase();
        let of_instance = call.says("instanceUuid");
        let datacenter = super::named(call.child("datacenter")).ok();
        let fits = |vm: &Ref| {
            let inside = self.estate.above(*vm, Kind::Datacenter);
            (datacenter.is_none() || inside == datacenter)
                && self.sessions.may_see(viewer, &self.estate, *vm)
        };
        let found: Vec<Ref> = if call.says("vmSearch") {
            let same = self.estate.vms.iter().filter(|(_, vm)| {
                let own = if of_instance { &vm.instance_uuid } else { &vm.uuid };
                *own == uuid
            });
            same.map(|(vm, _)| *vm).filter(fits).collect()
        } else {
            let same = self.estate.hosts.iter().filter(|(_, host)| host.uuid == uuid);
            same.map(|(host, _)| *host).filter(fits).collect()
        };
        let shown = if first { 1 } else { found.len() };
        found.into_iter().take(shown).map(|found| returned(&Value::Ref(found))).collect()
    }

    /// What an inventory path leads to, such as `dc1/vm/folder/name`.
    pub(super) fn find_by_path(&self, request: &Request<'_>) -> String {
        let path = request.call.text_of("inventoryPath").unwrap_or_default();
        let found = self.estate.tree.find(self.estate.root, path);
        let visible = |at: &Ref| self.sessions.may_see(request.viewer, &self.estate, *at);
        found.filter(visible).map(|found| returned(&Value::Ref(found))).unwrap_or_default()
    }
}
