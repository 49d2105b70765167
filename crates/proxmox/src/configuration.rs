//! The configuration file: which Proxmox VE clusters there are, and how they are reached.
//!
//! [`Configuration::read`] is a function of the file's text and of the texts of the files that it
//! names, so that a shell reads again whenever one of them changes. Every problem names the cluster
//! by its position in the list, and the key.

mod address;
mod cluster;
mod files;
pub mod node_settings;
pub mod settings;

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::cluster::Written;
pub use self::{
    cluster::{Cluster, Login, Trust},
    files::Files,
};
use crate::object::with_remedy;

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The clusters, in the order of the file.
    pub clusters: Vec<Cluster>,
    /// Files that it names. When one of them changes it has to be read again.
    pub files: Vec<PathBuf>,
    /// Things that its author may not expect, each in a sentence.
    pub warnings: Vec<String>,
}

/// Something that keeps the file from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The position of the cluster in the list, from 1; none where the whole file is meant.
    pub cluster: Option<usize>,
    /// The key; empty where no single one is meant.
    pub key: String,
    /// What is wrong and what to write.
    pub text: String,
}

impl Problem {
    fn at(cluster: usize, key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { cluster: Some(cluster), key: key.into(), text: text.into() }
    }

    fn of_file(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { cluster: None, key: key.into(), text: text.into() }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.cluster {
            write!(f, "cluster #{number}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

/// Keys of the whole file.
const KEYS: [&str; 2] = ["features", "clusters"];

/// Values of `features.provider`. Neither changes anything here.
const PROVIDERS: [&str; 2] = ["default", "capmox"];

impl Configuration {
    /// Reads the file's text; `files` has the texts of the files that it names.
    pub fn read(text: &str, files: &impl Files) -> Result<Self, Vec<Problem>> {
        let file = parse(text).map_err(|problem| vec![problem])?;
        let mut warnings = Vec::new();
        unknown_keys(&file, "", &KEYS, &mut warnings);
        check_features(file.get("features"), &mut warnings);
        let clusters = match file.get("clusters") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(clusters)) => clusters,
            Some(_) => return Err(vec![Problem::of_file("clusters", "is no list; write one")]),
        };
        if clusters.is_empty() {
            let text = "lists no cluster; add one with url, region, token_id and token_secret";
            return Err(vec![Problem::of_file("clusters", text)]);
        }
        let mut problems = Vec::new();
        let mut read = Vec::new();
        let mut named = Vec::new();
        for (i, cluster) in clusters.iter().enumerate() {
            let Some(written) = Written::read(i + 1, cluster, &mut warnings, &mut problems) else {
                continue;
            };
            named.extend(written.files());
            read.extend(written.check(i + 1, files, &mut warnings, &mut problems));
        }
        refuse_twins(clusters, &mut problems);
        if problems.is_empty() {
            Ok(Self { clusters: read, files: named, warnings })
        } else {
            problems.sort_by_key(|problem| problem.cluster);
            Err(problems)
        }
    }

    /// The cluster of a region.
    pub fn cluster(&self, region: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.region == region)
    }
}

/// Two clusters of one region cannot be told apart.
///
/// COMPAT: upstream takes the last one, and forgets the others.
fn refuse_twins(clusters: &[Value], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (i, cluster) in clusters.iter().enumerate() {
        let region = match &cluster["region"] {
            Value::String(region) => region.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        if region.is_empty() {
            continue;
        }
        if let Some(earlier) = seen.get(&region) {
            let text = format!("{region:?} is that of cluster #{earlier} too; give each its own");
            problems.push(Problem::at(i + 1, "region", text));
        } else {
            seen.insert(region, i + 1);
        }
    }
}

fn parse(text: &str) -> Result<Map<String, Value>, Problem> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let value: Option<Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            // The parser's own words may repeat a secret.
            let at = error.location().map(|location| {
                format!(" at line {}, column {}", location.line(), location.column())
            });
            let at = at.unwrap_or_default();
            Problem::of_file("", format!("is not valid YAML{at}; correct it there"))
        })?;
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(file)) => Ok(file),
        Some(_) => Err(Problem::of_file("", "is no map; write clusters: and a list of them")),
    }
}

fn check_features(features: Option<&Value>, warnings: &mut Vec<String>) {
    let Some(Value::Object(features)) = features else { return };
    unknown_keys(features, "features.", &["provider"], warnings);
    if let Some(Value::String(provider)) = features.get("provider")
        && !provider.is_empty()
        && !PROVIDERS.contains(&provider.as_str())
    {
        let known = PROVIDERS.join(" or ");
        warnings.push(format!("features.provider: {provider:?} is not known; write {known}"));
    }
}

fn unknown_keys(map: &Map<String, Value>, at: &str, known: &[&str], warnings: &mut Vec<String>) {
    let unknown = map.keys().filter(|key| !known.contains(&key.as_str()));
    warnings.extend(unknown.map(|key| format!("{at}{key}: is no key, and is not used")));
}

/// Reads a JSON file of administrators; a problem names the place.
pub(crate) fn from_json<T: DeserializeOwned>(value: &Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        (path, with_remedy(&error.into_inner().to_string()))
    })
}

/// The same map with known keys as they are known: Go reads keys in any case, so files have both.
pub(crate) fn with_known_case(map: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    let as_known = |key: &String| {
        let known = known.iter().find(|known| known.eq_ignore_ascii_case(key));
        known.map_or_else(|| key.clone(), |known| (*known).to_owned())
    };
    map.iter().map(|(key, value)| (as_known(key), value.clone())).collect()
}

/// The path as a problem shows it.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
