//! Where instances of a class can be made, and what they are cloned from.

use std::collections::{BTreeMap, BTreeSet};

use joiner_vim::{MoRef, StoragePolicy};
use serde_json::{Map, Value, json};

use crate::{
    choose::{self, Compute, Datastores, Tagged, Unresolved},
    clone_spec::Copying,
    image,
    instances::Instances,
    inventory::{Inventory, Named, Network, Template},
    node_class::{ImageSelector, NodeClass, Selector, Wanted, Zone},
    vm_settings::HardwareVersion,
};

/// The condition that the vCenter is available for the class.
pub(crate) const VCENTER: &str = "VCenterReady";
/// Conditions of a class that say where its selectors lead.
pub(crate) const COMPUTE_READY: &str = "ComputeReady";
pub(crate) const DATASTORE_READY: &str = "DatastoreReady";
pub(crate) const NETWORK_READY: &str = "NetworkReady";
pub(crate) const IMAGE_READY: &str = "ImageReady";
pub(crate) const FOLDER_READY: &str = "FolderReady";
/// The condition that the inventory's tags say the same zones as the class.
pub(crate) const ZONES_READY: &str = "ZonesReady";

/// All of them.
pub(crate) const CONDITIONS: [&str; 5] =
    [COMPUTE_READY, DATASTORE_READY, NETWORK_READY, IMAGE_READY, FOLDER_READY];

/// The resolution of a class in a vCenter.
#[derive(Debug, Clone)]
pub(crate) struct Resolution {
    pub(crate) image: Template,
    /// The id of the storage policy, if one is set.
    pub(crate) storage_policy: Option<String>,
    /// At least one.
    pub(crate) places: Vec<Place>,
}

/// Where instances of a zone go.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// None for a place that is every zone's.
    pub(crate) zone: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) compute: Compute,
    pub(crate) datastores: Datastores,
    /// One for each adapter, at least one.
    pub(crate) networks: Vec<Network>,
    pub(crate) folder: Folder,
    /// The group of the cluster's instances that they belong to.
    pub(crate) vm_group: Option<String>,
}

/// A folder of instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) path: String,
    pub(crate) reference: MoRef,
}

/// A problem of a class's resolution, with the condition that reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) condition: &'static str,
    pub(crate) unresolved: Unresolved,
}

/// Paths that a class's selectors lead to, by the condition that says so.
pub(crate) type LedTo = BTreeMap<&'static str, BTreeSet<String>>;

/// Why a class does not resolve, with the paths that its selectors match anyway.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    /// At least one.
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) led_to: LedTo,
}

/// Paths of the folders that a class's instances go into, one for each of its places.
pub(crate) fn folder_paths(class: &NodeClass, datacenter: &Named, base: &str) -> Vec<String> {
    let of_class = class.spec.folder.as_deref().unwrap_or_default();
    places_of(class)
        .map(|zone| {
            let own = zone.and_then(|zone| zone.folder.as_deref()).unwrap_or(of_class);
            folder_path(datacenter, base, own)
        })
        .collect()
}

/// The path of a folder below the controller's.
pub(crate) fn folder_path(datacenter: &Named, base: &str, below: &str) -> String {
    let parts = base.split('/').chain(below.split('/')).filter(|part| !part.is_empty());
    parts.fold(format!("{}/vm", datacenter.path), |path, part| format!("{path}/{part}"))
}

/// The zones that a class maps to places; none stands for the one place of a class that maps none.
fn places_of(class: &NodeClass) -> impl Iterator<Item = Option<&Zone>> {
    let zones = class.spec.zones.as_deref().unwrap_or_default();
    let only = zones.is_empty().then_some(None);
    zones.iter().map(Some).chain(only)
}

/// Resolves a class, or returns every problem that prevents it.
pub(crate) fn resolve(
    class: &NodeClass,
    inventory: &Inventory,
    tagged: &Tagged,
    folders: &[(String, Option<MoRef>)],
) -> Result<Resolution, Stuck> {
    let mut stuck = Stuck::default();
    let mut places = Vec::new();
    for ((i, zone), folder) in places_of(class).enumerate().zip(folders) {
        match place(class, zone.map(|zone| (i, zone)), inventory, tagged, folder) {
            Ok(place) => {
                place.add_paths(&mut stuck.led_to);
                places.push(place);
            }
            Err(own) => {
                stuck.troubles.extend(own.troubles);
                for (condition, paths) in own.led_to {
                    stuck.led_to.entry(condition).or_default().extend(paths);
                }
            }
        }
    }
    match image(class, inventory, tagged) {
        Ok(image) if stuck.troubles.is_empty() => {
            return Ok(Resolution { image, storage_policy: None, places });
        }
        Ok(image) => add_path(&mut stuck.led_to, IMAGE_READY, &image.named.path),
        Err(unresolved) => stuck.troubles.push(Trouble { condition: IMAGE_READY, unresolved }),
    }
    Err(stuck)
}

fn add_path(led_to: &mut LedTo, condition: &'static str, path: &str) {
    led_to.entry(condition).or_default().insert(path.to_owned());
}

fn image(
    class: &NodeClass,
    inventory: &Inventory,
    tagged: &Tagged,
) -> Result<Template, Unresolved> {
    let wanted = class.spec.image_selector.as_ref().and_then(ImageSelector::wanted);
    let wanted = wanted.ok_or_else(|| says_nothing("spec.imageSelector"))?;
    choose::image("spec.imageSelector", wanted, tagged, inventory)
}

/// The problems of the chosen template for the class's instances.
pub(crate) fn check_image(
    class: &NodeClass,
    image: &Template,
    instances: &Instances,
) -> Result<(), Unresolved> {
    if image.details.disks.is_empty() {
        return Err(Unresolved {
            reason: "ImageWithoutDisk",
            message: format!("{} has no disk to start from; choose another", image.named.path),
        });
    }
    if let Some(unresolved) = image::cannot_boot(class, image) {
        return Err(unresolved);
    }
    let least = image.disk_gib().unwrap_or_default();
    let entries = class.spec.instance_types.iter().flatten().enumerate();
    let of_entries =
        entries.map(|(i, entry)| (format!("spec.instanceTypes[{i}].diskSize"), entry.disk_size));
    let asked = of_entries.chain([("spec.diskSize".to_owned(), class.spec.disk_size)]);
    for (field, asked) in asked {
        if let Some(gib) = asked.filter(|gib| *gib > 0 && *gib < least) {
            return Err(Unresolved {
                reason: "DiskSmallerThanTemplate",
                message: format!(
                    "{field} asks for {gib} GiB, but the disk of {} has {least}, and none can be \
                     made smaller; write {least} or more, or 0 to keep it",
                    image.named.path
                ),
            });
        }
    }
    let version = |word: &str| HardwareVersion::read(Some(word)).ok().flatten();
    let wanted = class.spec.hardware_version.as_deref().and_then(version);
    let own = version(&image.details.hw_version);
    if let (Some(wanted), Some(own)) = (wanted, own)
        && wanted < own
    {
        return Err(Unresolved {
            reason: "HardwareVersionTooOld",
            message: format!(
                "spec.hardwareVersion asks for {wanted}, but {} has {own}, and hardware is never \
                 made older; write {own} or a later one, or leave it out",
                image.named.path
            ),
        });
    }
    for hardware in instances.hardware.values() {
        Copying::choose(class, image, hardware.disk_gib)?;
    }
    Ok(())
}

/// The id of the storage policy of a name, among those that the account sees.
pub(crate) fn storage_policy(name: &str, known: &[StoragePolicy]) -> Result<String, Trouble> {
    if let Some(found) = known.iter().find(|own| own.name == name) {
        return Ok(found.id.clone());
    }
    let mut names: Vec<&str> = known.iter().map(|own| own.name.as_str()).collect();
    names.sort_unstable();
    let others = if names.is_empty() {
        "the account sees none: give it the privilege StorageProfile.View on the vCenter".to_owned()
    } else {
        format!("write one of {}", names.join(", "))
    };
    Err(Trouble {
        condition: DATASTORE_READY,
        unresolved: Unresolved {
            reason: "StoragePolicyNotFound",
            message: format!("spec.storagePolicyName: there is no policy {name:?}; {others}"),
        },
    })
}

impl Place {
    /// Adds where its selectors lead.
    fn add_paths(&self, to: &mut LedTo) {
        add_path(to, COMPUTE_READY, &self.compute.named.path);
        add_path(to, FOLDER_READY, &self.folder.path);
        add_datastores(to, &self.datastores);
        add_networks(to, &self.networks);
    }

    /// Leaves only the datastores that meet a storage policy.
    pub(crate) fn keep_meeting(
        &mut self,
        policy: &str,
        meeting: &BTreeSet<MoRef>,
    ) -> Result<(), Trouble> {
        let names: Vec<String> =
            self.datastores.usable.iter().map(|own| own.named.path.clone()).collect();
        self.datastores.usable.retain(|own| meeting.contains(&own.named.reference));
        if !self.datastores.usable.is_empty() {
            return Ok(());
        }
        Err(Trouble {
            condition: DATASTORE_READY,
            unresolved: Unresolved {
                reason: "StoragePolicyNotMet",
                message: format!(
                    "no datastore that the class leads to in {} ({}) meets the storage policy \
                     {policy:?}; choose others, or another policy",
                    self.compute.named.path,
                    names.join(", ")
                ),
            },
        })
    }
}

fn add_datastores(to: &mut LedTo, datastores: &Datastores) {
    for own in &datastores.usable {
        add_path(to, DATASTORE_READY, &own.named.path);
    }
}

fn add_networks(to: &mut LedTo, networks: &[Network]) {
    for own in networks {
        add_path(to, NETWORK_READY, &own.named.path);
    }
}

fn place(
    class: &NodeClass,
    zone: Option<(usize, &Zone)>,
    inventory: &Inventory,
    tagged: &Tagged,
    (folder_path, folder): &(String, Option<MoRef>),
) -> Result<Place, Stuck> {
    let spec = &class.spec;
    let asked = |name: &str, of_zone: Option<&Selector>, of_class: Option<&Selector>| {
        let at = zone.map(|(i, _)| format!("spec.zones[{i}].{name}"));
        match of_zone.filter(|own| own.wanted().is_some()) {
            Some(own) => (at.unwrap_or_default(), Some(own.clone())),
            None => (format!("spec.{name}"), of_class.cloned()),
        }
    };
    let of_zone = zone.map(|(_, zone)| zone);
    let (field, selector) = asked(
        "computeSelector",
        of_zone.and_then(|zone| zone.compute_selector.as_ref()),
        spec.compute_selector.as_ref(),
    );
    let compute = wanted_of(&field, selector.as_ref())
        .and_then(|wanted| choose::compute(&field, wanted, tagged, inventory));
    let folder = folder.clone().ok_or_else(|| Unresolved {
        reason: "FolderNotFound",
        message: format!(
            "there is no folder {folder_path} that the account can see; make it, or correct \
             VSPHERE_FOLDER (--vsphere-path) or spec.folder"
        ),
    });
    let (datastores, networks) = match &compute {
        Ok(compute) => {
            let (field, selector) = asked(
                "datastoreSelector",
                of_zone.and_then(|zone| zone.datastore_selector.as_ref()),
                spec.datastore_selector.as_ref(),
            );
            let datastores = wanted_of(&field, selector.as_ref())
                .and_then(|wanted| choose::datastores(&field, wanted, tagged, inventory, compute));
            let networks: Result<Vec<Network>, Unresolved> = network_selectors(class, zone)
                .into_iter()
                .map(|(field, selector)| {
                    let wanted = wanted_of(&field, selector)?;
                    choose::network(&field, wanted, tagged, inventory, compute)
                })
                .collect();
            (Some(datastores), Some(networks))
        }
        Err(_) => (None, None),
    };
    match (compute, datastores, networks, folder) {
        (Ok(compute), Some(Ok(datastores)), Some(Ok(networks)), Ok(folder)) => Ok(Place {
            zone: of_zone.map(|zone| zone.name.clone()),
            region: of_zone.and_then(|zone| zone.region.clone()).filter(|own| !own.is_empty()),
            compute,
            datastores,
            networks,
            folder: Folder { path: folder_path.clone(), reference: folder },
            vm_group: of_zone
                .and_then(|zone| zone.vm_group.clone())
                .filter(|name| !name.is_empty()),
        }),
        (compute, datastores, networks, folder) => {
            let Stuck { mut troubles, led_to: mut to } = Stuck::default();
            let mut tell = |condition: &'static str, unresolved: Unresolved| {
                troubles.push(Trouble { condition, unresolved });
            };
            match compute {
                Ok(own) => add_path(&mut to, COMPUTE_READY, &own.named.path),
                Err(unresolved) => tell(COMPUTE_READY, unresolved),
            }
            match datastores {
                Some(Ok(own)) => add_datastores(&mut to, &own),
                Some(Err(unresolved)) => tell(DATASTORE_READY, unresolved),
                None => {}
            }
            match networks {
                Some(Ok(own)) => add_networks(&mut to, &own),
                Some(Err(unresolved)) => tell(NETWORK_READY, unresolved),
                None => {}
            }
            match folder {
                Ok(_) => add_path(&mut to, FOLDER_READY, folder_path),
                Err(unresolved) => tell(FOLDER_READY, unresolved),
            }
            Err(Stuck { troubles, led_to: to })
        }
    }
}

/// What says which network each adapter is in, with the field that does.
fn network_selectors<'c>(
    class: &'c NodeClass,
    zone: Option<(usize, &'c Zone)>,
) -> Vec<(String, Option<&'c Selector>)> {
    let spec = &class.spec;
    let of_zone = zone.and_then(|(i, zone)| {
        let own = zone.network_selector.as_ref().filter(|own| own.wanted().is_some())?;
        Some((format!("spec.zones[{i}].networkSelector"), Some(own)))
    });
    let of_adapter = spec
        .first_adapters_selector()
        .map(|own| ("spec.networks[0].selector".to_owned(), Some(own)));
    let first = of_zone
        .or(of_adapter)
        .unwrap_or_else(|| ("spec.networkSelector".to_owned(), spec.network_selector.as_ref()));
    let others = spec.adapters().iter().enumerate().skip(1);
    let others = others
        .map(|(i, adapter)| (format!("spec.networks[{i}].selector"), adapter.selector.as_ref()));
    std::iter::once(first).chain(others).collect()
}

fn wanted_of<'s>(field: &str, selector: Option<&'s Selector>) -> Result<Wanted<'s>, Unresolved> {
    selector.and_then(Selector::wanted).ok_or_else(|| says_nothing(field))
}

fn says_nothing(field: &str) -> Unresolved {
    Unresolved {
        reason: "SelectorMissing",
        message: format!("{field} says nothing; write a name or tags"),
    }
}

impl Resolution {
    /// Where instances of a zone go.
    pub(crate) fn place(&self, zone: Option<&str>) -> Option<&Place> {
        let own =
            self.places.iter().find(|place| place.zone.is_some() && place.zone.as_deref() == zone);
        own.or_else(|| self.places.iter().find(|place| place.zone.is_none()))
    }

    /// Where the class's selectors lead.
    pub(crate) fn led_to(&self) -> LedTo {
        let mut to = LedTo::new();
        add_path(&mut to, IMAGE_READY, &self.image.named.path);
        for place in &self.places {
            place.add_paths(&mut to);
        }
        to
    }

    /// What the class's status says of it.
    pub(crate) fn status(&self) -> Map<String, Value> {
        let named =
            |named: &Named| json!({"name": named.name, "moref": named.reference.to_string()});
        let image = &self.image;
        let details = &image.details;
        let mut of_image = json!({
            "name": image.named.name,
            "path": image.named.path,
            "moref": image.named.reference.to_string(),
            "instanceUUID": image.instance_uuid,
            "diskGiB": image.disk_gib(),
            "guestId": details.guest_id,
            "hwVersion": details.hw_version,
            "snapshot": details.current_snapshot.as_ref().map(ToString::to_string),
        });
        if let Some(fields) = of_image.as_object_mut() {
            fields.retain(|_, value| !value.is_null() && *value != "");
        }
        let zones: Vec<Value> = self
            .places
            .iter()
            .map(|place| {
                let mut zone = json!({
                    "zone": place.zone,
                    "region": place.region,
                    "compute": named(&place.compute.named),
                    "datastore": place.datastores.usable.first().map(|own| named(&own.named)),
                    "network": place.networks.first().map(|own| named(&own.named)),
                    "folder": place.folder.path,
                });
                if let Some(fields) = zone.as_object_mut() {
                    fields.retain(|_, value| !value.is_null());
                }
                zone
            })
            .collect();
        Map::from_iter([("image".to_owned(), of_image), ("zones".to_owned(), Value::Array(zones))])
    }
}
