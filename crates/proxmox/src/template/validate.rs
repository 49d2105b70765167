//! What keeps a template from being built, beyond what its schema refuses.

use super::{Network, Spec};
use crate::{
    object::{Object, Problem},
    property_string::tags,
};

/// Images that Proxmox VE can make disks of.
const EXTENSIONS: [&str; 4] = ["ova", "qcow2", "raw", "vmdk"];

impl Object<Spec> {
    /// Everything that keeps the template from being built, as far as the object itself shows it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let spec = &self.spec;
        let image = spec.source_image.clone().unwrap_or_default();
        if let Some(text) = wrong_name(image.image_name.as_deref().unwrap_or_default()) {
            problems.push(Problem::new("spec.sourceImage.imageName", text));
        }
        if image.checksum.is_some() != image.checksum_type.is_some() {
            let (missing, other) = if image.checksum.is_some() {
                ("checksumType", "checksum")
            } else {
                ("checksum", "checksumType")
            };
            let text = format!("is missing, and {other} is there; write both or none");
            problems.push(Problem::new(format!("spec.sourceImage.{missing}"), text));
        }
        for (i, tag) in spec.tags.iter().flatten().enumerate() {
            if !tags::is_valid(tag) {
                problems.push(Problem::new(format!("spec.tags[{i}]"), tags::not_a_tag(tag)));
            }
        }
        let adapters = spec.network.as_deref().unwrap_or_default();
        for (i, adapter) in adapters.iter().enumerate() {
            let key = adapter.key(i);
            let earlier = adapters[..i].iter().enumerate().find(|(j, own)| own.key(*j) == key);
            if let Some((earlier, _)) = earlier {
                let text = format!("{key:?} is that of network[{earlier}] too; rename one");
                problems.push(Problem::new(format!("spec.network[{i}].name"), text));
            }
        }
        problems
    }
}

impl Network {
    /// The key of the adapter at this index of the list.
    pub fn key(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("net{index}"))
    }
}

fn wrong_name(name: &str) -> Option<String> {
    let is_usable =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'+' | b'=' | b'_');
    let has_extension = name
        .rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && EXTENSIONS.contains(&extension));
    (!has_extension || !name.bytes().all(is_usable)).then(|| {
        format!(
            "{name:?} cannot be imported; write letters, digits, - . + = _ and one of the \
             extensions {}, such as ubuntu.qcow2",
            EXTENSIONS.join(", ")
        )
    })
}
