//! What classes come to: reads the inventory, has the choice made, and says so in the status.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_cloud::{
    CloudError,
    bootstrap::Facts,
    class::{self, BOOTSTRAP_READY, ClassCondition, ClassStatus},
    inputs::ClassInputs,
};
use joiner_vim::{MoRef, VimError, tags::TagError};

use super::{Inner, state::Kept};
use crate::{
    NODE_CLASS_KIND,
    choose::{self, Tagged, Unresolved},
    inventory::{
        CLUSTERS, Cluster, DATASTORES, DETAILS, Datastore, Details, FOLDERS, Inventory, NETWORKS,
        Named, Network, OPAQUE_NETWORKS, POOLS, PORT_GROUPS, Paths, Pool, TEMPLATES, Template,
    },
    machines::Machines,
    node_class::{DatacenterSelector, NodeClass, Wanted},
    places::{
        self, COMPUTE_READY, CONDITIONS, DATASTORE_READY, FOLDER_READY, IMAGE_READY, NETWORK_READY,
        Resolution, Trouble, folder_paths,
    },
    privileges::{self, Role},
    user_data::{self, Recipient},
};

/// How old a look at the inventory may be, so that several classes share one.
const INVENTORY_FOR: Duration = Duration::from_secs(30);
/// How long what a class came to is used without another look.
const RESOLVED_FOR: Duration = Duration::from_mins(5);
/// How long what a class came to is used while vCenter is away.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// How long the list of datacenters is used.
const DATACENTERS_FOR: Duration = Duration::from_mins(10);

const VALIDATION: &str = "ValidationSucceeded";
const VCENTER: &str = "VCenterReady";

/// The last look at each datacenter.
pub(super) type Gathered = BTreeMap<MoRef, (Timestamp, Arc<Inventory>)>;

/// Why nobody knows what a class comes to.
#[derive(Debug)]
pub(super) enum NotResolved {
    /// vCenter did not say.
    Vim(VimError),
    /// vCenter did not say it about tags.
    Tags(TagError),
    /// It leads nowhere that machines could be made.
    Troubles(Vec<Trouble>),
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
            Err(NotResolved::Troubles(troubles)) => {
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
    fn kept(&self, class: &class::NodeClass, age: Duration) -> Option<Arc<Resolution>> {
        let (now, state) = (self.now(), self.state());
        let kept = state.resolutions.get(&class.name)?;
        let is_it = kept.uid == class.uid && kept.generation == class.generation;
        let is_fresh = now.duration_since(kept.at).unsigned_abs() < age;
        (is_it && is_fresh).then(|| Arc::clone(&kept.resolution))
    }

    /// Forgets what a class came to: something of it has gone.
    pub(super) async fn invalidate(&self, class: &str) {
        self.state().resolutions.remove(class);
        self.gathering.lock().await.clear();
    }

    /// Finds out what a class comes to, and remembers it.
    pub(super) async fn resolve(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<Arc<Resolution>, NotResolved> {
        let unresolved =
            |condition, unresolved| NotResolved::Troubles(vec![Trouble { condition, unresolved }]);
        let mut tagged = Tagged::default();
        let datacenter = self.datacenter(read, &mut tagged).await?;
        let datacenter = datacenter.map_err(|error| unresolved(COMPUTE_READY, error))?;
        let inventory = self.inventory(&datacenter).await?;
        self.look_up_tags(read, &mut tagged).await?;
        let mut folders = Vec::new();
        for path in folder_paths(read, &datacenter, &self.settings.folder) {
            let found = self.vim.find_by_path(&path).await?;
            folders.push((path, found.filter(|found| found.kind == "Folder")));
        }
        let resolved = places::resolve(read, &inventory, &tagged, &folders);
        let mut resolution = resolved.map_err(NotResolved::Troubles)?;
        let template = &mut resolution.image;
        let details =
            self.vim.read(std::slice::from_ref(&template.named.reference), DETAILS).await?;
        template.details = details.first().map(Details::read).unwrap_or_default();
        let read = read.clone().with_template_disk(template.disk_gib());
        let machines = read.machines(&self.settings.machines).unwrap_or_default();
        places::check_image(&read, template, &machines)
            .map_err(|error| unresolved(IMAGE_READY, error))?;
        let resolution = Arc::new(resolution);
        self.state().resolutions.insert(
            class.name.clone(),
            Kept {
                uid: class.uid.clone(),
                generation: class.generation,
                at: self.now(),
                resolution: Arc::clone(&resolution),
            },
        );
        Ok(resolution)
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
        paths.learn(&self.vim.list(&root, "Folder", FOLDERS).await?);
        let found = self.vim.list(&root, "Datacenter", FOLDERS).await?;
        let found: Vec<Named> = found.iter().map(|own| paths.named(own)).collect();
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
        let vim = &self.vim;
        let inside = &datacenter.reference;
        let mut paths = Paths::below(datacenter);
        paths.learn(&vim.list(inside, "Folder", FOLDERS).await?);
        let clusters = vim.list(inside, "ClusterComputeResource", CLUSTERS).await?;
        paths.learn(&clusters);
        let pools = vim.list(inside, "ResourcePool", POOLS).await?;
        paths.learn(&pools);
        let pods = vim.list(inside, "StoragePod", FOLDERS).await?;
        paths.learn(&pods);
        let datastores = vim.list(inside, "Datastore", DATASTORES).await?;
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
        let machines = vim.list(inside, "VirtualMachine", TEMPLATES).await?;
        let standard = networks.iter().filter(|own| own.reference.kind == "Network");
        let all_networks = standard
            .map(|own| Network::standard(own, &paths))
            .chain(port_groups.iter().filter_map(|own| Network::port_group(own, &paths, &uuids)))
            .chain(opaque.iter().map(|own| Network::opaque(own, &paths)));
        Ok(Inventory {
            clusters: clusters.iter().filter_map(|own| Cluster::read(own, &paths)).collect(),
            pools: pools.iter().filter_map(|own| Pool::read(own, &paths)).collect(),
            datastores: datastores.iter().map(|own| Datastore::read(own, &paths)).collect(),
            networks: all_networks.collect(),
            templates: machines.iter().map(|own| Template::read(own, &paths)).collect(),
        })
    }

    async fn look_up_tags(&self, read: &NodeClass, tagged: &mut Tagged) -> Result<(), TagError> {
        for tags in read.tags_asked_for() {
            tagged.learn(tags, self.tags.objects_with_all(tags).await?);
        }
        Ok(())
    }

    /// What is to be said of a class.
    pub(super) async fn resolve_class(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let facts = inputs.and_then(|inputs| inputs.joining.as_ref());
        let read = match NodeClass::read(&class.object()) {
            Ok(read) => read,
            Err(error) => {
                let refused = condition(VALIDATION, Some(false), "InvalidSpec", error.to_string());
                return Ok(ClassStatus { conditions: vec![refused], ..ClassStatus::default() });
            }
        };
        let mut status = ClassStatus::default();
        status.conditions.push(self.validation(&read));
        match self.resolve(class, &read).await {
            Ok(resolution) => {
                status.conditions.push(condition(VCENTER, Some(true), "", String::new()));
                status.fields = resolution.status();
                let missing = self.missing_privileges(&resolution).await?;
                status.conditions.extend(CONDITIONS.map(|type_| {
                    let lacking = missing.get(type_);
                    lacking.map_or_else(
                        || condition(type_, Some(true), "", String::new()),
                        |text| condition(type_, Some(false), "PermissionDenied", text.clone()),
                    )
                }));
                let read = read.with_template_disk(resolution.image.disk_gib());
                status.conditions.extend(facts.map(|facts| self.bootstrap(&read, facts)));
            }
            Err(NotResolved::Troubles(troubles)) => {
                status.conditions.push(condition(VCENTER, Some(true), "", String::new()));
                status.conditions.extend(CONDITIONS.map(|type_| told(type_, &troubles)));
                status.conditions.extend(facts.map(|facts| self.bootstrap(&read, facts)));
            }
            Err(NotResolved::Tags(error)) => {
                let text = format!("vCenter does not say what carries the class's tags: {error}");
                status.conditions.push(condition(VCENTER, None, "TagsUnknown", text));
            }
            Err(NotResolved::Vim(error)) => {
                // A vCenter that restarts must not take classes out of use with it: what was said
                // last stands for a while.
                if error_is_passing(&error) && self.kept(class, KEPT_FOR).is_some() {
                    return Err(CloudError::Unknown(format!("looking at the class: {error}")));
                }
                status.conditions.push(away(&error));
            }
        }
        if let Some(version) = facts.and_then(|facts| facts.version.as_deref()) {
            let version = version.trim_start_matches('v');
            let version = version.split_once('+').map_or(version, |(version, _)| version);
            status.fields.insert("kubernetesVersion".to_owned(), version.into());
        }
        Ok(status)
    }

    fn validation(&self, read: &NodeClass) -> ClassCondition {
        let problems = read.problems(&self.settings.machines);
        let Some(first) = problems.first() else {
            return condition(VALIDATION, Some(true), "", read.ignored().join("; "));
        };
        let texts: Vec<String> =
            problems.iter().map(|own| format!("{} {}", own.field, own.text)).collect();
        let message = format!("{NODE_CLASS_KIND} {:?}: {}", read.name(), texts.join("; "));
        condition(VALIDATION, Some(false), &first.reason.to_string(), message)
    }

    /// Whether a text can be made for machines of a class.
    fn bootstrap(&self, read: &NodeClass, facts: &Facts) -> ClassCondition {
        let Machines { types, .. } = read.machines(&self.settings.machines).unwrap_or_default();
        let Some(instance_type) = types.first() else {
            let why = "looked at once ValidationSucceeded is true".to_owned();
            return condition(BOOTSTRAP_READY, None, "WaitsForSizes", why);
        };
        let token = user_data::example_token(facts);
        let recipient = Recipient { node_name: "trial", instance_type, token, order: None };
        match user_data::text(read, facts, &recipient) {
            Ok(text) => {
                let warnings: Vec<String> = text
                    .report
                    .warnings
                    .iter()
                    .map(|warning| format!("{}: {}", warning.field, warning.text))
                    .collect();
                condition(BOOTSTRAP_READY, Some(true), "", warnings.join("; "))
            }
            Err(error) => {
                condition(BOOTSTRAP_READY, Some(false), error.kind.reason(), error.to_string())
            }
        }
    }

    /// What the account may not do, by the condition that says it.
    async fn missing_privileges(
        &self,
        resolution: &Resolution,
    ) -> Result<BTreeMap<&'static str, String>, CloudError> {
        let image = &resolution.image;
        let role = if image.is_marked { Role::Template } else { Role::Source };
        let mut needed =
            vec![(IMAGE_READY, role, &image.named.reference, image.named.path.as_str())];
        for place in &resolution.places {
            let compute = &place.compute;
            needed.push((COMPUTE_READY, Role::Pool, &compute.pool, &compute.named.path));
            needed.push((FOLDER_READY, Role::Folder, &place.folder.reference, &place.folder.path));
            let network = &place.network.named;
            needed.push((NETWORK_READY, Role::Network, &network.reference, &network.path));
            for datastore in &place.datastores.usable {
                let named = &datastore.named;
                needed.push((DATASTORE_READY, Role::Datastore, &named.reference, &named.path));
            }
        }
        let mut objects: Vec<MoRef> = needed.iter().map(|(_, _, own, _)| (*own).clone()).collect();
        objects.sort();
        objects.dedup();
        let had = match self.vim.privileges(&objects).await {
            Ok(had) => had,
            // Whoever may not ask is told when something fails.
            Err(VimError::Fault(fault)) => {
                tracing::debug!("privileges cannot be asked for: {fault}");
                return Ok(BTreeMap::new());
            }
            Err(error) => return Err(super::troubles::unanswered("asking for privileges")(error)),
        };
        let mut missing: BTreeMap<&'static str, Vec<(&str, Vec<&'static str>)>> = BTreeMap::new();
        for (condition, role, object, path) in needed {
            if let Some(own) = had.get(object) {
                missing.entry(condition).or_default().push((path, role.missing(own)));
            }
        }
        let told = missing.into_iter();
        Ok(told.filter_map(|(type_, own)| Some((type_, privileges::message(&own)?))).collect())
    }
}

fn condition(
    type_: &'static str,
    holds: Option<bool>,
    reason: &str,
    message: String,
) -> ClassCondition {
    ClassCondition { type_, holds, reason: reason.to_owned(), message }
}

/// What a condition says where something leads nowhere.
fn told(type_: &'static str, troubles: &[Trouble]) -> ClassCondition {
    let own: Vec<&Trouble> = troubles.iter().filter(|trouble| trouble.condition == type_).collect();
    match own.first() {
        Some(first) => {
            let texts: Vec<&str> =
                own.iter().map(|trouble| trouble.unresolved.message.as_str()).collect();
            condition(type_, Some(false), first.unresolved.reason, texts.join("; "))
        }
        // What hangs on a cluster is not looked for before there is one.
        None if matches!(type_, DATASTORE_READY | NETWORK_READY)
            && troubles.iter().any(|trouble| trouble.condition == COMPUTE_READY) =>
        {
            condition(
                type_,
                None,
                "WaitsForCompute",
                "looked for once ComputeReady is true".to_owned(),
            )
        }
        None => condition(type_, Some(true), "", String::new()),
    }
}

fn error_is_passing(error: &VimError) -> bool {
    !matches!(error, VimError::InvalidLogin { .. } | VimError::Tls { .. })
}

/// What is said of a vCenter that does not answer.
fn away(error: &VimError) -> ClassCondition {
    let (holds, reason) = match error {
        VimError::InvalidLogin { .. } => (Some(false), "InvalidLogin"),
        VimError::Tls { .. } => (Some(false), "NotTrusted"),
        VimError::Fault(fault) if fault.is("NoPermission") => (Some(false), "PermissionDenied"),
        VimError::Fault(_) => (None, "Refused"),
        VimError::Unreachable(_) | VimError::Http(_) | VimError::Malformed(_) => {
            (None, "Unreachable")
        }
    };
    condition(VCENTER, holds, reason, error.to_string())
}
