//! How cloud-init merges two documents.
//!
//! The result must equal that of cloud-init, so the rules are its own, with their special cases: a
//! list that replaces another keeps the other's length, and a map that replaces does not look inside.

use crate::bootstrap::yaml::{Map, Scalar, Yaml};

/// The rules for each kind of value; a kind without a rule stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mergers {
    list: Option<ListRule>,
    map: Option<MapRule>,
    text: Option<TextRule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListRule {
    Append,
    Prepend,
    Replace,
    NoReplace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MapRule {
    replace: bool,
    into_lists: bool,
    into_texts: bool,
    allow_delete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRule {
    append: bool,
}

/// The header and the value that let a part of a multipart add to the others.
pub(crate) const ADDING: &str = "list(append)+dict(no_replace,recurse_list)+str()";

/// cloud-init's default for parts.
const REPLACING: &str = "dict(replace)+list()+str()";

const FORMS: &str = "write list(append|prepend|replace|no_replace), dict(replace|no_replace, \
                     recurse_list, recurse_str, allow_delete) and str(append), joined by +";

impl Mergers {
    /// Joiner's default rules.
    pub(crate) fn adding() -> Self {
        Self::parse(ADDING).expect("the rules are well formed")
    }

    /// cloud-init's default rules.
    pub(crate) fn replacing() -> Self {
        Self::parse(REPLACING).expect("the rules are well formed")
    }

    /// The rules of `self`, and those of `other` for kinds that have none.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            list: self.list.or(other.list),
            map: self.map.or(other.map),
            text: self.text.or(other.text),
        }
    }

    /// Takes the directive out of a document. The error says what is wrong and what may be written.
    pub(crate) fn take(document: &mut Map) -> Result<Option<Self>, String> {
        let how = document.remove("merge_how");
        let kind = document.remove("merge_type");
        match how.filter(|how| !how.is_null()).or(kind.filter(|kind| !kind.is_null())) {
            None => Ok(None),
            Some(Yaml::Scalar(text)) => Self::parse(&text.text).map(Some),
            Some(Yaml::List(rules)) => Self::listed(&rules).map(Some),
            Some(other) => Err(format!("it is {}; {FORMS}", other.noun())),
        }
    }

    /// Reads the notation in one line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut mergers = Self::default();
        for rule in text.split('+').map(str::trim).filter(|rule| !rule.is_empty()) {
            let parts = rule.strip_suffix(')').and_then(|rule| rule.split_once('('));
            let (name, options) = parts.ok_or_else(|| format!("{rule:?} is no rule; {FORMS}"))?;
            let options = options.split(',').map(str::trim).filter(|option| !option.is_empty());
            mergers.add(name, &options.collect::<Vec<_>>())?;
        }
        Ok(mergers)
    }

    /// Reads the notation as a list of names and settings.
    fn listed(rules: &[Yaml]) -> Result<Self, String> {
        let mut mergers = Self::default();
        for rule in rules {
            let (name, settings) = match rule {
                Yaml::Map(rule) => (rule.get("name"), rule.get("settings").and_then(Yaml::as_list)),
                Yaml::List(rule) => (rule.first(), rule.get(1..)),
                Yaml::Scalar(_) => (None, None),
            };
            let name = name.and_then(Yaml::as_str);
            let name = name.ok_or_else(|| format!("a rule has no name; {FORMS}"))?;
            let options = settings.unwrap_or_default().iter().filter_map(Yaml::as_str);
            mergers.add(name, &options.collect::<Vec<_>>())?;
        }
        Ok(mergers)
    }

    /// Adds a rule; of two for the same kind, the first counts.
    fn add(&mut self, name: &str, options: &[&str]) -> Result<(), String> {
        let unknown = |known: &[&str]| {
            let unknown = options.iter().find(|option| !known.contains(option));
            unknown.map_or(Ok(()), |option| Err(format!("{name} has no {option:?}; {FORMS}")))
        };
        let has = |option: &str| options.contains(&option);
        match name {
            "list" => {
                unknown(&["append", "prepend", "replace", "no_replace"])?;
                let rule = match () {
                    () if has("append") => ListRule::Append,
                    () if has("prepend") => ListRule::Prepend,
                    () if has("no_replace") && !has("replace") => ListRule::NoReplace,
                    () => ListRule::Replace,
                };
                self.list.get_or_insert(rule);
            }
            "dict" => {
                unknown(&[
                    "replace",
                    "no_replace",
                    "recurse_list",
                    "recurse_array",
                    "recurse_dict",
                    "recurse_str",
                    "allow_delete",
                ])?;
                self.map.get_or_insert(MapRule {
                    replace: has("replace"),
                    into_lists: has("recurse_list") || has("recurse_array"),
                    into_texts: has("recurse_str"),
                    allow_delete: has("allow_delete"),
                });
            }
            "str" => {
                unknown(&["append"])?;
                self.text.get_or_insert(TextRule { append: has("append") });
            }
            _ => return Err(format!("{name:?} is no kind of value; {FORMS}")),
        }
        Ok(())
    }

    /// Merges the user's map into ours. The error says which values do not go together.
    pub(crate) fn merge_maps(self, ours: Map, users: Map) -> Result<Map, String> {
        let Some(rule) = self.map else { return Ok(ours) };
        let mut merged = ours;
        for (key, new) in users.0 {
            let Some(at) = merged.0.iter().position(|(known, _)| known.text == key.text) else {
                merged.0.push((key, new));
                continue;
            };
            if new.is_null() && rule.allow_delete {
                merged.0.remove(at);
                continue;
            }
            let looks_inside = match &new {
                Yaml::List(_) => rule.into_lists,
                Yaml::Map(_) => true,
                Yaml::Scalar(scalar) => scalar.is_text() && rule.into_texts,
            };
            let value = &mut merged.0[at].1;
            if rule.replace {
                *value = new;
            } else if looks_inside {
                let old = std::mem::replace(value, Yaml::List(Vec::new()));
                *value =
                    self.merge(old, new).map_err(|problem| format!("{}: {problem}", key.text))?;
            }
        }
        Ok(merged)
    }

    /// The kind of the old value decides which rule counts.
    fn merge(self, old: Yaml, new: Yaml) -> Result<Yaml, String> {
        match (old, new) {
            (Yaml::Map(old), Yaml::Map(new)) => self.merge_maps(old, new).map(Yaml::Map),
            (Yaml::List(old), new) => self.merge_list(old, new),
            (Yaml::Scalar(old), new) if old.is_text() => self.merge_text(old, new),
            (old, _) => Ok(old),
        }
    }

    fn merge_list(self, old: Vec<Yaml>, new: Yaml) -> Result<Yaml, String> {
        let new = match (self.list, new) {
            (None, _) => return Ok(Yaml::List(old)),
            (Some(ListRule::Replace), new @ (Yaml::Map(_) | Yaml::Scalar(_))) => return Ok(new),
            (Some(_), Yaml::List(new)) => new,
            (Some(_), new) => return Err(format!("it is {}, and a list is needed", new.noun())),
        };
        Ok(Yaml::List(match self.list {
            Some(ListRule::Append) => [old, new].concat(),
            Some(ListRule::Prepend) => [new, old].concat(),
            Some(ListRule::Replace) => {
                let replaced = new.len().min(old.len());
                let rest = old[replaced..].to_vec();
                new.into_iter().take(replaced).chain(rest).collect()
            }
            Some(ListRule::NoReplace) | None => old,
        }))
    }

    fn merge_text(self, old: Scalar, new: Yaml) -> Result<Yaml, String> {
        match (self.text, new) {
            (None, _) => Ok(Yaml::Scalar(old)),
            (Some(TextRule { append: false }), new) => Ok(new),
            (Some(_), Yaml::Scalar(new)) if new.is_text() => {
                Ok(Yaml::text(format!("{}{}", old.text, new.text)))
            }
            (Some(_), new) => Err(format!("it is {}, and a text is needed", new.noun())),
        }
    }
}

#[cfg(test)]
mod tests;
