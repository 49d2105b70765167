//! Shell scripts that run in the guest.
//!
//! A script is a list of values, each in single quotes, and then a fixed text that uses them.
//! Nothing is ever put into the text itself.

use super::inputs::GuestLookup;

pub(crate) const COMMON: &str = include_str!("scripts/common.sh");
pub(crate) const COMPLETE_KUBEADM: &str = include_str!("scripts/complete-kubeadm.sh");
pub(crate) const COMPLETE_SUPERVISED: &str = include_str!("scripts/complete-supervised.sh");
pub(crate) const RESTART_RUNTIME: &str = include_str!("scripts/restart-runtime.sh");
pub(crate) const JOIN_KUBEADM: &str = include_str!("scripts/join-kubeadm.sh");
pub(crate) const SUPERVISED: &str = include_str!("scripts/supervised.sh");
pub(crate) const JOIN_RKE2: &str = include_str!("scripts/join-rke2.sh");
pub(crate) const JOIN_K3S: &str = include_str!("scripts/join-k3s.sh");
pub(crate) const JOINED: &str = include_str!("scripts/joined.sh");

/// A script that knows `values` by their names.
pub(crate) fn script(purpose: &str, values: &[(&str, &str)], parts: &[&str]) -> String {
    let values = values.iter().map(|(name, value)| format!("{name}={}\n", quoted(value)));
    let values: String = values.collect();
    format!("#!/bin/sh\n# {purpose}\nset -eu\n{values}{}", parts.concat())
}

/// The script that prints the instance's provider id.
pub(crate) fn provider_id(lookup: GuestLookup) -> String {
    match lookup {
        GuestLookup::Dmi => provider_id_by_dmi("/sys/class/dmi/id/product_serial"),
        GuestLookup::Metadata => provider_id_by_metadata("/var/lib/cloud/data", "/run/metadata"),
    }
}

/// Not by `product_uuid`: newer virtual hardware swaps the bytes of its first three groups.
fn provider_id_by_dmi(file: &str) -> String {
    let purpose =
        "Prints the provider id of this instance, from the serial number of its firmware.";
    script(purpose, &[("file", file)], &[include_str!("scripts/provider-id-dmi.sh")])
}

fn provider_id_by_metadata(cloud_data: &str, metadata: &str) -> String {
    let purpose = "Prints the provider id of this instance, from what its cloud tells it.";
    let values = [("cloud_data", cloud_data), ("metadata", metadata)];
    script(purpose, &values, &[include_str!("scripts/provider-id-metadata.sh")])
}

/// `text` as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
