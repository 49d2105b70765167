//! The file with what is known of hosts: what they are made of, and what they keep for themselves.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{from_json, with_known_case};
use crate::capacity::cpu_set::CpuSet;

/// The zone that stands for every zone of its region that is not named.
const EVERY_ZONE: &str = "*";

/// What a host keeps for itself where nothing is said: 1 GiB.
const RESERVED_MEMORY: Reserved = Reserved::Bytes(1 << 30);

/// Settings of hosts, by region and zone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeSettings(BTreeMap<String, BTreeMap<String, HostSettings>>);

/// What is known of a host. What is not said is guessed.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSettings {
    /// Processors.
    pub sockets: Option<u32>,
    /// Threads of each core.
    pub threads: Option<u32>,
    /// Caches that cores share.
    pub uncore_caches: Option<u32>,
    /// NUMA nodes; empty where nothing is said.
    pub numa_nodes: BTreeMap<u32, NumaNode>,
    /// CPUs that no instance gets.
    pub reserved_cpus: CpuSet,
    /// Memory that no instance gets.
    pub reserved_memory: Reserved,
    /// Whether the most that ZFS caches is kept besides, where the host tells how much that is.
    pub keeps_arc: bool,
    /// How many virtual CPUs are given out for each of the host's.
    pub cpu_overcommit: f64,
    /// How many bytes of memory are given out for each of the host's.
    pub memory_overcommit: f64,
}

/// A NUMA node of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NumaNode {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its memory in bytes.
    pub memory: u64,
}

/// Memory that a host keeps for itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reserved {
    /// So many bytes.
    Bytes(u64),
    /// A share of all memory, in percent.
    Percent(f64),
}

impl Reserved {
    /// In bytes, of a host with so much memory.
    pub fn of(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (total as f64 * percent / 100.0).ceil() as u64,
        }
    }
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            sockets: None,
            threads: None,
            uncore_caches: None,
            numa_nodes: BTreeMap::new(),
            reserved_cpus: CpuSet::default(),
            reserved_memory: RESERVED_MEMORY,
            keeps_arc: false,
            cpu_overcommit: 1.0,
            memory_overcommit: 1.0,
        }
    }
}

/// Why the file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSettingsError {
    /// The path of the field; empty where the whole file is meant.
    pub field: String,
    /// What is wrong and what to write.
    pub problem: String,
}

impl Display for NodeSettingsError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for NodeSettingsError {}

const KEYS: [&str; 10] = [
    "sockets",
    "threads",
    "uncorecaches",
    "cores",
    "nodes",
    "reservedcpus",
    "reservedmemory",
    "arc",
    "cpuovercommit",
    "memoryovercommit",
];
const NUMA_KEYS: [&str; 3] = ["cpus", "memsize", "memory"];

#[derive(Deserialize)]
struct Written {
    sockets: Option<u32>,
    threads: Option<u32>,
    uncorecaches: Option<u32>,
    nodes: Option<BTreeMap<String, Value>>,
    reservedcpus: Option<Vec<u32>>,
    reservedmemory: Option<Value>,
    arc: Option<String>,
    cpuovercommit: Option<f64>,
    memoryovercommit: Option<f64>,
}

#[derive(Deserialize)]
struct WrittenNuma {
    cpus: String,
    memsize: Option<u64>,
    memory: Option<u64>,
}

impl NodeSettings {
    /// Reads the file. The second part of an answer are things that its author may not expect.
    pub fn read(text: &str) -> Result<(Self, Vec<String>), NodeSettingsError> {
        let error =
            |field: &str, problem: String| NodeSettingsError { field: field.to_owned(), problem };
        let value: Value = serde_json::from_str(text)
            .map_err(|problem| error("", format!("is not valid JSON: {problem}")))?;
        let file: BTreeMap<String, BTreeMap<String, Value>> =
            from_json(&value).map_err(|(field, problem)| error(&field, problem))?;
        let mut warnings = Vec::new();
        let mut settings = Self::default();
        for (region, zones) in file {
            let mut of_region = BTreeMap::new();
            for (zone, value) in zones {
                let at = format!("{region}.{zone}");
                let host = read_host(&at, &value, &mut warnings)?;
                of_region.insert(zone, host);
            }
            settings.0.insert(region, of_region);
        }
        Ok((settings, warnings))
    }

    /// What is known of a host: what is said of it by name, or else of every host of its region.
    pub fn of(&self, region: &str, zone: &str) -> HostSettings {
        let zones = self.0.get(region);
        let found = zones.and_then(|zones| zones.get(zone).or_else(|| zones.get(EVERY_ZONE)));
        found.cloned().unwrap_or_default()
    }
}

fn read_host(
    at: &str,
    value: &Value,
    warnings: &mut Vec<String>,
) -> Result<HostSettings, NodeSettingsError> {
    let error = |field: &str, problem: String| {
        let field = if field == "." { at.to_owned() } else { format!("{at}.{field}") };
        NodeSettingsError { field, problem }
    };
    let map = value.as_object().cloned().unwrap_or_default();
    let map = with_known_case(&map, &KEYS);
    let unknown = map.keys().filter(|key| !KEYS.contains(&key.as_str()));
    warnings.extend(unknown.map(|key| format!("{at}.{key}: is no key, and is not used")));
    let value = if value.is_object() { Value::Object(map) } else { value.clone() };
    let written: Written = from_json(&value).map_err(|(field, text)| error(&field, text))?;
    let given = |number: Option<u32>| number.filter(|number| *number > 0);
    let mut settings = HostSettings {
        sockets: given(written.sockets),
        threads: given(written.threads),
        uncore_caches: given(written.uncorecaches),
        reserved_cpus: written.reservedcpus.into_iter().flatten().collect(),
        ..HostSettings::default()
    };
    for (id, numa) in written.nodes.into_iter().flatten() {
        let field = format!("nodes.{id}");
        let number = id.parse().map_err(|_| error(&field, "is no number of a NUMA node".into()))?;
        let node = read_numa(&numa).map_err(|text| error(&field, text))?;
        settings.numa_nodes.insert(number, node);
    }
    if let Some(reserved) = &written.reservedmemory {
        settings.reserved_memory =
            read_reserved(reserved).map_err(|text| error("reservedmemory", text))?;
    }
    settings.keeps_arc = match written.arc.as_deref() {
        None | Some("") => false,
        Some("auto") => true,
        Some(other) => {
            return Err(error(
                "arc",
                format!("{other:?} is not known; write auto, or leave it out"),
            ));
        }
    };
    for (key, ratio, own) in [
        ("cpuovercommit", written.cpuovercommit, &mut settings.cpu_overcommit),
        ("memoryovercommit", written.memoryovercommit, &mut settings.memory_overcommit),
    ] {
        match ratio {
            None => {}
            Some(ratio) if (1.0..=1000.0).contains(&ratio) => *own = ratio,
            Some(ratio) => {
                return Err(error(key, format!("{ratio} is out of bounds; write 1 to 1000")));
            }
        }
    }
    Ok(settings)
}

fn read_numa(value: &Value) -> Result<NumaNode, String> {
    let map: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
    let value = Value::Object(with_known_case(&map, &NUMA_KEYS));
    let written: WrittenNuma = from_json(&value)
        .map_err(|(field, text)| if field == "." { text } else { format!("{field}: {text}") })?;
    let cpus = written.cpus.parse().map_err(|error| format!("cpus: {error}"))?;
    // The predecessor's pages call it memory, and its program reads memsize.
    let memory = written.memsize.or(written.memory).unwrap_or_default();
    Ok(NumaNode { cpus, memory })
}

fn read_reserved(value: &Value) -> Result<Reserved, String> {
    const REMEDY: &str = "write bytes as a number, or a share such as \"5%\"";
    match value {
        Value::Number(number) => number
            .as_u64()
            .map(|bytes| if bytes == 0 { RESERVED_MEMORY } else { Reserved::Bytes(bytes) })
            .ok_or_else(|| format!("{number} is no amount of memory; {REMEDY}")),
        Value::String(text) => {
            let percent = text.trim().strip_suffix('%').and_then(|number| number.parse().ok());
            percent
                .filter(|percent: &f64| (0.0..100.0).contains(percent))
                .map(Reserved::Percent)
                .ok_or_else(|| format!("{text:?} is no amount of memory; {REMEDY}"))
        }
        _ => Err(format!("is no amount of memory; {REMEDY}")),
    }
}
