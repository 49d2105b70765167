//! Disks of a virtual machine.

use std::collections::BTreeSet;

use super::{Config, PropertyString, indexed};

/// Buses of disks, in the order in which the first disk is looked for.
const BUSES: [&str; 4] = ["virtio", "scsi", "sata", "ide"];

/// The first disk: its option and what the option says.
pub fn boot_disk(config: &Config) -> Option<(String, &str)> {
    BUSES.iter().find_map(|bus| {
        let option = format!("{bus}0");
        let text = config.get(&option).filter(|text| is_disk(text))?;
        Some((option, text.as_str()))
    })
}

/// The storages that disks are in. CD-ROMs and cloud-init's drive are no disks, and the small ones of
/// firmware and of a trusted platform module have options of their own.
///
/// COMPAT: upstream counts CD-ROMs, and passes over a template whose CD-ROM is in another storage.
pub fn storages(config: &Config) -> BTreeSet<String> {
    let disks = BUSES.iter().flat_map(|bus| indexed(config, bus));
    let disks = disks.map(|(_, text)| text).filter(|text| is_disk(text));
    disks.filter_map(|text| Some(volume(text)?.0.to_owned())).collect()
}

/// The size of a disk in bytes, as its option says.
pub fn size(disk: &str) -> Option<u64> {
    let disk = PropertyString::parse(disk);
    let size = disk.get("size")?;
    let digits = size.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let shift = match &size[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let number: f64 = digits.parse().ok().filter(|number: &f64| *number >= 0.0)?;
    Some((number * f64::from(1 << 10).powi(shift / 10)).ceil() as u64)
}

/// The size that a disk is given when so many bytes are wanted, in whole GiB. None where it is at
/// least as large: disks are never made smaller.
///
/// COMPAT: upstream asks for a smaller disk too, and creation fails.
pub fn resize_to(disk: &str, wanted: u64) -> Option<String> {
    let gib = wanted.div_ceil(crate::GIB);
    let is_larger = size(disk).is_none_or(|has| gib * crate::GIB > has);
    (wanted > 0 && is_larger).then(|| format!("{gib}G"))
}

fn is_disk(text: &str) -> bool {
    let disk = PropertyString::parse(text);
    let is_cloud_init = volume(text).is_some_and(|(_, name)| name.contains("cloudinit"));
    disk.get("media") != Some("cdrom") && volume(text).is_some() && !is_cloud_init
}

/// Storage and name of a volume.
fn volume(text: &str) -> Option<(&str, &str)> {
    let first = text.split(',').find(|part| !part.contains('=') || part.starts_with("file="))?;
    first.strip_prefix("file=").unwrap_or(first).split_once(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(options: &[(&str, &str)]) -> Config {
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_disks_count_for_the_storages_of_a_template() {
        let template = config(&[
            ("scsi0", "local-lvm:base-100-disk-0,iothread=1,size=3G"),
            ("scsi1", "iothread=1,file=ceph:base-100-disk-1,size=3G"),
            ("ide0", "local:iso/x.iso,media=cdrom,size=4M"),
            ("ide2", "local:vm-100-cloudinit,media=cdrom"),
            ("ide3", "none,media=cdrom"),
            ("sata0", "other:vm-100-cloudinit"),
            ("efidisk0", "efi:base-100-disk-2,size=4M"),
            ("tpmstate0", "tpm:base-100-disk-3,size=4M"),
            ("scsihw", "virtio-scsi-single"),
        ]);
        let found: Vec<String> = storages(&template).into_iter().collect();
        assert_eq!(found, ["ceph", "local-lvm"]);
        assert_eq!(boot_disk(&template).map(|(option, _)| option).as_deref(), Some("scsi0"));
        assert_eq!(boot_disk(&config(&[("ide2", "none,media=cdrom")])), None);
    }

    #[test]
    fn disks_grow_and_never_shrink() {
        const GIB: u64 = 1 << 30;
        for (disk, wanted, expected) in [
            ("s:v,size=3G", 30 * GIB, Some("30G")),
            ("s:v,size=3G", 30_000_000_000, Some("28G")),
            ("s:v,size=30G", 30 * GIB, None),
            ("s:v,size=1T", 30 * GIB, None),
            ("s:v,size=3584M", 4 * GIB, Some("4G")),
            ("s:v", 4 * GIB, Some("4G")),
            ("s:v,size=3G", 0, None),
        ] {
            assert_eq!(resize_to(disk, wanted).as_deref(), expected, "{disk} {wanted}");
        }
        assert_eq!(size("s:v,size=2.5G"), Some(5 << 29));
        assert_eq!(size("s:v,size=much"), None);
    }
}
