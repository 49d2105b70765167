//! Instance type files: the types of one or many pools, in YAML or JSON.
//!
//! A file is a list of entries, or an object around the list that also says which labels the
//! provider fills in. An entry is in the full form, to which nothing is added, or in a [`Form`] that
//! one cloud has of its own. [`parse`] refuses invalid entries, and says where and what to write
//! instead.

mod entry;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter},
    sync::Arc,
};

use joiner_core::{
    instance_type::{Catalog, InstanceType},
    label::WellKnown,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::entry::Entry;

pub use self::entry::{check_amounts, check_price, requirements};

/// A parsed instance type file.
#[derive(Debug, Clone)]
pub struct CatalogFile {
    entries: Vec<Entry>,
    well_known: WellKnown,
    reservation_id_label: Option<String>,
}

/// Why an instance type file cannot be used: where, what, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogFileError {
    file: String,
    /// Number from 1, and the name if it could be read.
    entry: Option<(usize, String)>,
    problem: Problem,
}

/// A problem at a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path within the entry, or within the file; empty for the whole.
    field: String,
    text: String,
}

impl Problem {
    /// A problem at a field.
    pub fn new(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into() }
    }
}

impl Display for CatalogFileError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((number, name)) = &self.entry {
            write!(f, ": entry {number}")?;
            if !name.is_empty() {
                write!(f, " {name:?}")?;
            }
        }
        if !self.problem.field.is_empty() {
            write!(f, ": {}", self.problem.field)?;
        }
        write!(f, ": {}", self.problem.text)
    }
}

impl std::error::Error for CatalogFileError {}

/// The object around the list.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wrapper {
    instance_types: Vec<Value>,
    well_known_labels: Option<Vec<String>>,
    #[serde(rename = "reservationIDLabel")]
    reservation_id_label: Option<String>,
}

/// A form of entries that one cloud has of its own.
pub trait Form: Sync {
    /// Whether an entry with these fields is in this form.
    fn is_of(&self, fields: &Map<String, Value>) -> bool;

    /// The fields that tell the form, for messages.
    fn marks(&self) -> &'static str;

    /// Reads an entry. Its labels are always well known.
    fn read(&self, entry: Value) -> Result<InstanceType, Problem>;

    /// The API group whose other labels users may not set.
    fn group(&self) -> &'static str;
}

/// Reads an instance type file in the full form and `forms`. `file_name` is what errors call it.
pub fn parse(
    text: &str,
    file_name: &str,
    forms: &[&dyn Form],
) -> Result<CatalogFile, CatalogFileError> {
    let at = |entry, problem| CatalogFileError { file: file_name.to_owned(), entry, problem };
    let wrapper = read_wrapper(text).map_err(|problem| at(None, problem))?;
    let mut entries = Vec::with_capacity(wrapper.instance_types.len());
    for (i, value) in wrapper.instance_types.into_iter().enumerate() {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let entry = Entry::read(value, wrapper.reservation_id_label.as_deref(), forms)
            .map_err(|problem| at(Some((i + 1, name)), problem))?;
        entries.push(entry);
    }
    refuse_duplicates(&entries).map_err(|(i, problem)| {
        at(Some((i + 1, entries[i].instance_type.name.clone())), problem)
    })?;

    // A cloud declares the labels of its own form itself, in addition to the file's list.
    let declared = wrapper.well_known_labels;
    let known = entries
        .iter()
        .filter(|entry| declared.is_none() || entry.group.is_some())
        .flat_map(|entry| label_keys(&entry.instance_type))
        .chain(declared.iter().flatten().cloned());
    let groups: BTreeSet<&str> = entries.iter().filter_map(|entry| entry.group).collect();
    Ok(CatalogFile {
        well_known: WellKnown::with(known).restricting(groups.into_iter().map(str::to_owned)),
        reservation_id_label: wrapper.reservation_id_label,
        entries,
    })
}

impl CatalogFile {
    /// The types of each of `pools`: those made for it alone first, then those for every pool.
    pub fn catalog<P: AsRef<str>>(&self, pools: impl IntoIterator<Item = P>) -> Catalog {
        let of_every_pool: Arc<[Arc<InstanceType>]> = self.types_of(None).collect();
        let by_pool = pools.into_iter().map(|pool| {
            let pool = pool.as_ref();
            let mut own = self.types_of(Some(pool)).peekable();
            let types = if own.peek().is_none() {
                Arc::clone(&of_every_pool)
            } else {
                own.chain(of_every_pool.iter().cloned()).collect()
            };
            (pool.to_owned(), types)
        });
        Catalog {
            by_pool: by_pool.collect(),
            well_known: self.well_known.clone(),
            reservation_id_label: self.reservation_id_label.clone(),
            ..Catalog::default()
        }
    }

    /// Pools that entries are made for, so that a name no pool has can be pointed out.
    pub fn named_pools(&self) -> BTreeSet<&str> {
        self.entries.iter().flat_map(|entry| &entry.pools).map(String::as_str).collect()
    }

    /// The types made for `pool`, or for every pool; the full form first.
    fn types_of(&self, pool: Option<&str>) -> impl Iterator<Item = Arc<InstanceType>> {
        let is_meant = move |entry: &&Entry| match pool {
            Some(pool) => entry.pools.iter().any(|name| name == pool),
            None => entry.pools.is_empty(),
        };
        let full = self.entries.iter().filter(|entry| entry.group.is_none()).filter(is_meant);
        let other = self.entries.iter().filter(|entry| entry.group.is_some()).filter(is_meant);
        full.chain(other).map(|entry| Arc::clone(&entry.instance_type))
    }
}

fn read_wrapper(text: &str) -> Result<Wrapper, Problem> {
    match read_value(text)? {
        Value::Array(instance_types) => Ok(Wrapper { instance_types, ..Wrapper::default() }),
        value @ Value::Object(_) => {
            let wrapper: Wrapper = deserialize(value)?;
            if let Some(i) = wrapper.well_known_labels.iter().flatten().position(String::is_empty) {
                return Err(Problem::new(
                    format!("wellKnownLabels[{i}]"),
                    "is empty; name a label",
                ));
            }
            if wrapper.reservation_id_label.as_deref() == Some("") {
                return Err(Problem::new(
                    "reservationIDLabel",
                    "is empty; name a label or leave it out",
                ));
            }
            Ok(wrapper)
        }
        _ => Err(Problem::new(
            "",
            "holds no instance types; write a list, or {\"instanceTypes\": [...]}",
        )),
    }
}

fn read_value(text: &str) -> Result<Value, Problem> {
    let unreadable =
        |error: &dyn Display, format| Problem::new("", format!("is not valid {format}: {error}"));
    if text.trim_start().starts_with(['{', '[']) {
        match serde_json::from_str(text) {
            Ok(value) => return Ok(value),
            // YAML's flow style starts like JSON.
            Err(error) if error.is_eof() => return Err(unreadable(&error, "JSON")),
            Err(_) => {}
        }
    }
    // Files of many types are long, and they come from the user's own disk, so their size is not
    // limited; how much aliases may add, and how deep nesting goes, is. Words such as `y` and `no`
    // are names here.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
        with_snippet: false,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        unreadable(&error.render_with_formatter(&serde_saphyr::UserMessageFormatter), "YAML")
    })
}

/// Reads an entry, with the path of a field that is wrong.
pub fn deserialize<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let mut text = error.into_inner().to_string();
        if text.starts_with("missing field") {
            text.push_str("; add it");
        }
        Problem::new(if path == "." { String::new() } else { path }, text)
    })
}

/// Two entries of one name that one pool would both have are an error, reported at the second.
fn refuse_duplicates(entries: &[Entry]) -> Result<(), (usize, Problem)> {
    let mut seen: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    let mut seen_in_a_pool: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let name = entry.instance_type.name.as_str();
        let everywhere = seen.get(&(name, None)).copied();
        let earlier = if entry.pools.is_empty() {
            everywhere.or_else(|| seen_in_a_pool.get(name).copied())
        } else {
            let in_pool = |pool: &String| seen.get(&(name, Some(pool.as_str()))).copied();
            everywhere.or_else(|| entry.pools.iter().find_map(in_pool))
        };
        if let Some(earlier) = earlier {
            let text = format!(
                "entry {} has the same name for the same pool; rename one, or give them different \
                 nodePools",
                earlier + 1
            );
            return Err((i, Problem::new("name", text)));
        }
        if entry.pools.is_empty() {
            seen.insert((name, None), i);
        }
        for pool in &entry.pools {
            seen.insert((name, Some(pool)), i);
            seen_in_a_pool.insert(name, i);
        }
    }
    Ok(())
}

fn label_keys(instance_type: &InstanceType) -> impl Iterator<Item = String> {
    let own = instance_type.requirements.iter();
    let offered = instance_type.offerings.iter().flat_map(|offering| offering.requirements.iter());
    own.chain(offered).map(|(key, _)| key.to_owned())
}
