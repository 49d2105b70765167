//! Finding instances again.

use std::collections::BTreeSet;

use joiner_cloud::{CloudError, class, instance::Instance, order::ClaimId};
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

/// What a claim's instance turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// The claim's own.
    Own(Box<Vm>),
    /// A foreign instance with the claim's name.
    Foreign(Box<Vm>),
    /// There is none.
    Nothing,
}

impl Inner {
    /// Reads instances; those that have gone meanwhile are left out.
    pub(super) async fn read_instances(&self, instances: &[MoRef]) -> Result<Vec<Vm>, VimError> {
        if instances.is_empty() {
            return Ok(Vec::new());
        }
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        match self.vim.read(instances, &paths).await {
            Ok(objects) => Ok(objects.iter().map(Vm::read).collect()),
            Err(error) if is_gone(&error) && instances.len() == 1 => Ok(Vec::new()),
            Err(error) if is_gone(&error) => {
                // One of several has gone: the others are still there.
                let mut left = Vec::new();
                for instance in instances {
                    match self.vim.read(std::slice::from_ref(instance), &paths).await {
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

    /// The instance of a claim: by its identity, then by its name in the folders it may be in.
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
            let name = names::instance(&self.settings.cluster, &claim.name);
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
        let named = self.read_instances(&candidates).await?.into_iter().next();
        Ok(named.map_or(Found::Nothing, |vm| Found::Foreign(Box::new(vm))))
    }

    async fn own(&self, claim: &ClaimId, candidates: &[MoRef]) -> Result<Vec<Vm>, VimError> {
        let mut instances = self.read_instances(candidates).await?;
        instances.retain(|vm| {
            let mark = vm.mark.as_ref().filter(|mark| mark.names(self.cluster()));
            mark.is_some_and(|mark| mark.claim.uid == claim.uid) && !self.is_stray(vm)
        });
        Ok(instances)
    }

    /// Paths of the folders that instances may be in, as far as this process knows.
    pub(super) async fn folders(&self) -> Result<Vec<String>, VimError> {
        let datacenters = self.datacenters().await?;
        let base = &self.settings.folder;
        let mut folders: BTreeSet<String> =
            datacenters.iter().map(|own| folder_path(own, base, "")).collect();
        let state = self.state();
        let places = state.resolutions.all().flat_map(|own| &own.places);
        folders.extend(places.map(|place| place.folder.path.clone()));
        Ok(folders.into_iter().collect())
    }

    /// The instances with a provider id, of any owner. Copies and restored instances share one.
    pub(super) async fn with_id(&self, provider_id: &str) -> Result<Vec<Vm>, VimError> {
        let Some(uuid) = names::uuid_of(provider_id) else { return Ok(Vec::new()) };
        let mut found = self.vim.find_all_by_uuid(None, &uuid, Uuid::Bios).await?;
        if found.is_empty() {
            found = self.vim.find_all_by_uuid(None, &names::swapped(&uuid), Uuid::Bios).await?;
        }
        self.read_instances(&found).await
    }

    /// Whether an instance is this cluster's: by its mark, or by the predecessor's tag.
    pub(super) async fn is_ours(&self, vm: &Vm) -> Result<bool, CloudError> {
        self.cluster_uid()?;
        if vm.mark.is_some() {
            return Ok(vm.is_of(self.cluster()));
        }
        // The predecessor named its instances after the cluster; others may carry its tag.
        if !names::is_of_predecessor(&self.settings.cluster, &vm.name) {
            return Ok(false);
        }
        let carries = self.tags.carries(&vm.reference, tags::CLUSTER, &self.settings.cluster);
        carries.await.map_err(tags_unanswered("asking whose an instance is"))
    }

    /// The instance that one is to the operator.
    pub(super) fn instance(&self, vm: &Vm) -> Option<Instance> {
        let mark = vm.mark.as_ref();
        let destroyed = self.state().destroyed.contains(&vm.reference);
        if let Some(mark) = mark.filter(|_| !destroyed) {
            self.homes.know(&mark.claim.uid, &mark.pool, &mark.zone);
        }
        let mut state = self.state();
        let own = mark.and_then(|mark| state.instance_type(&mark.class, &mark.instance_type));
        let mut instance = vm.instance(own.as_deref())?;
        instance.deleting = destroyed;
        if let Some(memory_mib) = vm.memory_mib {
            let is_ours = mark.is_some_and(|mark| mark.made_here);
            state.measured.know(&instance.provider_id, memory_mib, is_ours);
        }
        state.known.insert(vm.reference.clone(), instance.clone());
        Some(instance)
    }

    pub(super) async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let found =
            self.with_id(provider_id).await.map_err(unanswered("looking for an instance"))?;
        for vm in found {
            if self.is_stray(&vm) || !self.is_ours(&vm).await? {
                continue;
            }
            let instance = self.instance(&vm).or_else(|| self.unreadable(&vm, provider_id));
            let Some(instance) = instance else {
                return Err(CloudError::Unknown(format!(
                    "virtual machine {:?} cannot be read, because its host is away",
                    vm.name
                )));
            };
            if instance.cluster_unproven || instance.may_be_of(claim) {
                return Ok(Some(instance));
            }
        }
        self.own_folders().await?;
        Ok(None)
    }

    /// What can be said of an instance that is there and whose configuration cannot be read: what was
    /// known of it before, or that it is lost.
    fn unreadable(&self, vm: &Vm, provider_id: &str) -> Option<Instance> {
        let known = self.state().known.get(&vm.reference).cloned();
        match known {
            Some(known) => Some(Instance { lost: vm.lost_for_good(), ..known }),
            None if vm.lost => Some(Instance {
                provider_id: provider_id.to_owned(),
                lost: vm.lost_for_good(),
                ..Instance::default()
            }),
            None => None,
        }
    }

    /// The folders of instances, one at least. An account that sees none of them has lost its rights,
    /// and then finds nothing of what is there.
    pub(super) async fn own_folders(&self) -> Result<Vec<MoRef>, CloudError> {
        let trouble = unanswered("looking for the folders of instances");
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

    pub(super) async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        let trouble = unanswered("listing instances");
        self.cluster_uid()?;
        let mut namesakes = Namesakes::default();
        let (mut instances, mut states) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let wanted =
            [(tags::CLUSTER.to_owned(), self.settings.cluster.clone())].into_iter().collect();
        let legacy = self.tags.objects_with_all(&wanted).await;
        let legacy = legacy.map_err(tags_unanswered("listing instances of the predecessor"))?;
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
                    Listed::Ours(instance) => {
                        states.push(vm.state());
                        instances.push(self.instance(&vm).unwrap_or(*instance));
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
        self.metrics.shared.listed(states);
        self.state().measured.keep(instances.iter().map(|own| own.provider_id.as_str()));
        self.state().known.retain(|reference, _| seen.contains(reference));
        let claims =
            instances.iter().filter(|own| !own.deleting).filter_map(|own| own.claim.as_ref());
        self.homes.keep(&claims.map(|claim| claim.uid.as_str()).collect());
        Ok(instances)
    }

    pub(super) async fn drift(
        &self,
        instance: &Instance,
        class: &class::NodeClass,
    ) -> Result<Option<String>, CloudError> {
        let trouble = unanswered("looking whether an instance is as it should be");
        let read = self.read_class(class)?;
        let resolution = self.resolution(class, &read).await?;
        let memory = self.class_memory(class, &read)?;
        let found = self.with_id(&instance.provider_id).await.map_err(&trouble)?;
        let mut own = None;
        for vm in found {
            if !self.is_stray(&vm) && self.is_ours(&vm).await? {
                own = Some(vm);
                break;
            }
        }
        // A removed instance is handled elsewhere.
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
            annotations: Some(&instance.annotations),
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
        "there is no folder {folder:?} that the account can see, so nobody can say which instances \
         there are; make it, correct VSPHERE_FOLDER (--vsphere-path), or give the account its role \
         there back"
    ))
}
