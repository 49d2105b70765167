//! Finding machines again.

use std::collections::BTreeSet;

use joiner_cloud::{CloudError, class, machine::Machine, order::ClaimId};
use joiner_vim::{MoRef, Uuid, VimError};

use super::{
    Inner,
    namesakes::Namesakes,
    troubles::{is_gone, tags_unanswered, unanswered},
};
use crate::{
    drift::{self, Actual, Desired, DesiredPlace},
    names,
    places::folder_path,
    tags,
    vm::{self, Listed, Vm, listed},
};

/// What a claim's machine turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// The claim's own.
    Own(Box<Vm>),
    /// Somebody else's, that has the name.
    Foreign(Box<Vm>),
    /// There is none.
    Nothing,
}

impl Inner {
    /// Reads machines; those that have gone meanwhile are left out.
    pub(super) async fn read_machines(&self, machines: &[MoRef]) -> Result<Vec<Vm>, VimError> {
        if machines.is_empty() {
            return Ok(Vec::new());
        }
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        match self.vim.read(machines, &paths).await {
            Ok(objects) => Ok(objects.iter().map(Vm::read).collect()),
            Err(error) if is_gone(&error) && machines.len() == 1 => Ok(Vec::new()),
            Err(error) if is_gone(&error) => {
                // One of several has gone: the others are still there.
                let mut left = Vec::new();
                for machine in machines {
                    match self.vim.read(std::slice::from_ref(machine), &paths).await {
                        Ok(objects) => left.extend(objects.iter().map(Vm::read)),
                        Err(error) if is_gone(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(left)
            }
            Err(error) => Err(error),
        }
    }

    /// The machine of a claim: by its identity, then by its name in the folders it may be in.
    ///
    /// Should there ever be two, the one that was made first is the claim's.
    pub(super) async fn find(
        &self,
        claim: &ClaimId,
        folders: &[String],
    ) -> Result<Found, VimError> {
        let mut candidates = self.vim.find_all_by_uuid(None, &claim.uid, Uuid::Instance).await?;
        let mut own = self.own(claim, &candidates).await?;
        if own.is_empty() {
            candidates.clear();
            let name = names::machine(&self.settings.cluster, &claim.name);
            let name = joiner_vim::inventory_name::escaped(&name);
            for folder in folders {
                let found = self.vim.find_by_path(&format!("{folder}/{name}")).await?;
                candidates.extend(found.filter(|found| found.kind == "VirtualMachine"));
            }
            own = self.own(claim, &candidates).await?;
        }
        if !own.is_empty() {
            own.sort_by(|a, b| (a.created, &a.reference).cmp(&(b.created, &b.reference)));
            return Ok(Found::Own(Box::new(own.swap_remove(0))));
        }
        let named = self.read_machines(&candidates).await?.into_iter().next();
        Ok(named.map_or(Found::Nothing, |vm| Found::Foreign(Box::new(vm))))
    }

    async fn own(&self, claim: &ClaimId, candidates: &[MoRef]) -> Result<Vec<Vm>, VimError> {
        let mut machines = self.read_machines(candidates).await?;
        machines.retain(|vm| {
            let mark = vm.mark.as_ref().filter(|mark| mark.names(self.cluster()));
            mark.is_some_and(|mark| mark.claim.uid == claim.uid) && !self.is_stray(vm)
        });
        Ok(machines)
    }

    /// Paths of the folders that machines may be in, as far as this process knows.
    pub(super) async fn folders(&self) -> Result<Vec<String>, VimError> {
        let datacenters = self.datacenters().await?;
        let base = &self.settings.folder;
        let mut folders: BTreeSet<String> =
            datacenters.iter().map(|own| folder_path(own, base, "")).collect();
        let state = self.state();
        let places = state.resolutions.values().flat_map(|kept| &kept.resolution.places);
        folders.extend(places.map(|place| place.folder.path.clone()));
        Ok(folders.into_iter().collect())
    }

    /// The machines that have a provider id, whoever's they are. Copies and restored machines share
    /// one.
    pub(super) async fn with_id(&self, provider_id: &str) -> Result<Vec<Vm>, VimError> {
        let Some(uuid) = names::uuid_of(provider_id) else { return Ok(Vec::new()) };
        let mut found = self.vim.find_all_by_uuid(None, &uuid, Uuid::Bios).await?;
        if found.is_empty() {
            found = self.vim.find_all_by_uuid(None, &names::swapped(&uuid), Uuid::Bios).await?;
        }
        self.read_machines(&found).await
    }

    /// Whether a machine is this cluster's: by its mark, or by the predecessor's tag.
    pub(super) async fn is_ours(&self, vm: &Vm) -> Result<bool, CloudError> {
        self.cluster_uid()?;
        if vm.mark.is_some() {
            return Ok(vm.is_of(self.cluster()));
        }
        // The predecessor named its machines after the cluster; others may carry its tag.
        if !names::is_of_predecessor(&self.settings.cluster, &vm.name) {
            return Ok(false);
        }
        let carries = self.tags.carries(&vm.reference, tags::CLUSTER, &self.settings.cluster);
        carries.await.map_err(tags_unanswered("asking whose a machine is"))
    }

    /// The machine that one is to the operator.
    pub(super) fn machine(&self, vm: &Vm) -> Option<Machine> {
        let mark = vm.mark.as_ref();
        let destroyed = self.state().destroyed.contains(&vm.reference);
        if let Some(mark) = mark.filter(|_| !destroyed) {
            self.homes.know(&mark.claim.uid, &mark.pool, &mark.zone);
        }
        let mut state = self.state();
        let own = mark.and_then(|mark| state.instance_type(&mark.class, &mark.instance_type));
        let mut machine = vm.machine(own.as_deref())?;
        machine.deleting = destroyed;
        if let Some(memory_mib) = vm.memory_mib {
            let is_ours = mark.is_some_and(|mark| mark.made_here);
            state.measured.know(&machine.provider_id, memory_mib, is_ours);
        }
        state.known.insert(vm.reference.clone(), machine.clone());
        Some(machine)
    }

    pub(super) async fn get(&self, provider_id: &str) -> Result<Option<Machine>, CloudError> {
        let found = self.with_id(provider_id).await.map_err(unanswered("looking for a machine"))?;
        for vm in found {
            if self.is_stray(&vm) || !self.is_ours(&vm).await? {
                continue;
            }
            let machine = self.machine(&vm).or_else(|| self.unreadable(&vm, provider_id));
            return machine.map(Some).ok_or_else(|| {
                CloudError::Unknown(format!(
                    "virtual machine {:?} cannot be read, because its host is away",
                    vm.name
                ))
            });
        }
        self.own_folders().await?;
        Ok(None)
    }

    /// What can be said of a machine that is there and whose configuration cannot be read: what was
    /// known of it before, or that it is lost.
    fn unreadable(&self, vm: &Vm, provider_id: &str) -> Option<Machine> {
        let known = self.state().known.get(&vm.reference).cloned();
        match known {
            Some(known) => Some(Machine { lost: vm.lost, ..known }),
            None if vm.lost => Some(Machine {
                provider_id: provider_id.to_owned(),
                lost: true,
                ..Machine::default()
            }),
            None => None,
        }
    }

    /// The folders of machines, one at least. An account that sees none of them has lost its rights,
    /// and then finds nothing of what is there.
    pub(super) async fn own_folders(&self) -> Result<Vec<MoRef>, CloudError> {
        let trouble = unanswered("looking for the folders of machines");
        let mut found = Vec::new();
        for datacenter in self.datacenters().await.map_err(&trouble)? {
            let path = folder_path(&datacenter, &self.settings.folder, "");
            let folder = self.vim.find_by_path(&path).await.map_err(&trouble)?;
            let was_there = self.state().folders.contains(&path);
            match folder {
                Some(folder) => {
                    self.state().folders.insert(path);
                    found.push(folder);
                }
                None if was_there => return Err(unseen(&path)),
                None => {}
            }
        }
        if found.is_empty() { Err(unseen(&self.settings.folder)) } else { Ok(found) }
    }

    pub(super) async fn list(&self) -> Result<Vec<Machine>, CloudError> {
        let trouble = unanswered("listing machines");
        self.cluster_uid()?;
        let mut namesakes = Namesakes::default();
        let (mut machines, mut states) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let wanted =
            [(tags::CLUSTER.to_owned(), self.settings.cluster.clone())].into_iter().collect();
        let legacy = self.tags.objects_with_all(&wanted).await;
        let legacy = legacy.map_err(tags_unanswered("listing machines of the predecessor"))?;
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        for folder in self.own_folders().await? {
            let found = self.vim.list(&folder, "VirtualMachine", &paths).await.map_err(&trouble)?;
            for vm in found.iter().map(Vm::read) {
                if !seen.insert(vm.reference.clone()) || self.is_stray(&vm) {
                    continue;
                }
                let is_legacy = legacy.contains(&vm.reference);
                let known = self.state().known.get(&vm.reference).cloned();
                namesakes.see(&vm, self.cluster());
                match listed(&vm, self.cluster(), is_legacy, None, known.as_ref()) {
                    Listed::Ours(machine) => {
                        states.push(vm.state());
                        machines.push(self.machine(&vm).unwrap_or(*machine));
                    }
                    Listed::NotOurs => {}
                    Listed::Unreadable => {
                        return Err(CloudError::Unknown(format!(
                            "virtual machine {:?} cannot be read, because its host is away, and may \
                             be one of this cluster's: a list without it would be short; bring its \
                             host back, or remove it from the inventory",
                            vm.name
                        )));
                    }
                }
            }
        }
        self.tell_of(namesakes);
        self.metrics.listed(states);
        self.state().measured.keep(machines.iter().map(|own| own.provider_id.as_str()));
        self.state().known.retain(|reference, _| seen.contains(reference));
        let claims =
            machines.iter().filter(|own| !own.deleting).filter_map(|own| own.claim.as_ref());
        self.homes.keep(&claims.map(|claim| claim.uid.as_str()).collect());
        Ok(machines)
    }

    pub(super) async fn drift(
        &self,
        machine: &Machine,
        class: &class::NodeClass,
    ) -> Result<Option<String>, CloudError> {
        let trouble = unanswered("looking whether a machine is as it should be");
        let read = self.read_class(class)?;
        let resolution = self.resolution(class, &read).await?;
        let memory = self.class_memory(class, &read)?;
        let found = self.with_id(&machine.provider_id).await.map_err(&trouble)?;
        let mut own = None;
        for vm in found {
            if !self.is_stray(&vm) && self.is_ours(&vm).await? {
                own = Some(vm);
                break;
            }
        }
        // What has gone is somebody else's matter.
        let Some(vm) = own else { return Ok(None) };
        let mark = vm.mark.clone().unwrap_or_default();
        let paths = ["runtime.host", "datastore", "network"];
        let placed = self.vim.read(std::slice::from_ref(&vm.reference), &paths).await;
        let placed = placed.map_err(&trouble)?;
        let placed = placed.first();
        let host = placed.and_then(|own| own.reference("runtime.host"));
        let cluster = match &host {
            Some(host) => {
                let read = self.vim.read(std::slice::from_ref(host), &["parent"]).await;
                read.map_err(&trouble)?.first().and_then(|own| own.reference("parent"))
            }
            None => None,
        };
        let references = |path: &str| placed.map(|own| own.references(path)).unwrap_or_default();
        let zone = Some(mark.zone.as_str()).filter(|zone| !zone.is_empty());
        let actual = Actual {
            annotations: Some(&machine.annotations),
            image: &mark.image,
            made_here: mark.made_here,
            cpus: vm.cpus,
            memory_mib: vm.memory_mib,
            has_zone: zone.is_some(),
            cluster,
            datastores: references("datastore"),
            networks: references("network"),
        };
        let desired = Desired {
            hash: read.hash(),
            image: &resolution.image.instance_uuid,
            hardware: memory.hardware.get(&mark.instance_type).copied(),
            place: resolution.place(zone).map(|place| DesiredPlace {
                cluster: place.compute.cluster.clone(),
                datastores: place.datastores.meant.clone(),
                networks: place.networks.iter().map(|own| own.named.reference.clone()).collect(),
            }),
        };
        Ok(drift::drift(&actual, &desired).map(str::to_owned))
    }
}

fn unseen(folder: &str) -> CloudError {
    CloudError::Unknown(format!(
        "there is no folder {folder:?} that the account can see, so nobody can say which machines \
         there are; make it, correct VSPHERE_FOLDER (--vsphere-path), or give the account its role \
         there back"
    ))
}
