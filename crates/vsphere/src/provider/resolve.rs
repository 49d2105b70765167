//! Resolves classes: reads the inventory and applies the pure choice.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_cloud::{CloudError, class, judgement::VALIDATION};
use joiner_vim::{MoRef, VimError, tags::TagError};

use super::Inner;
use crate::{
    NODE_CLASS_KIND,
    choose::{self, Tagged, Unresolved},
    groups,
    inventory::{
        CLUSTERS, Cluster, DATASTORES, DETAILS, Datastore, Details, FOLDERS, Inventory, NETWORKS,
        Named, Network, OPAQUE_NETWORKS, POOLS, PORT_GROUPS, Paths, Pool, TEMPLATES, Template,
    },
    load::{self, Seen},
    node_class::{DatacenterSelector, NodeClass, Wanted},
    places::{self, DATASTORE_READY, IMAGE_READY, LedTo, Resolution, Stuck, Trouble, folder_paths},
};

/// How old a look at the inventory may be, so that several classes share one.
const INVENTORY_FOR: Duration = Duration::from_secs(30);
/// How long a resolution is used without another look.
const RESOLVED_FOR: Duration = Duration::from_mins(5);
/// How long a resolution is used while vCenter is unreachable.
pub(super) const KEPT_FOR: Duration = Duration::from_mins(10);
/// How long the list of datacenters is used.
const DATACENTERS_FOR: Duration = Duration::from_mins(10);

/// The last look at each datacenter.
pub(super) type Gathered = BTreeMap<MoRef, (Timestamp, Arc<Inventory>)>;

/// Why a class could not be resolved.
#[derive(Debug)]
pub(super) enum NotResolved {
    /// vCenter did not say.
    Vim(VimError),
    /// vCenter did not say it about tags.
    Tags(TagError),
    /// It matches no place where instances could be made.
    Troubles(Stuck),
}

impl NotResolved {
    /// The same, with where the class leads all the same.
    fn leading_to(self, led_to: LedTo) -> Self {
        match self {
            Self::Troubles(stuck) => Self::Troubles(Stuck { led_to, ..stuck }),
            other => other,
        }
    }
}

impl From<Vec<Trouble>> for NotResolved {
    fn from(troubles: Vec<Trouble>) -> Self {
        Self::Troubles(Stuck { troubles, led_to: LedTo::new() })
    }
}

impl From<VimError> for NotResolved {
    fn from(error: VimError) -> Self {
        Self::Vim(error)
    }
}

impl From<TagError> for NotResolved {
    fn from(error: TagError) -> Self {
        match error {
            TagError::Vim(error) => Self::Vim(error),
            other => Self::Tags(other),
        }
    }
}

impl Inner {
    /// What a class comes to, as a creation needs it.
    pub(super) async fn resolution(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<Arc<Resolution>, CloudError> {
        if let Some(kept) = self.kept(class, RESOLVED_FOR) {
            return Ok(kept);
        }
        match self.resolve(class, read).await {
            Ok(resolution) => Ok(resolution),
            Err(NotResolved::Troubles(Stuck { troubles, .. })) => {
                let texts: Vec<&str> =
                    troubles.iter().map(|own| own.unresolved.message.as_str()).collect();
                Err(CloudError::NodeClassNotReady(format!(
                    "{NODE_CLASS_KIND} {:?} is not ready: {}",
                    class.name,
                    texts.join("; ")
                )))
            }
            Err(NotResolved::Vim(error)) => self.kept(class, KEPT_FOR).ok_or_else(|| {
                CloudError::Unknown(format!("looking for what {} names: {error}", class.name))
            }),
            Err(NotResolved::Tags(error)) => self.kept(class, KEPT_FOR).ok_or_else(|| {
                CloudError::Unknown(format!("looking for what {} names: {error}", class.name))
            }),
        }
    }

    /// What a class came to when last looked at, unless that is too long ago.
    pub(super) fn kept(&self, class: &class::NodeClass, age: Duration) -> Option<Arc<Resolution>> {
        self.state().resolutions.fresh(class, age, self.now())
    }

    /// Forgets the resolution of a class: one of its objects no longer exists.
    pub(super) async fn invalidate(&self, class: &str) {
        self.state().resolutions.forget(class);
        self.gathering.lock().await.clear();
    }

    /// Resolves a class and remembers the result.
    pub(super) async fn resolve(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<Arc<Resolution>, NotResolved> {
        let unresolved =
            |condition, unresolved| NotResolved::from(vec![Trouble { condition, unresolved }]);
        let mut tagged = Tagged::default();
        let datacenter = self.datacenter(read, &mut tagged).await?;
        let datacenter = datacenter.map_err(|error| unresolved(VALIDATION, error))?;
        let inventory = self.inventory(&datacenter).await?;
        self.look_up_tags(read, &mut tagged).await?;
        let mut folders = Vec::new();
        for path in folder_paths(read, &datacenter, &self.settings.folder) {
            let found = self.vim.find_by_path(&path).await?;
            folders.push((path, found.filter(|found| found.kind == "Folder")));
        }
        let resolved = places::resolve(read, &inventory, &tagged, &folders);
        let mut resolution = resolved.map_err(NotResolved::Troubles)?;
        // From here on all paths are known, even if the class has problems.
        let led_to = resolution.led_to();
        let stuck = |error: NotResolved| error.leading_to(led_to.clone());
        self.check_groups(&resolution).await.map_err(stuck)?;
        if let Some(name) = read.storage_policy() {
            self.keep_to_policy(&mut resolution, name).await.map_err(stuck)?;
        }
        let template = &mut resolution.image;
        let details =
            self.vim.read(std::slice::from_ref(&template.named.reference), DETAILS).await?;
        template.details = details.first().map(Details::read).unwrap_or_default();
        let read = read.clone().with_template_disk(template.disk_gib());
        let instances = read.instances(&self.settings.instances).unwrap_or_default();
        places::check_image(&read, template, &instances)
            .map_err(|error| stuck(unresolved(IMAGE_READY, error)))?;
        let shortages = self.shortages(&read, &instances, &resolution).await?;
        self.state().shortages.insert(class.name.clone(), shortages);
        let places = resolution.places.iter();
        for datastore in places.flat_map(|place| &place.datastores.usable) {
            self.metrics.free(&datastore.named.name, datastore.free);
        }
        let resolution = Arc::new(resolution);
        self.state().resolutions.remember(class, Arc::clone(&resolution), self.now());
        Ok(resolution)
    }

    /// Looks whether the groups are there that instances are to be put into.
    async fn check_groups(&self, resolution: &Resolution) -> Result<(), NotResolved> {
        let mut troubles = Vec::new();
        for place in resolution.places.iter().filter(|place| place.vm_group.is_some()) {
            let cluster = std::slice::from_ref(&place.compute.cluster);
            let read = self.vim.read(cluster, &[groups::GROUPS]).await?;
            let found = read.first().and_then(|own| own.value(groups::GROUPS));
            troubles.extend(groups::trouble(place, found));
        }
        if troubles.is_empty() { Ok(()) } else { Err(troubles.into()) }
    }

    /// Leaves only the datastores that meet a storage policy.
    async fn keep_to_policy(
        &self,
        resolution: &mut Resolution,
        name: &str,
    ) -> Result<(), NotResolved> {
        let known = self.vim.storage_policies().await.map_err(policies_unread)?;
        let policy = places::storage_policy(name, &known).map_err(|own| vec![own])?;
        let usable = resolution.places.iter().flat_map(|place| &place.datastores.usable);
        let mut datastores: Vec<MoRef> = usable.map(|own| own.named.reference.clone()).collect();
        datastores.sort();
        datastores.dedup();
        let meeting =
            self.vim.meeting_policy(&policy, &datastores).await.map_err(policies_unread)?;
        let kept = resolution.places.iter_mut().map(|place| place.keep_meeting(name, &meeting));
        let troubles: Vec<Trouble> = kept.filter_map(Result::err).collect();
        if !troubles.is_empty() {
            return Err(troubles.into());
        }
        resolution.storage_policy = Some(policy);
        Ok(())
    }

    async fn datacenter(
        &self,
        read: &NodeClass,
        tagged: &mut Tagged,
    ) -> Result<Result<Named, Unresolved>, NotResolved> {
        let wanted = read.spec.dc_selector.as_ref().and_then(DatacenterSelector::wanted);
        if let Some(Wanted::Tags(tags)) = wanted {
            tagged.learn(tags, self.tags.objects_with_all(tags).await?);
        }
        let datacenters = self.datacenters().await?;
        let setting = self.settings.datacenter.as_deref();
        Ok(choose::datacenter(wanted, setting, tagged, &datacenters))
    }

    /// Every datacenter that the account sees.
    pub(super) async fn datacenters(&self) -> Result<Vec<Named>, VimError> {
        let now = self.now();
        if let Some((at, known)) = &self.state().datacenters
            && now.duration_since(*at).unsigned_abs() < DATACENTERS_FOR
        {
            return Ok(known.clone());
        }
        let root = self.vim.service_content().await?.root_folder.clone();
        let mut paths = Paths::with_root(&root);
        let all =
            self.vim.list_kinds(&root, &[("Folder", FOLDERS), ("Datacenter", FOLDERS)]).await?;
        paths.learn(&all);
        let found = all.iter().filter(|own| own.reference.kind == "Datacenter");
        let found: Vec<Named> = found.map(|own| paths.named(own)).collect();
        self.state().datacenters = Some((now, found.clone()));
        Ok(found)
    }

    /// What a datacenter has, from a look that is not too old.
    async fn inventory(&self, datacenter: &Named) -> Result<Arc<Inventory>, VimError> {
        let mut gathered = self.gathering.lock().await;
        let now = self.now();
        if let Some((at, inventory)) = gathered.get(&datacenter.reference)
            && now.duration_since(*at).unsigned_abs() < INVENTORY_FOR
        {
            return Ok(Arc::clone(inventory));
        }
        let inventory = Arc::new(self.gather(datacenter).await?);
        gathered.insert(datacenter.reference.clone(), (now, Arc::clone(&inventory)));
        Ok(inventory)
    }

    async fn gather(&self, datacenter: &Named) -> Result<Inventory, VimError> {
        let (vim, began) = (&self.vim, self.now());
        let inside = &datacenter.reference;
        let of_instances = [TEMPLATES, load::INSTANCES].concat();
        // Datastore clusters are folders too.
        let kinds = [
            ("Folder", FOLDERS),
            ("ClusterComputeResource", CLUSTERS),
            ("ResourcePool", POOLS),
            ("Datastore", DATASTORES),
            ("VirtualMachine", &of_instances),
            ("HostSystem", load::HOSTS),
        ];
        let (mut clusters, mut pools, mut datastores, mut instances, mut hosts, mut folders) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for own in vim.list_kinds(inside, &kinds).await? {
            match &*own.reference.kind {
                "ClusterComputeResource" => clusters.push(own),
                "ResourcePool" | "VirtualApp" => pools.push(own),
                "Datastore" => datastores.push(own),
                "VirtualMachine" => instances.push(own),
                "HostSystem" => hosts.push(own),
                _ => folders.push(own),
            }
        }
        let mut paths = Paths::below(datacenter);
        for own in [&folders, &clusters, &pools] {
            paths.learn(own);
        }
        // Kinds of networks descend from each other, so each is asked for by itself.
        let networks = vim.list(inside, "Network", NETWORKS).await?;
        let port_groups = vim.list(inside, "DistributedVirtualPortgroup", PORT_GROUPS).await?;
        let opaque = vim.list(inside, "OpaqueNetwork", OPAQUE_NETWORKS).await?;
        let mut switches: Vec<MoRef> = port_groups
            .iter()
            .filter_map(|own| own.reference("config.distributedVirtualSwitch"))
            .collect();
        switches.sort();
        switches.dedup();
        let uuids: BTreeMap<MoRef, String> = if switches.is_empty() {
            BTreeMap::new()
        } else {
            let read = vim.read(&switches, &["uuid"]).await?;
            let uuid = |own: &joiner_vim::Object| own.text("uuid").map(str::to_owned);
            read.iter().filter_map(|own| Some((own.reference.clone(), uuid(own)?))).collect()
        };
        let standard = networks.iter().filter(|own| own.reference.kind == "Network");
        let all_networks = standard
            .map(|own| Network::standard(own, &paths))
            .chain(port_groups.iter().filter_map(|own| Network::port_group(own, &paths, &uuids)))
            .chain(opaque.iter().map(|own| Network::opaque(own, &paths)));
        let clusters: Vec<Cluster> =
            clusters.iter().filter_map(|own| Cluster::read(own, &paths)).collect();
        self.state().loads.learn(Seen::of(&clusters, &hosts, &instances), began);
        Ok(Inventory {
            clusters,
            pools: pools.iter().filter_map(|own| Pool::read(own, &paths)).collect(),
            datastores: datastores.iter().map(|own| Datastore::read(own, &paths)).collect(),
            networks: all_networks.collect(),
            templates: instances.iter().map(|own| Template::read(own, &paths)).collect(),
        })
    }

    async fn look_up_tags(&self, read: &NodeClass, tagged: &mut Tagged) -> Result<(), TagError> {
        for tags in read.tags_asked_for() {
            tagged.learn(tags, self.tags.objects_with_all(tags).await?);
        }
        Ok(())
    }
}

/// What is said when vCenter does not tell of storage policies.
fn policies_unread(error: VimError) -> NotResolved {
    if !error.is_fault("NoPermission") {
        return NotResolved::Vim(error);
    }
    let message = "spec.storagePolicyName: the account may not see storage policies; add \
                   StorageProfile.View on the vCenter to its role"
        .to_owned();
    let unresolved = Unresolved { reason: "PermissionDenied", message };
    vec![Trouble { condition: DATASTORE_READY, unresolved }].into()
}
