//! The table of endpoints, read from `schema/endpoints.txt`, and what values it accepts.

pub(crate) mod check;
pub(crate) mod format;
pub(crate) mod property;

use std::collections::BTreeMap;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Text { max: Option<usize> },
    Int { min: Option<i64>, max: Option<i64> },
    Number { min: Option<f64>, max: Option<f64> },
    Flag,
    Choice(Vec<String>),
    Format(String),
    Property(String),
}

/// A parameter, or a key of a property string.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// How many there are of an indexed one.
    count: Option<u32>,
    pub(crate) kind: Type,
    pub(crate) required: bool,
    /// Whether its value may stand without its key, in property strings.
    pub(crate) bare: bool,
}

impl Parameter {
    fn is_called(&self, name: &str) -> bool {
        match self.count {
            None => self.name == name,
            Some(count) => name.strip_prefix(self.name.as_str()).is_some_and(|index| {
                let canonical = index == "0" || !index.starts_with('0');
                canonical && index.parse::<u32>().is_ok_and(|index| index < count)
            }),
        }
    }
}

/// Who may use an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Callers without credentials.
    Open,
    Anyone,
    /// One of these privileges on a path.
    Any {
        path: String,
        privileges: Vec<String>,
    },
}

/// An endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) permission: Permission,
    parameters: Vec<Parameter>,
}

impl Endpoint {
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|known| known.is_called(name))
    }

    /// What the path names; none if it is another path.
    fn matches(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        let mut rest = path.trim_matches('/');
        for segment in self.path.trim_matches('/').split('/') {
            if let Some(name) = segment.strip_prefix('{').and_then(|it| it.strip_suffix("+}")) {
                found.insert(name.to_owned(), rest.to_owned());
                rest = "";
                continue;
            }
            let (first, after) = rest.split_once('/').unwrap_or((rest, ""));
            rest = after;
            match segment.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
                Some(name) if !first.is_empty() => {
                    found.insert(name.to_owned(), first.to_owned());
                }
                None if first == segment => {}
                _ => return None,
            }
        }
        rest.is_empty().then_some(found)
    }
}

/// All endpoints, and all property strings by their names.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) endpoints: Vec<Endpoint>,
    properties: BTreeMap<String, Vec<Parameter>>,
}

impl Schema {
    pub(crate) fn new() -> Self {
        let mut schema = Self::default();
        let mut groups = BTreeMap::new();
        for line in include_str!("schema/endpoints.txt").lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, members)) = line.split_once(" = ") {
                let members = parameters(members, &groups);
                match name.strip_prefix('%') {
                    Some(name) => schema.properties.insert(name.to_owned(), members),
                    None => groups.insert(name.to_owned(), members),
                };
            } else {
                schema.endpoints.extend(endpoint(line, &groups));
            }
        }
        schema
    }

    /// The endpoint of a call, and what its path names. Paths are compared as they were sent, so
    /// that an encoded slash is part of a name.
    pub(crate) fn find(
        &self,
        method: &str,
        path: &str,
    ) -> Option<(&Endpoint, BTreeMap<String, String>)> {
        self.endpoints
            .iter()
            .filter(|endpoint| endpoint.method == method)
            .find_map(|endpoint| Some((endpoint, endpoint.matches(path)?)))
    }

    /// The keys of a property string.
    pub(crate) fn property(&self, name: &str) -> &[Parameter] {
        self.properties.get(name).map_or(&[], Vec::as_slice)
    }

    /// The type of a key of a VM's configuration.
    pub(crate) fn config_type(&self, key: &str) -> Option<&Type> {
        let create = self.endpoints.iter().find(|endpoint| endpoint.name == "create")?;
        create.parameter(key).map(|parameter| &parameter.kind)
    }
}

type Groups = BTreeMap<String, Vec<Parameter>>;

fn endpoint(line: &str, groups: &Groups) -> Option<Endpoint> {
    // A permission has a colon too, so the one before the parameters has a space or the end after.
    let (head, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let mut words = head.split_whitespace();
    let (name, method, path) = (words.next()?, words.next()?, words.next()?);
    let permission = match words.next()? {
        "open" => Permission::Open,
        "-" => Permission::Anyone,
        other => {
            let (path, privileges) = other.split_once(':')?;
            let privileges = privileges.split('|').map(str::to_owned).collect();
            Permission::Any { path: path.to_owned(), privileges }
        }
    };
    Some(Endpoint {
        name: name.to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        permission,
        parameters: parameters(rest, groups),
    })
}

fn parameters(text: &str, groups: &Groups) -> Vec<Parameter> {
    text.split_whitespace()
        .flat_map(|word| match groups.get(word) {
            Some(members) => members.clone(),
            None => parameter(word).into_iter().collect(),
        })
        .collect()
}

fn parameter(word: &str) -> Option<Parameter> {
    let (name, kind) = word.split_once('=')?;
    let required = kind.ends_with('!');
    let kind = read_type(kind.trim_end_matches('!'));
    let bare = name.ends_with('*');
    let name = name.trim_end_matches('*');
    let (name, count) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((name, count)) => (name, Some(count.parse().ok()?)),
        None => (name, None),
    };
    Some(Parameter { name: name.to_owned(), count, kind, required, bare })
}

fn read_type(text: &str) -> Type {
    if let Some(name) = text.strip_prefix('%') {
        return Type::Property(name.to_owned());
    }
    if let Some(choices) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return Type::Choice(choices.split('|').map(str::to_owned).collect());
    }
    let (name, limits) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, limits)) => (name, limits),
        None => (text, ""),
    };
    let (min, max) = limits.split_once("..").unwrap_or(("", limits));
    match name {
        "text" => Type::Text { max: max.parse().ok() },
        "int" => Type::Int { min: min.parse().ok(), max: max.parse().ok() },
        "number" => Type::Number { min: min.parse().ok(), max: max.parse().ok() },
        "flag" => Type::Flag,
        format => Type::Format(format.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_understood() {
        let schema = Schema::new();
        let lines = include_str!("schema/endpoints.txt").lines();
        let lines = lines.filter(|line| !line.starts_with(['#', '@', '%']) && !line.is_empty());
        assert_eq!(schema.endpoints.len(), lines.count());
        let keys = schema.properties.values().flatten();
        for known in schema.endpoints.iter().flat_map(|it| &it.parameters).chain(keys) {
            match &known.kind {
                Type::Format(name) => assert!(format::is_known(name), "{known:?}"),
                Type::Property(name) => assert!(!schema.property(name).is_empty(), "{known:?}"),
                _ => {}
            }
        }
        let create = schema.find("POST", "/nodes/pve-1/qemu").unwrap().0;
        assert!(create.parameter("net31").is_some() && create.parameter("net32").is_none());
        assert!(create.parameter("net01").is_none() && create.parameter("numa").is_some());
    }

    #[test]
    fn a_path_may_end_with_a_name_that_has_slashes() {
        let schema = Schema::new();
        let path = "/nodes/pve-1/storage/local/content/iso/a.iso";
        let (endpoint, names) = schema.find("DELETE", path).unwrap();
        assert_eq!(
            (endpoint.name.as_str(), names["volume"].as_str()),
            ("contentdelete", "iso/a.iso")
        );
        assert!(schema.find("PATCH", path).is_none());
    }
}
