//! Who may change which key of a configuration.

use std::collections::BTreeSet;

use super::{Call, Change};
use crate::{
    inventory::TagAccess,
    refusal::Refusal,
    schema::{
        format::{is_disk, tags},
        property::Properties,
    },
    world::World,
};

/// What a change of a key needs.
enum Need {
    Any(&'static [&'static str]),
    /// The user root with a ticket.
    Root,
}

fn need(key: &str, value: &str) -> Need {
    let drive = is_disk(key) || key.starts_with("unused");
    let stem = key.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match stem {
        _ if drive && (value.contains("media=cdrom") || value.starts_with("none")) => {
            Need::Any(&["VM.Config.CDROM"])
        }
        _ if drive => Need::Any(&["VM.Config.Disk"]),
        "boot" | "bootdisk" => Need::Any(&["VM.Config.Disk"]),
        "cdrom" => Need::Any(&["VM.Config.CDROM"]),
        "cores" | "sockets" | "cpu" | "numa" | "vcpus" | "cpulimit" | "cpuunits" | "smp" => {
            Need::Any(&["VM.Config.CPU"])
        }
        "memory" | "balloon" | "shares" | "allow-ksm" => Need::Any(&["VM.Config.Memory"]),
        "acpi" | "machine" | "scsihw" | "smbios" | "vga" | "tablet" | "keyboard" | "rng"
        | "watchdog" | "audio" | "kvm" => Need::Any(&["VM.Config.HWType"]),
        "serial" if value.is_empty() || value == "socket" => Need::Any(&["VM.Config.HWType"]),
        "usb" if value.starts_with("spice") => Need::Any(&["VM.Config.HWType"]),
        "hostpci" if value.is_empty() || value.contains("mapping=") => {
            Need::Any(&["VM.Config.HWType"])
        }
        "name" | "description" | "onboot" | "ostype" | "agent" | "bios" | "protection" | "tags"
        | "hotplug" | "startdate" | "autostart" | "freeze" | "localtime" | "migrate_downtime"
        | "migrate_speed" | "reboot" | "tdf" | "spice_enhancements" | "template" => {
            Need::Any(&["VM.Config.Options"])
        }
        "net" => Need::Any(&["VM.Config.Network"]),
        "ipconfig" | "nameserver" | "searchdomain" => {
            Need::Any(&["VM.Config.Cloudinit", "VM.Config.Network"])
        }
        "cipassword" | "ciuser" | "citype" | "ciupgrade" | "cicustom" | "sshkeys" => {
            Need::Any(&["VM.Config.Cloudinit"])
        }
        _ => Need::Root,
    }
}

impl World {
    /// Refuses a caller who may not make a change.
    pub(in crate::calls) fn may_change(
        &self,
        call: &Call,
        vmid: u32,
        change: &Change,
    ) -> Result<(), Refusal> {
        if call.caller.is_root() {
            return Ok(());
        }
        let path = format!("/vms/{vmid}");
        let pool = call.get("pool").map(|pool| format!("/pool/{pool}"));
        let may = |privileges: &[&str]| match &pool {
            Some(pool) if self.demand(&call.caller, pool, privileges).is_ok() => Ok(()),
            _ => self.demand(&call.caller, &path, privileges),
        };
        let nothing = String::new();
        let deleted = change.delete.iter().map(|key| {
            let now = self.estate.vms.get(&vmid).and_then(|vm| vm.config.get(key));
            (key, now.unwrap_or(&nothing))
        });
        for (key, value) in change.set.iter().chain(deleted) {
            if key == "startup" {
                self.demand(&call.caller, "/", &["Sys.Modify"])?;
                continue;
            }
            match need(key, value) {
                Need::Any(privileges) => may(privileges)?,
                Need::Root => {
                    return Err(Refusal::failed(format!("only root can set '{key}' config")));
                }
            }
        }
        if call.get("lock").is_some() {
            return Err(Refusal::failed("only root can set 'lock' config"));
        }
        for (key, value) in &change.set {
            let properties = Properties::read(value);
            if key.starts_with("net")
                && let Some(bridge) = properties.get("bridge")
            {
                self.may_use_bridge(call, bridge, properties.get("tag"))?;
            }
            if let Some(mapping) = properties.get("mapping").filter(|_| key.starts_with("hostpci"))
            {
                let path = format!("/mapping/pci/{mapping}");
                self.demand(&call.caller, &path, &["Mapping.Use"])?;
            }
        }
        let (stores, _) = change.allocates();
        for store in stores {
            let path = format!("/storage/{store}");
            self.demand(&call.caller, &path, &["Datastore.AllocateSpace"])?;
        }
        Ok(())
    }

    pub(in crate::calls) fn may_use_bridge(
        &self,
        call: &Call,
        bridge: &str,
        tag: Option<&str>,
    ) -> Result<(), Refusal> {
        let mut path = format!("/sdn/zones/localnetwork/{bridge}");
        if let Some(tag) = tag {
            path.push('/');
            path.push_str(tag);
        }
        self.demand(&call.caller, &path, &["SDN.Use"])
    }

    /// Refuses tags that the policy of the datacenter forbids.
    pub(in crate::calls) fn check_tags(
        &self,
        call: &Call,
        vmid: u32,
        change: &Change,
    ) -> Result<(), Refusal> {
        let Some(wanted) = change.set.get("tags") else { return Ok(()) };
        let now = self.estate.vms.get(&vmid).and_then(|vm| vm.config.get("tags"));
        let now: BTreeSet<&str> = now.map(|now| tags(now).collect()).unwrap_or_default();
        let wanted: BTreeSet<&str> = tags(wanted).collect();
        let policy = &self.estate.tag_policy;
        for tag in now.symmetric_difference(&wanted) {
            let exists = || {
                let all = self.estate.vms.values().filter_map(|vm| vm.config.get("tags"));
                all.flat_map(|it| tags(it)).any(|known| known == *tag)
            };
            let free = match policy.access {
                TagAccess::Free => true,
                TagAccess::Existing => exists(),
                TagAccess::None => false,
            };
            let allowed = free && !policy.registered.contains(*tag);
            if !allowed && !self.may(&call.caller, "/", "Sys.Modify") {
                let needed = format!("Sys.Modify for modifying tag '{tag}'");
                return Err(Refusal::permission("/", &needed));
            }
        }
        Ok(())
    }
}
