//! Property strings: the values of most options of a virtual machine.
//!
//! `virtio=BC:24:11:00:00:01,bridge=vmbr0,queues=4` is one. It is edited in place: keys that are not
//! known here, and the order, stay as they are, because Proxmox VE drops what is left out.

pub mod adapters;
pub mod disks;
pub mod firewall;
pub mod smbios;
pub mod tags;

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

/// The configuration of a virtual machine, as Proxmox VE has it: options by name.
pub type Config = BTreeMap<String, String>;

/// A property string. One part may have no key: it is the value of the option's default key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PropertyString(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// None for the part without a key.
    key: Option<String>,
    value: String,
}

impl PropertyString {
    /// Takes a text apart. Every text is one: what has no key is kept without one.
    pub fn parse(text: &str) -> Self {
        let parts = text.split(',').filter(|part| !part.is_empty());
        Self(
            parts
                .map(|part| match part.split_once('=') {
                    Some((key, value)) => {
                        Part { key: Some(key.trim().to_owned()), value: value.to_owned() }
                    }
                    None => Part { key: None, value: part.to_owned() },
                })
                .collect(),
        )
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let part = self.0.iter().find(|part| part.key.as_deref() == Some(key))?;
        Some(&part.value)
    }

    /// The value that is written without a key.
    pub fn bare(&self) -> Option<&str> {
        self.0.iter().find(|part| part.key.is_none()).map(|part| part.value.as_str())
    }

    /// The value of an option's default key, written with the key or without.
    pub fn default_value(&self, key: &str) -> Option<&str> {
        self.get(key).or_else(|| self.bare())
    }

    /// Keys and values in order, without the part that has no key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|part| Some((part.key.as_deref()?, part.value.as_str())))
    }

    /// Gives a key a value: in its place where it is there, at the end where it is not.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|part| part.key.as_deref() == Some(key)) {
            Some(part) => part.value = value,
            None => self.0.push(Part { key: Some(key.to_owned()), value }),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|part| part.key.as_deref() != Some(key));
    }
}

impl Display for PropertyString {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, Part { key, value }) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "," };
            match key {
                Some(key) => write!(f, "{separator}{key}={value}")?,
                None => write!(f, "{separator}{value}")?,
            }
        }
        Ok(())
    }
}

/// The options of one kind, such as net0 and net1 for `net`, by their index and in its order.
///
/// COMPAT: upstream takes them in no order, so that a guest's text differs from one to the next.
pub fn indexed<'c>(config: &'c Config, kind: &str) -> Vec<(u32, &'c str)> {
    let mut found: Vec<(u32, &str)> = config
        .iter()
        .filter_map(|(option, value)| {
            let index = option.strip_prefix(kind)?;
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some(())?;
            Some((index.parse().ok()?, value.as_str()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The boot order with a device at its end, unless it is in it. Without an order there is none to add
/// to, and Proxmox VE's own is used.
pub fn boot_with(boot: &str, device: &str) -> String {
    let mut boot = PropertyString::parse(boot);
    if let Some(order) = boot.get("order") {
        let mut devices: Vec<&str> = order.split(';').filter(|own| !own.is_empty()).collect();
        if !devices.contains(&device) {
            devices.push(device);
        }
        let order = devices.join(";");
        boot.set("order", order);
    }
    boot.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, change: impl FnOnce(&mut PropertyString), expected: &str) {
        let mut property = PropertyString::parse(text);
        assert_eq!(property.to_string(), text.trim_end_matches(','));
        change(&mut property);
        assert_eq!(property.to_string(), expected);
    }

    #[test]
    fn what_is_not_edited_stays_as_it_is() {
        check(
            "local:100/disk.qcow2,iothread=1,size=3G",
            |_| {},
            "local:100/disk.qcow2,iothread=1,size=3G",
        );
        check("a=1,new-key=x=y,b=", |own| own.set("a", "2"), "a=2,new-key=x=y,b=");
        check("a=1,b=2", |own| own.set("c", "3"), "a=1,b=2,c=3");
        check("a=1,b=2,c=3", |own| own.remove("b"), "a=1,c=3");
        check("", |own| own.set("a", "1"), "a=1");
        check("none,media=cdrom,", |own| own.set("media", "disk"), "none,media=disk");
    }

    #[test]
    fn the_default_key_may_be_left_out() {
        assert_eq!(PropertyString::parse("host,flags=+aes").default_value("cputype"), Some("host"));
        assert_eq!(PropertyString::parse("cputype=host").default_value("cputype"), Some("host"));
        assert_eq!(PropertyString::parse("flags=+aes").default_value("cputype"), None);
    }

    #[test]
    fn options_are_in_the_order_of_their_indexes() {
        let config = ["net10", "net2", "net0", "netx", "net", "network0"]
            .map(|option| (option.to_owned(), option.to_uppercase()));
        assert_eq!(indexed(&config.into(), "net"), [(0, "NET0"), (2, "NET2"), (10, "NET10")]);
    }

    #[test]
    fn a_device_is_in_the_boot_order_once() {
        assert_eq!(boot_with("order=scsi0", "ide2"), "order=scsi0;ide2");
        assert_eq!(boot_with("order=scsi0;ide2", "ide2"), "order=scsi0;ide2");
        assert_eq!(boot_with("", "ide2"), "");
    }
}
