//! Checks whether instances of the chosen template can start and join.

use crate::{
    choose::Unresolved,
    inventory::Template,
    node_class::{NodeClass, UserData},
    vm_settings::HardwareVersion,
};

/// A possible obstacle to joining, which only a running instance can confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// For programs.
    pub(crate) code: &'static str,
    /// The observation.
    pub(crate) text: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

/// Why no instance could start from a template by its firmware.
pub(crate) fn cannot_boot(class: &NodeClass, image: &Template) -> Option<Unresolved> {
    let details = &image.details;
    if details.firmware != "bios" {
        return None;
    }
    let path = &image.named.path;
    let arm = class.spec.instance_types.iter().flatten().enumerate().find(|(_, entry)| {
        entry.arch.as_deref().is_some_and(|arch| arch.eq_ignore_ascii_case("arm64"))
    });
    let why = if let Some((i, _)) = arm {
        format!("spec.instanceTypes[{i}].arch is arm64, whose instances start by EFI only")
    } else if details.mainboard_needs_efi {
        "its mainboard was made for EFI and does not start by anything else".to_owned()
    } else {
        return None;
    };
    Some(Unresolved {
        reason: "FirmwareCannotBoot",
        message: format!(
            "{path} has the firmware BIOS, but {why}; set the template's firmware to the one that \
             its system was installed with, or choose another template (spec.imageSelector)"
        ),
    })
}

/// Possible obstacles to joining for instances of a template. They are uncertain, so the class stays
/// ready.
pub(crate) fn doubts(class: &NodeClass, image: &Template) -> Vec<Doubt> {
    let (details, path) = (&image.details, &image.named.path);
    let mut doubts = Vec::new();
    // vCenter says the same of a template that has no tools and of one that never ran, as imported
    // appliances have not. Talos reads its settings without tools.
    if details.tools == Some(false) && !is_talos(class.spec.user_data.as_ref()) {
        doubts.push(Doubt {
            code: "ToolsNeverSeen",
            text: format!(
                "vCenter has never seen VMware Tools in {path}: it was never started, or has none, \
                 and then its instances cannot read how to join"
            ),
            remedy: "make sure that open-vm-tools is installed in the template".to_owned(),
        });
    }
    let read = |word: &str| HardwareVersion::read(Some(word)).ok().flatten();
    let upgraded = class.spec.hardware_version.as_deref().and_then(read);
    let version = upgraded.or_else(|| read(&details.hw_version));
    if let Some(version) = version.filter(|version| *version < HardwareVersion::FOR_VOLUMES) {
        doubts.push(Doubt {
            code: "HardwareTooOld",
            text: format!(
                "the virtual hardware of instances from {path} is {version}, and vSphere's volumes \
                 need {}",
                HardwareVersion::FOR_VOLUMES
            ),
            remedy: format!(
                "write {} or later in spec.hardwareVersion, or upgrade the template, if volumes \
                 are to be attached",
                HardwareVersion::FOR_VOLUMES
            ),
        });
    }
    doubts
}

fn is_talos(user_data: Option<&UserData>) -> bool {
    user_data.is_some_and(|own| own.type_.as_deref() == Some("talos"))
}

#[cfg(test)]
mod tests {
    use joiner_vim::MoRef;
    use serde_json::json;

    use super::*;
    use crate::inventory::{Details, Named};

    fn image(details: Details) -> Template {
        Template {
            named: Named {
                reference: MoRef::new("VirtualMachine", "vm-1"),
                name: "ubuntu".to_owned(),
                path: "/dc1/vm/ubuntu".to_owned(),
            },
            is_marked: true,
            created: None,
            instance_uuid: String::new(),
            details,
        }
    }

    fn class(spec: serde_json::Value) -> NodeClass {
        NodeClass::read(&json!({"metadata": {"name": "general"}, "spec": spec}))
            .expect("the schema accepts it")
    }

    fn of_firmware(firmware: &str, mainboard_needs_efi: bool) -> Template {
        image(Details { firmware: firmware.to_owned(), mainboard_needs_efi, ..Details::default() })
    }

    #[test]
    fn bios_starts_neither_arm_nor_a_mainboard_for_efi() {
        let (amd, arm) = (class(json!({})), class(json!({"instanceTypes": [{"arch": "arm64"}]})));
        let reason = |class: &NodeClass, image: &Template| {
            cannot_boot(class, image).map(|unresolved| unresolved.reason)
        };
        assert_eq!(reason(&amd, &of_firmware("bios", false)), None);
        assert_eq!(reason(&amd, &of_firmware("bios", true)), Some("FirmwareCannotBoot"));
        assert_eq!(reason(&arm, &of_firmware("bios", false)), Some("FirmwareCannotBoot"));
        assert_eq!(reason(&arm, &of_firmware("efi", true)), None);
        assert_eq!(reason(&arm, &of_firmware("", true)), None, "what nobody says is not wrong");
    }

    #[test]
    fn tools_that_were_never_seen_are_a_doubt_and_no_more() {
        let codes = |spec, details| -> Vec<&'static str> {
            doubts(&class(spec), &image(details)).iter().map(|doubt| doubt.code).collect()
        };
        let without = || Details { tools: Some(false), ..Details::default() };
        assert_eq!(codes(json!({}), without()), ["ToolsNeverSeen"]);
        assert!(codes(json!({"userData": {"type": "talos"}}), without()).is_empty());
        assert!(codes(json!({}), Details::default()).is_empty(), "nobody says");
    }

    #[test]
    fn old_hardware_takes_no_volumes() {
        let told = |spec, version: &str| {
            let details = Details { hw_version: version.to_owned(), ..Details::default() };
            doubts(&class(spec), &image(details)).len()
        };
        let of = |version| told(json!({}), version);
        assert_eq!((of("vmx-13"), of("vmx-15"), of("")), (1, 0, 0));
        assert_eq!(told(json!({"hardwareVersion": "vmx-19"}), "vmx-13"), 0, "it is upgraded");
    }
}
