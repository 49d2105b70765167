//! What keeps a class from being used, beyond what its schema refuses.

use joiner_cloud::spec::entry::is_disk;

use super::{ImageSelector, NodeClass, Selector, Wanted, Zone};
use crate::{
    NODE_CLASS_KIND, Problem, Reason, Settings, marks, networks, resources, tags, user_data,
    vm_settings::{AntiAffinity, CloneMode, HardwareVersion, PowerOff, Provisioning},
};

/// SCSI controllers have sixteen units, one of which is their own and one the root disk's.
const MAX_DATA_DISKS: usize = 14;

impl NodeClass {
    /// Everything that keeps the class from being used, as far as the object itself shows it.
    pub fn problems(&self, settings: &Settings) -> Vec<Problem> {
        let mut problems = self.spelling.clone();
        self.check_selectors(&mut problems);
        if let Err(not_ready) = self.instances(settings) {
            problems.extend(not_ready.problems);
        }
        problems.extend(user_data::problems(&self.spec));
        problems.extend(networks::problems(&self.spec));
        let format = user_data::class_text(self).written_format();
        problems.extend(format.and_then(|format| networks::untold(&self.spec, format)));
        problems.extend(tags::conflicts(self.spec.tags.as_ref()));
        problems.extend(resources::problems(&self.spec));
        self.check_instance(&mut problems);
        problems
    }

    /// Fields that are set and have no effect, each in a sentence.
    pub fn ignored(&self) -> Vec<String> {
        let mut ignored = Vec::new();
        let mut say = |field: &str, winner: &str| {
            ignored.push(format!(
                "{NODE_CLASS_KIND} {:?}: spec.{field} is not used, because {winner} is set too",
                self.name
            ));
        };
        let spec = &self.spec;
        let of_class = [
            ("computeSelector".to_owned(), &spec.compute_selector),
            ("datastoreSelector".to_owned(), &spec.datastore_selector),
            ("networkSelector".to_owned(), &spec.network_selector),
        ];
        let adapters = spec.adapters().iter().enumerate();
        let of_adapters =
            adapters.map(|(i, adapter)| (format!("networks[{i}].selector"), &adapter.selector));
        for (selector, named) in of_class.into_iter().chain(of_adapters) {
            let both = named.as_ref().is_some_and(|named| {
                matches!(named.wanted(), Some(Wanted::Tags(_))) && written(named.name.as_ref())
            });
            if both {
                say(&format!("{selector}.name"), "tags");
            }
        }
        if is_asked(spec.first_adapters_selector()) && is_asked(spec.network_selector.as_ref()) {
            say("networkSelector", "networks[0].selector");
        }
        if let Some(image) = &spec.image_selector {
            let winner = match image.wanted() {
                Some(Wanted::Tags(_)) => "tags",
                Some(Wanted::Name(_)) => "name",
                Some(Wanted::Pattern(_)) | None => "",
            };
            if winner == "tags" && written(image.name.as_ref()) {
                say("imageSelector.name", winner);
            }
            if !winner.is_empty() && written(image.pattern.as_ref()) {
                say("imageSelector.pattern", winner);
            }
        }
        if let Some(datacenter) = &spec.dc_selector
            && matches!(datacenter.wanted(), Some(Wanted::Tags(_)))
            && written(datacenter.id.as_ref())
        {
            say("dcSelector.id", "tags");
        }
        ignored
    }

    fn check_selectors(&self, problems: &mut Vec<Problem>) {
        let spec = &self.spec;
        let zones = spec.zones.as_deref().unwrap_or_default();
        // A class may leave to its zones what every one of them says.
        let says = |own: fn(&Zone) -> Option<&Selector>| {
            !zones.is_empty() && zones.iter().all(|zone| is_asked(own(zone)))
        };
        let placement = [
            (
                "computeSelector",
                is_asked(spec.compute_selector.as_ref()),
                says(|zone| zone.compute_selector.as_ref()),
            ),
            (
                "datastoreSelector",
                is_asked(spec.datastore_selector.as_ref()),
                says(|zone| zone.datastore_selector.as_ref()),
            ),
            (
                "networkSelector",
                is_asked(spec.first_adapters_selector().or(spec.network_selector.as_ref())),
                says(|zone| zone.network_selector.as_ref()),
            ),
        ];
        for (selector, of_class, of_zones) in placement {
            if !of_class && !of_zones {
                problems.push(missing(selector, "{name: …} or {tags: {category: tag}}"));
            }
        }
        for (i, adapter) in spec.adapters().iter().enumerate().skip(1) {
            if !is_asked(adapter.selector.as_ref()) {
                let selector = format!("networks[{i}].selector");
                problems.push(missing(&selector, "{name: …} or {tags: {category: tag}}"));
            }
        }
        if spec.image_selector.as_ref().and_then(ImageSelector::wanted).is_none() {
            problems.push(missing(
                "imageSelector",
                "{name: …}, {pattern: …} or {tags: {category: tag}}",
            ));
        }
    }

    fn check_instance(&self, problems: &mut Vec<Problem>) {
        let spec = &self.spec;
        let mut refuse = |field: String, text: String| {
            problems.push(Problem::new(Reason::INVALID_INSTANCE, field, text));
        };
        if let Err(text) = CloneMode::read(spec.clone_mode.as_deref()) {
            refuse("spec.cloneMode".to_owned(), text);
        }
        if let Err(text) = AntiAffinity::read(spec.anti_affinity.as_deref()) {
            refuse("spec.antiAffinity".to_owned(), text);
        }
        if let Err(text) = HardwareVersion::read(spec.hardware_version.as_deref()) {
            refuse("spec.hardwareVersion".to_owned(), text);
        }
        if let Err(text) = PowerOff::read(
            spec.power_off_mode.as_deref(),
            spec.guest_soft_power_off_timeout.as_ref(),
        ) {
            refuse("spec.powerOffMode".to_owned(), text);
        }
        let zones = spec.zones.iter().flatten().enumerate();
        let of_zones = zones.map(|(i, zone)| (format!("spec.zones[{i}].folder"), &zone.folder));
        for (field, folder) in of_zones.chain([("spec.folder".to_owned(), &spec.folder)]) {
            let folder = folder.as_deref().unwrap_or_default();
            if folder.split('/').any(|part| part == "..") {
                refuse(
                    field,
                    format!("{folder:?} leads upwards; write a path below the controller's folder"),
                );
            }
        }
        let disks = spec.data_disks.as_deref().unwrap_or_default();
        if disks.len() > MAX_DATA_DISKS {
            let text = format!("lists {} disks; keep {MAX_DATA_DISKS} at most", disks.len());
            refuse("spec.dataDisks".to_owned(), text);
        }
        for (i, disk) in disks.iter().enumerate() {
            let of = disk.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let gib = disk.size_gib.unwrap_or_default();
            if gib == 0 || !is_disk(gib) {
                let text = format!("{gib} is no disk's size; write GiB, 1 or more");
                refuse(format!("spec.dataDisks[{i}].sizeGiB{of}"), text);
            }
            if let Err(text) = Provisioning::read(disk.provisioning_mode.as_deref()) {
                refuse(format!("spec.dataDisks[{i}].provisioningMode{of}"), text);
            }
        }
        for key in spec.custom_vmx_keys.iter().flat_map(|keys| keys.keys()) {
            if key.is_empty() || key.starts_with(marks::PREFIX) || key.starts_with("guestinfo.") {
                let text = "is not yours to set; use a key that does not begin with joiner. or \
                            guestinfo.";
                refuse(format!("spec.customVMXKeys[{key:?}]"), text.to_owned());
            }
        }
    }
}

fn is_asked(selector: Option<&Selector>) -> bool {
    selector.is_some_and(|selector| selector.wanted().is_some())
}

fn written(field: Option<&String>) -> bool {
    field.is_some_and(|text| !text.is_empty())
}

fn missing(selector: &str, example: &str) -> Problem {
    Problem::new(
        Reason::SELECTOR_MISSING,
        format!("spec.{selector}"),
        format!("says nothing; write {example}"),
    )
}
