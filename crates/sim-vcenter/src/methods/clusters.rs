//! Methods of clusters.

use std::collections::BTreeSet;

use super::{Request, returned};
use crate::{
    fault::Fault,
    reference::{Kind, Ref},
    task::Job,
    wire::{element::Element, value::Value},
    world::World,
};

impl World {
    pub(super) fn reconfigure_cluster(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let cluster = request.this;
        let privilege = "Host.Inventory.EditCluster";
        self.sessions.require(request.viewer, &self.estate, cluster, privilege)?;
        let spec = request.call.child("spec").cloned().unwrap_or_default();
        let user = request.user(self);
        let job = Job::ReconfigureCluster { cluster, spec };
        Ok(returned(&Value::Ref(self.new_task(cluster, &user, job, request.trouble.clone()))))
    }

    /// Changes the groups of a cluster that a spec lists.
    pub(crate) fn change_groups(&mut self, cluster: Ref, spec: &Element) -> Result<(), Fault> {
        for change in spec.all("groupSpec") {
            let wrong = |why: &str| Fault::invalid_argument("spec.groupSpec", why);
            let empty = Element::default();
            let info = change.child("info").unwrap_or(&empty);
            if info.instance_type.as_deref() != Some("ClusterVmGroup") {
                return Err(wrong("only groups of VMs can be changed here"));
            }
            let members: Result<BTreeSet<Ref>, Fault> =
                info.all("vm").map(|vm| self.present(Some(vm))).collect();
            let members = members?;
            if members.iter().any(|vm| vm.kind != Kind::VirtualMachine) {
                return Err(wrong("it has something else than VMs in it"));
            }
            let name = info.text_of("name").unwrap_or_default();
            let Some(own) = self.estate.clusters.get_mut(&cluster) else {
                return Err(Fault::gone(cluster));
            };
            match (change.text_of("operation"), own.vm_groups.get_mut(name)) {
                (Some("edit"), Some(group)) => *group = members,
                (Some("add"), None) => {
                    own.vm_groups.insert(name.to_owned(), members);
                }
                _ => return Err(wrong("there is no such group, or one too many")),
            }
        }
        self.touch(cluster);
        Ok(())
    }
}
