//! Flags and variables of this provider, as plain data: a command line is built from them.
//!
//! Names and defaults are the predecessor's, so that charts stay as they are.

use std::str::FromStr;

/// One setting, as its users know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The name of the flag, without dashes in front.
    pub name: &'static str,
    /// The variable that is read where the flag is not given.
    pub variable: &'static str,
    /// What stands for the value in help texts.
    pub value: &'static str,
    /// The default as it would be typed; empty for none.
    pub default: &'static str,
    /// What it is for, in a line.
    pub help: &'static str,
}

const fn setting(
    name: &'static str,
    variable: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { name, variable, value, default, help }
}

/// The configuration file.
pub const CLOUD_CONFIG: Setting = setting(
    "cloud-config",
    "CLOUD_CONFIG",
    "FILE",
    "",
    "Proxmox VE clusters and how they are reached, as YAML; turns the provider on",
);
/// The file of instance types.
pub const INSTANCE_TYPES_FILE: Setting = setting(
    "instance-types-file",
    "INSTANCE_TYPES_FILE",
    "FILE",
    "",
    "Instance types as JSON, instead of the built-in ones; read again when it changes",
);
/// The file with what is known of hosts.
pub const NODE_SETTING_FILE: Setting = setting(
    "node-setting-file",
    "NODE_SETTING_FILE",
    "FILE",
    "",
    "What hosts are made of and what they keep for themselves, as JSON; read again when it changes",
);
/// How CPUs of hosts are given out.
pub const NODE_POLICY: Setting = setting(
    "node-policy",
    "NODE_POLICY",
    "POLICY",
    "simple",
    "How CPUs of hosts are given out: simple (counted) or static (each instance has its own)",
);
/// The lowest id of a virtual machine.
pub const PROXMOX_VMID: Setting = setting(
    "proxmox-vmid",
    "PROXMOX_VMID",
    "NUMBER",
    "20000",
    "The lowest id that a virtual machine of an instance is given",
);
/// How much memory guests do not see.
pub const VM_MEMORY_OVERHEAD_PERCENT: Setting = setting(
    "proxmox-vm-memory-overhead-percent",
    "PROXMOX_VM_MEMORY_OVERHEAD_PERCENT",
    "SHARE",
    "",
    "Share of a VM's memory that its guest does not see, for Proxmox VE alone; without it that of all clouds, or none",
);

/// All of them.
pub const SETTINGS: [&Setting; 6] = [
    &CLOUD_CONFIG,
    &INSTANCE_TYPES_FILE,
    &NODE_SETTING_FILE,
    &NODE_POLICY,
    &PROXMOX_VMID,
    &VM_MEMORY_OVERHEAD_PERCENT,
];

/// How CPUs of hosts are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// They are counted.
    #[default]
    Simple,
    /// Each instance has CPUs of its own.
    Static,
}

impl FromStr for Policy {
    type Err = String;

    /// COMPAT: upstream takes every other word for `simple`.
    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "simple" => Ok(Self::Simple),
            "static" => Ok(Self::Static),
            other => Err(format!("{other:?} is no policy; use simple or static")),
        }
    }
}

/// Ids that Proxmox VE gives to virtual machines.
pub const VMIDS: std::ops::RangeInclusive<u32> = 100..=999_999_999;

/// The lowest id that a virtual machine is given, as typed.
pub fn lowest_vmid(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| VMIDS.contains(number));
    number.ok_or_else(|| {
        format!("{text:?} is no id of a virtual machine; use {} to {}", VMIDS.start(), VMIDS.end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_read() {
        assert_eq!(NODE_POLICY.default.parse(), Ok(Policy::Simple));
        assert_eq!(lowest_vmid(PROXMOX_VMID.default), Ok(20000));
    }

    #[test]
    fn an_unknown_policy_is_refused() {
        assert_eq!(
            "Static".parse::<Policy>(),
            Err("\"Static\" is no policy; use simple or static".to_owned())
        );
        assert_eq!("static".parse(), Ok(Policy::Static));
        assert_eq!(
            lowest_vmid("99"),
            Err("\"99\" is no id of a virtual machine; use 100 to 999999999".to_owned())
        );
    }
}
