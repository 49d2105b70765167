//! Cluster modules: VMs that a cluster keeps apart where it can.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value as Json, json};

use super::{Ask, Outcome, Refusal};
use crate::{
    identity::Identities,
    reference::{Kind, Ref},
    session::Viewer,
    world::World,
};

/// Where they lie.
pub(crate) const ROOT: &str = "/rest/vcenter/cluster/modules";

/// All modules.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    all: BTreeMap<String, Module>,
    identities: Identities,
}

#[derive(Debug)]
struct Module {
    cluster: Ref,
    members: BTreeSet<Ref>,
}

impl Modules {
    /// Forgets a VM that is gone.
    pub(crate) fn forget(&mut self, vm: Ref) {
        self.all.values_mut().for_each(|module| {
            module.members.remove(&vm);
        });
    }
}

impl World {
    pub(super) fn module_call(&mut self, viewer: &Viewer, ask: &Ask, path: &str) -> Outcome {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match (&ask.method, parts.as_slice()) {
            (&Method::GET, []) => {
                let summary = |(id, module): (&String, &Module)| json!({"module": id, "cluster": module.cluster.id()});
                let all: Vec<Json> = self.modules.all.iter().map(summary).collect();
                Ok(Some(json!({"summaries": all})))
            }
            (&Method::POST, []) => self.create_module(viewer, ask),
            (&Method::DELETE, [id]) => {
                let gone = self.modules.all.remove(*id);
                gone.map(|_| None).ok_or_else(|| Refusal::not_found("such module"))
            }
            (&Method::GET, ["vm", id, "members"]) => {
                let module = self.modules.all.get(*id);
                let module = module.ok_or_else(|| Refusal::not_found("such module"))?;
                let ids: Vec<String> = module.members.iter().map(|vm| vm.id()).collect();
                Ok(Some(json!({"vms": ids})))
            }
            (&Method::POST, ["vm", id, "members"]) => self.change_module(ask, id),
            _ => Err(Refusal::not_found("such call")),
        }
    }

    fn create_module(&mut self, viewer: &Viewer, ask: &Ask) -> Outcome {
        let body = ask.json()?;
        let wanted = body["spec"]["cluster"].as_str().unwrap_or_default();
        let cluster = self.estate.clusters.keys().find(|own| own.id() == wanted).copied();
        let cluster = cluster.ok_or_else(|| Refusal::invalid("there is no such cluster"))?;
        let privilege = "Host.Inventory.EditCluster";
        if self.sessions.require(viewer, &self.estate, cluster, privilege).is_err() {
            return Err(Refusal::new(403, "unauthorized", format!("{privilege} is missing")));
        }
        let id = self.modules.identities.uuid("module");
        self.modules.all.insert(id.clone(), Module { cluster, members: BTreeSet::new() });
        Ok(Some(json!(id)))
    }

    /// Changes the members of a module: all named ones, or none.
    fn change_module(&mut self, ask: &Ask, id: &str) -> Outcome {
        let body = ask.json()?;
        let named = body["vms"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let known = |id: &str| self.estate.vms.keys().find(|vm| vm.id() == id).copied();
        let named: Option<Vec<Ref>> = named.map(known).collect();
        let cluster_of = |vm: Ref| {
            let host = self.estate.vms.get(&vm).map(|own| own.host);
            host.and_then(|host| self.estate.above(host, Kind::ClusterComputeResource))
        };
        let named: Option<Vec<(Ref, Option<Ref>)>> =
            named.map(|named| named.into_iter().map(|vm| (vm, cluster_of(vm))).collect());
        let module = self.modules.all.get_mut(id);
        let module = module.ok_or_else(|| Refusal::not_found("such module"))?;
        let adds = ask.action == "add";
        let suits = |(vm, cluster): &(Ref, Option<Ref>)| {
            module.members.contains(vm) != adds && (!adds || *cluster == Some(module.cluster))
        };
        let success = named.as_ref().is_some_and(|named| named.iter().all(suits));
        if success {
            for (vm, _) in named.unwrap_or_default() {
                if adds {
                    module.members.insert(vm);
                } else {
                    module.members.remove(&vm);
                }
            }
        }
        Ok(Some(json!({"success": success})))
    }
}
