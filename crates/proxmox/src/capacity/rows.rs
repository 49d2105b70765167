//! A region's resource list: hosts, virtual machines, containers and storages, in one answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A region's resource list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// The hosts.
    pub hosts: Vec<HostRow>,
    /// Virtual machines and containers.
    pub guests: Vec<GuestRow>,
    /// Storages, once for each host that has them.
    pub storages: Vec<StorageRow>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostRow {
    /// Its name, which is that of the zone.
    pub name: String,
    /// Whether it answers.
    pub is_online: bool,
    /// Whether an administrator is emptying it.
    pub is_in_maintenance: bool,
    /// The share of its CPUs that is in use, from 0 to 1.
    pub load: f64,
    /// Its CPUs.
    pub cpus: u32,
    /// Its memory in bytes.
    pub memory: u64,
}

/// A virtual machine or a container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuestRow {
    /// Its number.
    pub vmid: u32,
    /// The host it is on.
    pub host: String,
    /// Its name; none for some seconds after it was made.
    pub name: Option<String>,
    /// Whether it is a container.
    pub is_container: bool,
    /// Whether it is a template.
    pub is_template: bool,
    /// Whether it runs.
    pub is_running: bool,
    /// Its CPUs.
    pub cpus: u32,
    /// Its memory in bytes.
    pub memory: u64,
    /// What it is locked for; none where it is not.
    pub lock: Option<String>,
    /// Its resource pool.
    pub pool: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A storage of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorageRow {
    /// Its name.
    pub storage: String,
    /// The host.
    pub host: String,
    /// Whether other hosts have the same.
    pub is_shared: bool,
    /// Whether it can be used now.
    pub is_available: bool,
    /// What it may hold.
    pub content: BTreeSet<String>,
    /// Its size in bytes.
    pub total: u64,
    /// What of it is in use.
    pub used: u64,
}

/// A row that says too little to be used. It is not passed over: what it stands for is unknown, and
/// may take room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "row {number} of the resource list, {id:?}: has no usable {field}; Proxmox VE may be newer"
)]
pub struct UnreadableRow {
    number: usize,
    id: String,
    field: &'static str,
}

impl Rows {
    /// Reads the rows of an answer. Rows of other types are passed over.
    pub fn read(rows: &[Value]) -> Result<Self, UnreadableRow> {
        let mut read = Self::default();
        for (i, row) in rows.iter().enumerate() {
            let row = Row { number: i + 1, fields: row.as_object() };
            match row.text("type").unwrap_or_default() {
                "node" => read.hosts.push(row.host()?),
                "qemu" | "lxc" => read.guests.push(row.guest()?),
                "storage" => read.storages.push(row.storage()?),
                _ => {}
            }
        }
        Ok(read)
    }

    /// The row of a virtual machine or container.
    pub fn guest(&self, vmid: u32) -> Option<&GuestRow> {
        self.guests.iter().find(|guest| guest.vmid == vmid)
    }
}

struct Row<'r> {
    number: usize,
    fields: Option<&'r Map<String, Value>>,
}

impl<'r> Row<'r> {
    fn host(&self) -> Result<HostRow, UnreadableRow> {
        Ok(HostRow {
            name: self.required("node")?.to_owned(),
            is_online: self.text("status") == Some("online"),
            is_in_maintenance: self.text("hastate") == Some("maintenance"),
            load: self.number("cpu").unwrap_or_default(),
            cpus: self.whole("maxcpu") as u32,
            memory: self.whole("maxmem"),
        })
    }

    fn guest(&self) -> Result<GuestRow, UnreadableRow> {
        let vmid = self.number("vmid").filter(|vmid| *vmid >= 1.0).map(|vmid| vmid as u32);
        let text = |field| self.text(field).filter(|text| !text.is_empty()).map(str::to_owned);
        let tags = self.text("tags").unwrap_or_default();
        Ok(GuestRow {
            vmid: vmid.ok_or_else(|| self.unreadable("vmid"))?,
            host: self.required("node")?.to_owned(),
            name: text("name"),
            is_container: self.text("type") == Some("lxc"),
            is_template: self.number("template") == Some(1.0),
            is_running: self.text("status") == Some("running"),
            cpus: self.whole("maxcpu") as u32,
            memory: self.whole("maxmem"),
            lock: text("lock"),
            pool: text("pool"),
            tags: crate::property_string::tags::parse(tags)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

    fn storage(&self) -> Result<StorageRow, UnreadableRow> {
        let content = self.text("content").unwrap_or_default().split(',');
        Ok(StorageRow {
            storage: self.required("storage")?.to_owned(),
            host: self.required("node")?.to_owned(),
            is_shared: self.number("shared") == Some(1.0),
            is_available: self.text("status") == Some("available"),
            content: content.map(|kind| kind.trim().to_owned()).collect(),
            total: self.whole("maxdisk"),
            used: self.whole("disk"),
        })
    }

    fn text(&self, field: &str) -> Option<&'r str> {
        self.fields?.get(field)?.as_str()
    }

    fn required(&self, field: &'static str) -> Result<&'r str, UnreadableRow> {
        let text = self.text(field).filter(|text| !text.is_empty());
        text.ok_or_else(|| self.unreadable(field))
    }

    /// A number, also written as a text or as a truth value.
    fn number(&self, field: &str) -> Option<f64> {
        match self.fields?.get(field)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
            _ => None,
        }
    }

    /// A number without its fraction, rounded up: a container may have half a CPU.
    fn whole(&self, field: &str) -> u64 {
        self.number(field).unwrap_or_default().ceil() as u64
    }

    fn unreadable(&self, field: &'static str) -> UnreadableRow {
        let id = self.text("id").unwrap_or_default().to_owned();
        UnreadableRow { number: self.number, id, field }
    }
}
